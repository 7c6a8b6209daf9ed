"""Open assets with the installed OpenUSD, and report all of its messages.

The program needs only that library, so that any build of it can be used; with the argument
``newton``, also Newton. It reads a path per line and writes a line of JSON: the list of messages.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    newton = "newton" in sys.argv[1:]
    # Simulators print progress to stdout, so results go to a duplicate of it.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if newton:
            # Messages about the machine are not about assets.
            with _captured([]):
                import warp

                warp.init()
        for line in sys.stdin:
            answers.write(json.dumps(messages_of(line.rstrip("\n"), newton=newton)) + "\n")
            answers.flush()


def messages_of(path: str, *, newton: bool = False) -> list[str]:
    """Open an asset, resolve its paths, flatten it, and return the messages."""
    messages: list[str] = []
    with _captured(messages), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            messages += _opened(path)
            if newton:
                # Of the interpreter that runs this, which may not have it.
                import newton as simulator

                simulator.ModelBuilder().add_usd(path)
        # Errors of OpenUSD are RuntimeErrors; Newton has none of its own.
        except (LookupError, RuntimeError, TypeError, ValueError) as error:
            messages.append(f"{type(error).__name__}: {error}")
    return messages + [str(one.message) for one in warned]


def _opened(path: str) -> Iterator[str]:
    from pxr import Sdf, Usd, UsdUtils

    stage = Usd.Stage.Open(path, Usd.Stage.LoadAll)
    yield from (str(error) for error in stage.GetCompositionErrors())
    if not stage.GetDefaultPrim():
        yield "no default prim"
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        for attribute in prim.GetAttributes():
            value = attribute.Get()
            if isinstance(value, Sdf.AssetPath) and value.path and not value.resolvedPath:
                yield f"{attribute.GetPath()}: not resolved"
    _, _, lost = UsdUtils.ComputeAllDependencies(path)
    yield from (f"not resolved: {one}" for one in lost)
    if not stage.Flatten().ExportToString():
        yield "it flattens to nothing"


@contextmanager
def _captured(messages: list[str]) -> Iterator[None]:
    """Append what C++ and Python write to stderr to messages."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as stream:
        os.dup2(stream.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            stream.seek(0)
            messages += stream.read().decode(errors="replace").splitlines()


if __name__ == "__main__":
    main()

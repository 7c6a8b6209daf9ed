"""USDs of other converters: programs, callables, and folders of ready USDs.

:func:`root_layer_in` has the rule by which the root layer in a folder is found.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from urdf_usd.conformance.converters.candidates import (
    CommandConverter,
    ReadyUsds,
    command_line,
)

_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})
_OUTPUT_END = 4000
_SHOWN = 5


class NoUsdError(Exception):
    """A converter made no USD of a robot; the message says why.

    Args:
        message: Why.
        output: End of what the converter printed.
    """

    def __init__(self, message: str, output: str | None = None) -> None:
        super().__init__(message)
        self.output = output


class ConverterCrashError(NoUsdError):
    """A converter crashed, or was stopped at its time limit."""


class Made(Struct, frozen=True):
    """A USD that another converter made.

    Attributes:
        root_layer: The file that consumers open.
        output: End of what the converter printed, if it printed anything.
    """

    root_layer: Path
    output: str | None = None


def run_command(
    converter: CommandConverter,
    urdf: Path,
    directory: Path,
    *,
    packages: Mapping[str, str],
    names: Sequence[str],
    timeout: float,
) -> Made:
    """Convert a URDF with a program; it inherits the memory limit of this process.

    Args:
        converter: The program.
        urdf: URDF file.
        directory: Folder of the asset; a former one is replaced.
        packages: Folder of each ROS package, by name.
        names: Names that the root layer may have.
        timeout: Time limit [s].

    Raises:
        NoUsdError: It failed, or wrote no USD, or several.
        ConverterCrashError: It crashed, or took too long.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    line = command_line(converter.words, urdf, directory, packages)
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as scratch:
        printed = Path(scratch, "printed.txt")
        with printed.open("wb") as sink, _started(line, scratch, sink.fileno()) as run:
            try:
                code = run.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
        output = _end_of(printed) or None
    if code is None:
        raise ConverterCrashError(f"not finished after {timeout:g} s", output)
    if code < 0:
        raise ConverterCrashError(f"it was killed by {_signal(-code)}", output)
    if code > 0:
        last_line = output.splitlines()[-1] if output else "it printed nothing"
        raise NoUsdError(f"exit code {code}: {last_line}", output)
    try:
        layer = root_layer_in(directory, names)
    except NoUsdError as error:
        raise NoUsdError(str(error), output) from error
    return Made(layer, output)


def call_registered(
    make: Callable[[str, str, dict[str, str]], str | os.PathLike[str]],
    urdf: Path,
    directory: Path,
    packages: Mapping[str, str],
) -> Made:
    """Convert a URDF with a callable; what it raises is not caught.

    Raises:
        NoUsdError: It returned no file.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    returned = make(str(urdf), str(directory), dict(packages))
    layer = Path(returned)
    if not layer.is_file():
        raise NoUsdError(f"it returned {layer.name!r}, which is no file")
    return Made(layer)


def find_ready(converter: ReadyUsds, names: Sequence[str]) -> Made:
    """Find the USD of a robot among those made elsewhere.

    Args:
        converter: Their folder.
        names: Names that its file or folder may have, the most certain first.

    Raises:
        NoUsdError: There is none, or there are several.
    """
    for name in names:
        files = _called(_usds(converter.folder), (name,))
        if files:
            return Made(_only(files, converter.folder))
        folder = converter.folder / name
        if folder.is_dir():
            return Made(root_layer_in(folder, names))
    expected = " or ".join(repr(name) for name in names)
    raise NoUsdError(f"{converter.recipe} has no USD named {expected}")


def root_layer_in(folder: Path, names: Sequence[str]) -> Path:
    """Find the root layer of an asset.

    It is the only USD file at the least depth that has any. If there are several, it is
    the one with the name of the robot, or else of its folder; of files that differ in
    their suffix alone, text comes first, and packages come last.

    Raises:
        NoUsdError: There is none, or there are several candidates.
    """
    level = [folder]
    while level:
        files = [file for place in level for file in _usds(place)]
        if len(files) == 1:
            return files[0]
        if files:
            folders = tuple(dict.fromkeys(file.parent.name for file in files))
            named = _called(files, (*names, *folders))
            return _only(named or files, folder)
        level = sorted(inner for place in level for inner in place.iterdir() if inner.is_dir())
    raise NoUsdError("it wrote no USD")


def files_of(root_layer: Path, shared: Path) -> list[Path]:
    """List the files of an asset that lies in a folder with others.

    They are those of its own folder, if it has one; else the root layer.
    """
    if root_layer.parent == shared:
        return [root_layer]
    own = shared / root_layer.relative_to(shared).parts[0]
    return [file for file in own.rglob("*") if file.is_file()]


def _usds(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES and file.is_file()
    )


def _called(files: Iterable[Path], names: Sequence[str]) -> list[Path]:
    """Return the files with the first name that any of them has."""
    by_name: dict[str, list[Path]] = {}
    for file in files:
        by_name.setdefault(_plain(file.stem), []).append(file)
    return next((by_name[key] for key in map(_plain, names) if key in by_name), [])


def _plain(name: str) -> str:
    """Normalise case, and characters that prim or file names cannot have."""
    return "".join(c if c.isalnum() else "_" for c in name.casefold())


def _only(files: Sequence[Path], folder: Path) -> Path:
    order = (".usda", ".usd", ".usdc", ".usdz")
    first = min(files, key=lambda file: order.index(file.suffix.lower()))
    if any(file.with_suffix("") != first.with_suffix("") for file in files):
        shown = ", ".join(str(f.relative_to(folder)) for f in files[:_SHOWN])
        more = ", …" if len(files) > _SHOWN else ""
        raise NoUsdError(f"several files could be the root layer: {shown}{more}")
    return first


@contextlib.contextmanager
def _started(line: list[str], folder: str, sink: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, which is killed when the block is left.

    What it starts itself stays in the process group of this worker, and is killed with
    that.
    """
    process = subprocess.Popen(  # the user's own command
        line, cwd=folder, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _end_of(file: Path) -> str:
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _OUTPUT_END))
        return stream.read().decode(errors="replace").strip()


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"

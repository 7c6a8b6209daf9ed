"""Engines and a converter that misbehave, installed as a package of somebody else.

What the engine ``hostile`` and the converter do to their process is the stem of the
URDF that they read: a kind of :mod:`tests.conformance.misbehaviour` or of
:data:`ANSWERS`. The engine ``hostile-KIND`` does so with every robot. Otherwise, and
with ``SPARE`` in the environment, the engine refuses the file. Hangs reach their time limit at
once, unless ``PATIENT`` is in the environment. With ``LINGER``, a folder, the engine
leaves a file there for each robot, named after it and ``PLACE``, and waits for one
called ``go``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from msgspec import structs

from tests.conformance import misbehaviour
from urdf_usd.conformance.engines.protocol import (
    Availability,
    Available,
    Request,
    Side,
    UnsupportedError,
)
from urdf_usd.conformance.observation.robot import Observation

_ROBOT = Observation(
    engine="hostile", robot=None, root="base", states=frozenset(), links=(), joints=()
)


# What the engine returns, and the begin of the reason that is reported.
ANSWERS: dict[str, tuple[Callable[[Request], object], str]] = {
    "wrong-type": (lambda _: 7, "TypeError: the engine returned int instead of an obs"),
    "none": (lambda _: None, "TypeError: the engine returned NoneType instead of an"),
    "wrong-content": (
        lambda _: structs.replace(_ROBOT, links=(7,)),
        "TypeError: Expected `object`, got `int` - at `observation.links[0]`",
    ),
    "odd-text": (
        lambda _: structs.replace(_ROBOT, notes=(_Local(""),)),
        "TypeError: observation has a value of type _Local",
    ),
}

# Engines that cannot be loaded: the entry point, and the reason that is reported.
UNLOADABLE = {
    "missing-module": ("nowhere:Engine", "ModuleNotFoundError: No module named 'now"),
    "missing-class": (f"{__name__}:Nothing", "AttributeError: "),
    "not-callable": (f"{__name__}:__name__", "TypeError: 'str' object is not callable"),
    "raising": ("hostile_raising:Engine", "ImportError: raised at import"),
    "exiting": ("hostile_exiting:Engine", "SystemExit: 0"),
    "ending": ("hostile_ending:Engine", "the process ended with exit code 0"),
    "hanging": ("hostile_hanging:Engine", "no answer after "),
    "without-side": (f"{__name__}:WithoutSide", "TypeError: its side is 7, its"),
    "wrongly-available": (
        f"{__name__}:WronglyAvailable",
        "TypeError: its side is <Side.URDF: 'urdf'>, its availability None",
    ),
}
# Kinds of an engine, with the begin of the reason that is reported; None if it answers.
ENGINE_KINDS: dict[str, str | None] = {
    **{kind: reason for kind, (_, reason) in misbehaviour.CRASHES.items()},
    **dict.fromkeys(misbehaviour.HANGS, "no answer after 300 s"),
    **{kind: reason for kind, (_, reason) in ANSWERS.items()},
    **dict.fromkeys(misbehaviour.LITTER),
}
_MODULES = {
    "hostile_raising": "raise ImportError('raised at import')",
    "hostile_exiting": "import sys; sys.exit(0)",
    "hostile_ending": "import os; os._exit(0)",
    "hostile_hanging": "from tests.conformance import misbehaviour as m\n"
    "m.let_time_run_out(); m.hang('hang')",
}


def install(site: Path, kinds: Iterable[str] = ()) -> dict[str, str]:
    """Install them, and an engine for each kind, into a folder; return an environment."""
    metadata = site / "hostile-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    engines = {"hostile": f"{__name__}:Hostile"}
    for kind in kinds:
        made = f"{__name__}:make_{kind.replace('-', '_')}"
        engines[f"hostile-{kind}"] = UNLOADABLE.get(kind, (made, ""))[0]
    lines = (f"{name} = {value}\n" for name, value in engines.items())
    (metadata / "entry_points.txt").write_text(
        f"[urdf_usd.engines]\n{''.join(lines)}[urdf_usd.converters]\nhostile = {__name__}:convert\n"
    )
    for name, text in _MODULES.items():
        (site / f"{name}.py").write_text(text)
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])}


@dataclass(frozen=True)
class Hostile:
    kind: str | None = None  # what it does with every robot; None if the robot's name decides

    name = "hostile"
    side = Side.URDF

    def availability(self) -> Availability:
        return Available("1.0")

    def observe(self, request: Request) -> Observation:
        """Misbehave, or refuse the file."""
        os.write(2, b"printed by the engine\n")
        robot = self.kind or Path(request.path).stem
        if "LINGER" in os.environ:
            folder = Path(os.environ["LINGER"])
            (folder / f"{robot} {os.environ['PLACE']}").touch()
            while not (folder / "go").exists():
                time.sleep(0.05)
        if "SPARE" not in os.environ:
            if robot in ANSWERS:
                return cast("Observation", ANSWERS[robot][0](request))
            _misbehave(robot)
        raise UnsupportedError("it reads nothing")


class WithoutSide(Hostile):
    side = cast("Side", 7)


class WronglyAvailable(Hostile):
    def availability(self) -> Availability:
        return cast("Availability", None)


def __getattr__(name: str) -> Callable[[], Hostile]:
    """Return ``make_KIND``, which makes the engine of a kind."""
    if not name.startswith("make_"):
        raise AttributeError(name)
    return partial(Hostile, name.removeprefix("make_").replace("_", "-"))


class _Local(str):
    """Cannot be pickled: it is not found under its name."""

    __slots__ = ()
    __qualname__ = "nowhere"


def convert(urdf: str, directory: str, _: dict[str, str]) -> str:
    """Misbehave; convert if the process continues."""
    from urdf_usd.converter import convert as convert_robot  # if need be

    _misbehave(Path(urdf).stem)
    return str(convert_robot(urdf, directory).root_layer)


def _misbehave(kind: str) -> None:
    if kind in misbehaviour.CRASHES:
        misbehaviour.crash(kind)
    if kind in misbehaviour.HANGS:
        if "PATIENT" not in os.environ:
            misbehaviour.let_time_run_out()
        misbehaviour.hang(kind)
    if kind in misbehaviour.LITTER:
        misbehaviour.litter(kind)

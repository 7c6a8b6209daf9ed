"""The pytest plugin: options of the suite, and the fixture ``conformance``.

pytest loads it in every project of an environment where this is installed, so it loads
nothing by itself and takes no option that somebody else has.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.conformance.pytest_plugin.examiner import Examiner
    from urdf_usd.conformance.pytest_plugin.fixture import Conformance

SUITE = "urdf_usd.conformance.suite"
_DEST = "conformance_robots"
_SHORT = "--robots"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("conformance", "robots from URDF and USD")
    group.addoption(
        "--conformance-robots",
        action="append",
        dest=_DEST,
        metavar="CORPUS",
        help=f"robots of --pyargs {SUITE}, as urdf-usd run takes them; repeatable; "
        "there --robots will do",
    )
    group.addoption(
        "--conformance-baseline",
        metavar="FILE",
        help="what is known not to conform is expected to fail",
    )
    group.addoption(
        "--conformance-fail-on",
        choices=("fails", "incomplete", "close"),
        default="fails",
        help="fail on every check that is not exact; on robots of which parts could "
        "not be compared; or only on what differs or is disputed",
    )
    group.addoption(
        "--conformance-engine",
        action="append",
        metavar="NAME",
        help="ask only this engine; repeatable",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Take the short name of an option where the suite is run, and nowhere else.

    In other projects it may well be an option of theirs.
    """
    short = any(word.partition("=")[0] == _SHORT for word in args)
    if short and any(SUITE in word for word in args):
        group = parser.getgroup("conformance")
        group.addoption(_SHORT, action="append", dest=_DEST, metavar="CORPUS")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Say what the mark is, and have one worker do all tests of a robot."""
    config.addinivalue_line(
        "markers", "conformance(robot, group): checks of one robot of a corpus"
    )
    asked = config.getoption(_DEST) or any(SUITE in word for word in config.args)
    if asked and getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadgroup"


@pytest.fixture(scope="session")
def conformance_examiner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Examiner]:
    """Where robots are examined, each once in a session."""
    # Engines take time to import: only sessions that ask for them pay that.
    from urdf_usd.conformance.execution.workers.limits import processors  # noqa: PLC0415
    from urdf_usd.conformance.pytest_plugin.examiner import Examiner  # noqa: PLC0415

    # Sessions side by side, as pytest-xdist has them, share the processors.
    sessions = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    jobs = max(1, processors() // sessions)
    engines = request.config.getoption("--conformance-engine") or ()
    folder = tmp_path_factory.mktemp("conformance")
    with Examiner(folder, tuple(engines), jobs=jobs) as examiner:
        yield examiner


@pytest.fixture
def conformance(
    request: pytest.FixtureRequest, conformance_examiner: Examiner
) -> Conformance:
    """Convert and check a robot: ``conformance("robot.urdf").assert_conforms()``.

    ``usd`` names a USD of it that is there already. Paths are relative to the folder of
    the test. Further keywords are those of ``converter.ConvertOptions``.
    """
    from urdf_usd.conformance.pytest_plugin.fixture import Conformance  # noqa: PLC0415

    return Conformance(conformance_examiner, Path(request.path).parent)

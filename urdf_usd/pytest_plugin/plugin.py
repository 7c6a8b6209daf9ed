"""The pytest plugin: options of the suite, and the fixture ``conformance``.

pytest loads it in every project of the environment, so it imports nothing large and
adds no option name that another plugin may use.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from urdf_usd.suite import Conformance, Examiner


SUITE = "urdf_usd.suite"
_DEST = "conformance_robots"
_SHORT = "--robots"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "robots from URDF and USD")
    group.addoption(
        "--conformance-robots",
        action="append",
        dest=_DEST,
        metavar="CORPUS",
        help=f"robots for --pyargs {SUITE}, as for urdf-usd run; repeatable; in that suite also "
        "--robots",
    )
    group.addoption(
        "--conformance-baseline",
        metavar="FILE",
        help="file of known failures, which are expected to fail",
    )
    group.addoption(
        "--conformance-fail-on",
        choices=("fails", "incomplete", "close"),
        default="fails",
        help="close: fail on every check that is not exact; incomplete: also on "
        "robots of which parts could not be compared; fails: only on checks that fail "
        "or are disputed",
    )
    group.addoption(
        "--conformance-engine",
        action="append",
        metavar="NAME",
        help="use only this engine; repeatable",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """Add the short option name only if the suite is run."""
    short = any(word.partition("=")[0] == _SHORT for word in args)
    if short and any(SUITE in word for word in args):
        group = parser.getgroup("conformance")
        group.addoption(_SHORT, action="append", dest=_DEST, metavar="CORPUS")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and let one worker run all tests of a robot."""
    config.addinivalue_line("markers", "conformance(robot, group): checks of one robot of a corpus")
    is_suite = config.getoption(_DEST) or any(SUITE in word for word in config.args)
    if is_suite and getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadgroup"


@pytest.fixture(scope="session")
def conformance_examiner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Examiner:
    """Convert and check robots, each once in a session."""
    # Imports engines, so only in sessions that use the fixture.
    from urdf_usd.suite import Examiner

    engines = request.config.getoption("--conformance-engine") or ()
    folder = tmp_path_factory.mktemp("conformance")
    return Examiner(folder, engines)


@pytest.fixture
def conformance(request: pytest.FixtureRequest, conformance_examiner: Examiner) -> Conformance:
    """Convert and check a robot: ``conformance("robot.urdf").assert_conforms()``.

    ``usd`` is an existing USD of the robot. Paths are relative to the folder of the
    test. Further keywords are the fields of ``converter.ConvertOptions``.
    """
    from urdf_usd.suite import Conformance

    return Conformance(conformance_examiner, Path(request.path).parent)

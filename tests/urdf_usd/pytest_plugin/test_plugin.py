"""The suite and the fixture, in pytest projects."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.robots import ROBOT
from urdf_usd.converter import convert

OTHER = ROBOT.replace('mass value="2"', 'mass value="3"').replace('"arm"', '"other"')
FLAGS = ("-p", "no:cacheprovider", "-p", "no:benchmark")
# Sessions without the plugin's options import none of these.
HEAVY = {"lxml", "msgspec", "mujoco", "numpy", "pxr", "urdf_usd.conformance.execution.run"}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    robots = pytester.mkdir("robots")
    (robots / "arm.urdf").write_text(ROBOT)
    (robots / "other.urdf").write_text(OTHER)
    return pytester


def _suite(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        *("--pyargs", "urdf_usd.suite", "--robots", "dir:robots"),
        *("--conformance-engine", "mujoco", *FLAGS, *words),
    )


def test_corpus_becomes_a_test_per_robot_and_group(project: pytest.Pytester) -> None:
    result = _suite(project, "-v")

    outcomes = result.parseoutcomes()
    assert "failed" not in outcomes
    assert outcomes["passed"] >= 10
    result.stdout.fnmatch_lines(["*test_conforms?dir--arm-mass? PASSED*"])
    result.stdout.fnmatch_lines(["*test_conforms?dir--other-kinematics? PASSED*"])


def test_tests_are_selected_by_name_and_mark(project: pytest.Pytester) -> None:
    by_name = _suite(project, "--collect-only", "-q", "-k", "arm and mass")
    by_mark = _suite(project, "--collect-only", "-q", "-m", "conformance_limits")

    by_name.stdout.fnmatch_lines(["*test_conforms?dir--arm-mass?", "*1/*"])
    by_mark.stdout.fnmatch_lines(["*?dir--arm-limits?", "*?dir--other-limits?", "*2/*"])


def test_unavailable_and_unreadable_robots_are_skipped(project: pytest.Pytester) -> None:
    (project.path / "robots" / "other.urdf").write_text("<robot name='none'/>")
    result = _suite(project, "-rs", "-k", "other")

    assert set(result.parseoutcomes()) == {"skipped", "deselected"}
    result.stdout.fnmatch_lines(["*unreadable: *has no links*"])


def test_one_worker_runs_all_tests_of_a_robot(project: pytest.Pytester) -> None:
    result = _suite(project, "-n", "2", "-v", "-m", "conformance_mass")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*LoadGroupScheduling*"])


def test_unknown_corpus_is_a_usage_error(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess(
        *("--pyargs", "urdf_usd.suite", "--robots", "dir:nowhere", *FLAGS)
    )

    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*nowhere*"])
    result.stdout.no_fnmatch_line("*Traceback*")


BASELINE = """
[[expected]]
robot = "{robot}"
check = "{check}"
grade = "{grade}"
reason = "known since May"
owner = "ann"
"""


def test_baseline_decides_which_failures_are_expected(project: pytest.Pytester) -> None:
    for name in ("other", "third"):
        (project.path / "robots" / f"{name}.urdf").write_text("<robot name='none'/>")
    entries = ("dir--other", "verdict", "unreadable"), ("dir--arm", "mass.total", "fails")
    (project.path / "known.toml").write_text(
        "".join(BASELINE.format(robot=r, check=c, grade=g) for r, c, g in entries)
    )
    words = ("--conformance-baseline", "known.toml", "-k", "conversion or (arm and mass)", "-rx")
    result = _suite(project, *words)

    result.assert_outcomes(passed=1, xfailed=1, failed=2)
    result.stdout.fnmatch_lines(["*unreadable*has no links*"])
    result.stdout.fnmatch_lines(["*XPASS(strict)*known since May*"])
    result.stdout.fnmatch_lines(["XFAIL*dir--other-conversion*known since May (ann)*"])


def test_fixture_checks_robots(project: pytest.Pytester) -> None:
    usd = convert(project.path / "robots" / "other.urdf", project.path / "usd").root_layer
    (project.path / "part.urdf").write_text(
        """<robot name="part"><link name="a"><visual><geometry>
        <mesh filename="gone.stl"/></geometry></visual></link></robot>"""
    )
    project.makepyfile(
        f"""
        import pytest

        def test_options(conformance):
            examined = conformance(
                "robots/arm.urdf", base="fixed", bodies="flat", layout="single"
            )
            examined.assert_conforms()
            assert examined.record.base == "fixed"
            assert examined.record.asset.root_layer == "arm.usdc"

        def test_slip(conformance):
            with pytest.raises(TypeError, match="unknown choice 'layuot'"):
                conformance("robots/arm.urdf", layuot="single")

        @pytest.mark.parametrize("fail_on", ["fails", "incomplete"])
        def test_part(conformance, fail_on):
            conformance("part.urdf").assert_conforms(fail_on)

        def test_wrong(conformance):
            conformance("robots/arm.urdf", usd={str(usd)!r}).assert_conforms()
        """
    )
    result = project.runpytest_inprocess("-W", "default", *FLAGS)

    result.assert_outcomes(passed=3, failed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "*test_part?incomplete?*",
            "*gone.stl*",
            "*AssertionError: * fails: *",
            "*[[]mass.link.mass]*",
            "*expected (URDF): 2 kg*",
            "*actual (USD):    3 kg*",
            "*Fault: USD: *",
            "*Remedy: in the USD, check physics:mass*",
        ]
    )
    result.stdout.no_fnmatch_line("*urdf_usd/suite.py*")


def test_plugin_imports_nothing_unless_used(project: pytest.Pytester) -> None:
    project.makepyfile(
        f"""
        import sys

        def test_nothing_is_loaded():
            assert not {HEAVY!r}.intersection(sys.modules)
        """
    )
    # Other plugins of this environment may import anything.
    code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    result = subprocess.run(
        [sys.executable, "-c", code, "-p", "urdf_usd.pytest_plugin.plugin", *FLAGS],
        cwd=project.path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout


def test_short_option_of_another_plugin_is_kept(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        def pytest_addoption(parser):
            parser.addoption("--robots", action="store", dest="theirs")
        """
    )
    project.makepyfile(
        """
        def test_theirs(request):
            assert request.config.getoption("theirs") == "three"
        """
    )
    result = project.runpytest_inprocess("--robots", "three", *FLAGS)
    ours = project.runpytest_inprocess(
        *("--pyargs", "urdf_usd.suite", "--conformance-robots", "dir:robots"),
        *("--collect-only", "-q", "-k", "arm-mass", *FLAGS),
    )

    result.assert_outcomes(passed=1)
    ours.stdout.fnmatch_lines(["*arm-mass*"])

"""Limits of the process that expands xacro, and its environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.urdf.xacro.expansion import allowed_environment, expand

if TYPE_CHECKING:
    Write: TypeAlias = Callable[[str], Path]

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
VALUE = "hunter2"
NAME = "ROBOT_TEST_TOKEN"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes a xacro file; a variable is secret."""
    monkeypatch.setenv(NAME, VALUE)

    def write_text(text: str) -> Path:
        file = tmp_path / "r.xacro"
        file.write_text(f"{HEAD}\n{text}</robot>", encoding="utf-8")
        return file

    return write_text


def _error(file: Path) -> Diagnostic:
    with pytest.raises(SourceError) as caught:
        expand(str(file), {}, {})
    (found,) = caught.value.diagnostics
    assert VALUE not in str(found)
    return found


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        *(
            (text, "text.format(xacro, a=xacro)")
            for text in (
                "{0.__globals__[os].environ}",
                "{0.load_yaml}",
                "{a.load_yaml}",
                "{0[load_yaml].__globals__}",
                "{0:{0.load_yaml}}",
                "{:{0.load_yaml}}",
            )
        ),
        *(
            ("{0.load_yaml}", expression)
            for expression in (
                "text.format_map(python.dict([['0', xacro]]))",
                "str.format(text, xacro)",
                "list(map(str.format, [text], [xacro]))[0]",
                "[f for f in [text.format]][0](xacro)",
                "python.type(text).format(text, xacro)",
                "(lambda: text.format(xacro))()",
            )
        ),
    ],
)
def test_format_strings_cannot_access_attributes(write: Write, text: str, expression: str) -> None:
    """In every spelling of the field and of the call."""
    property_ = f'<xacro:property name="text" value="{text}"/>'
    file = write(f'{property_}\n<link name="${{{expression}}}"/>')

    found = _error(file)

    assert "attributes in a format string" in found.message
    assert found.location == Location(str(file), 3, 1)


def test_format_strings_insert_values(write: Write) -> None:
    """Fields, indices, widths and conversions are harmless, and used by robots."""
    properties = """
<xacro:property name="a" value="{:03d}_{x[1]!s:>3}"/>
<xacro:property name="b" value="{v[a.b]}"/>
"""
    file = write(
        f"""{properties}<link name="${{a.format(7, x=[1, 2.5])}}"/>
<link name="${{b.format_map(dict(v=python.dict([['a.b', 4]])))}}"/>
<link name="${{'%03d %s' % (7, 'x')}}"/>
<link name="${{'a b'.split()[1]}}"/>"""
    )

    text = expand(str(file), {}, {}).text

    assert '<link name="007_2.5"/>' in text
    assert '<link name="4"/>' in text
    assert '<link name="007 x"/>' in text
    assert '<link name="b"/>' in text


@pytest.mark.parametrize(
    "expression",
    [
        "${python.vars(python.type)['mro']}",
        "${python.vars(str)['format']('{0.__globals__[os].environ}', xacro.load_yaml)}",
        "${python.vars(xacro.load_yaml)}",
        "${python.type(python.type(1))('A', (), dict(a=1))}",
        "${python.type(xacro.load_yaml)}",
        "${(lambda: 0).__globals__}",
        "${xacro.load_yaml.__globals__}",
        "${(1 for _ in [1]).gi_frame}",
        "${xacro.load_yaml.func_globals}",
        "$(eval f'{sin.__self__}')",
        "${str.mro()}",
        "${python.type(1).mro()}",
        "$(eval vars)",
        "$(eval __builtins__)",
        "${[__guard for __guard in [1]]}",
        "${(lambda __x: 1)(2)}",
    ],
)
def test_expressions_have_no_way_to_functions_and_classes(write: Write, expression: str) -> None:
    """Neither by attributes, nor by the builtins that xacro adds."""
    file = write(f'<link name="{expression}"/>')

    assert _error(file).location == Location(str(file), 2, 1)


def test_yaml_cannot_construct_objects(write: Write, tmp_path: Path) -> None:
    """Only values; units are expressions, which are restricted as all others."""
    for index, text in enumerate(
        (
            "!!python/object/apply:os.getenv [ROBOT_TEST_TOKEN]",
            "!!python/name:os.environ",
            "!radians xacro.load_yaml.__globals__",
            "!degrees '\"{0.__globals__}\".format(xacro.load_yaml)'",
        )
    ):
        (tmp_path / f"{index}.yaml").write_text(f"a: {text}\n")
        file = write(f"<link name=\"${{xacro.load_yaml('{index}.yaml')['a']}}\"/>")
        _error(file)


@pytest.mark.parametrize("use", [f"$(env {NAME})", "$(eval ${code})"])
def test_variable_that_is_not_allowed_is_an_error(write: Write, use: str) -> None:
    """The message has the option that allows it."""
    code = f'<xacro:property name="code" value="env(\'{NAME}\')"/>'
    file = write(f'{code}<link name="{use}"/>')

    found = _error(file)

    assert found.rule == "xacro-environment"
    assert f"--env {NAME}" in found.message
    assert found.location == Location(str(file), 2, len(code) + 1)


def test_optional_variable_that_is_not_allowed_has_its_default(write: Write) -> None:
    """With a warning only if it is set."""
    file = write(
        f'<link name="$(optenv {NAME} arm one)"/>\n'
        f'<link name="$(optenv NO_SUCH_VARIABLE other)"/>\n'
        f'<link name="a$(optenv {NAME})"/>'
    )

    expansion = expand(str(file), {}, {})

    assert '<link name="arm one"/>' in expansion.text
    assert '<link name="other"/>' in expansion.text
    assert '<link name="a"/>' in expansion.text
    (found,) = expansion.diagnostics
    assert found.rule == "xacro-environment-default"
    assert f"--env {NAME}" in found.message
    assert found.location == Location(str(file), 2, 1)


def test_allowed_variables_are_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are named, and those of ROS."""
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    file = write(f'<link name="$(env {NAME})-$(optenv ROS_DISTRO none)"/>')

    expansion = expand(str(file), {}, {}, environment=(NAME,))

    assert f'<link name="{VALUE}-jazzy"/>' in expansion.text
    assert not expansion.diagnostics


def test_allowed_variable_that_is_not_set_is_reported_as_such(write: Write) -> None:
    """Otherwise the remedy would be to allow it again."""
    file = write('<link name="$(env NO_SUCH_VARIABLE)"/>')

    with pytest.raises(SourceError, match=r"'NO_SUCH_VARIABLE' is not set"):
        expand(str(file), {}, {}, environment=("NO_SUCH_VARIABLE",))


def test_environment_of_an_expansion_is_that_of_ros_and_the_allowed_names() -> None:
    """Unset variables are left out."""
    everything = {
        "AWS_VALUE_ACCESS_KEY": "a",
        "HOME": "/home/me",
        "ROS_DISTRO": "jazzy",
        "ROS_PACKAGE_PATH": "/ws",
        "TOKEN": "t",
    }

    assert allowed_environment((), everything) == {
        "ROS_DISTRO": "jazzy",
        "ROS_PACKAGE_PATH": "/ws",
    }
    assert allowed_environment(("TOKEN", "UNSET"), everything) == {
        "ROS_DISTRO": "jazzy",
        "ROS_PACKAGE_PATH": "/ws",
        "TOKEN": "t",
    }


@pytest.mark.parametrize("load", [False, True], ids=["include", "yaml"])
@pytest.mark.parametrize("kind", ["device", "pipe", "large", "kernel"])
def test_only_regular_files_of_limited_size_are_included(
    write: Write, tmp_path: Path, kind: str, *, load: bool
) -> None:
    """A device has no end, a pipe blocks, and files in /proc describe processes."""
    part = tmp_path / "part"
    match kind:
        case "device":
            part.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(part)
        case "large":
            part.touch()
            os.truncate(part, (64 << 20) + 1)
        case _:
            part.symlink_to("/proc/self/status")
    use = (
        f"<link name=\"${{xacro.load_yaml('{part}')}}\"/>"
        if load
        else f'<xacro:include filename="{part}"/>'
    )
    file = write(use)

    begin = time.process_time()
    found = _error(file)

    assert str(part) in found.message
    assert found.location == Location(str(file), 2, 1)
    assert time.process_time() - begin < 5.0


_PARENT = """
import sys
from urdf_usd.converter.urdf.xacro.expansion import expand
print("ready", flush=True)
expand(sys.argv[1], {}, {})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and prctl")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_expansion_ends_with_its_parent(write: Write, number: signal.Signals) -> None:
    """Also in the middle of one operation of Python, which no signal handler ends."""
    file = write('<link name="${9 ** 9 ** 9}"/>')
    with subprocess.Popen(  # a program of the test
        [sys.executable, "-c", _PARENT, str(file)], stdout=subprocess.PIPE
    ) as parent:
        child = _wait(lambda: _busy_child(parent.pid))
        parent.send_signal(number)
        parent.wait()

    _wait(lambda: not Path(f"/proc/{child}").exists() or _state(child) == "Z")


def _wait(condition: Callable[[], object]) -> object:
    for _ in range(1000):
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("the condition does not become true")


def _busy_child(parent: int) -> str | None:
    """Return the child that has computed for a while."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    for child in children.read_text().split() if children.exists() else ():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        if int(fields[11]) > os.sysconf("SC_CLK_TCK"):
            return child
    return None


def _state(process: object) -> str:
    text = Path(f"/proc/{process}/stat").read_text()
    return text.rpartition(")")[2].split()[0]

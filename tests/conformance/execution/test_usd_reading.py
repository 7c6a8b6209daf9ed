"""USDs of unknown origin are refused with a message that names the layer.

What could hang runs in a process with a time limit: a failure costs seconds.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from urdf_usd.cli.main import main
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.limits import Limits
from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.conformance.execution.usd_reading import call_on_usd, compose, is_limit
from urdf_usd.conformance.execution.worker import OUT_OF_MEMORY, Completed
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.conformance.export.files import prepare_export
from urdf_usd.converter.diagnostics import StageError

_SOON = 30.0
_HEAD = '#usda 1.0\n(\n    defaultPrim = "r"\n    metersPerUnit = 1\n    upAxis = "Z"\n'
_BODY = """def Xform "r"{arcs}
{{
    def Xform "a" (apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        float physics:mass = 2
        point3f physics:centerOfMass = (0.1, 0.2, 0.3)
        float3 physics:diagonalInertia = (3, 4, 5)
        quatf physics:principalAxes = (1, 0, 0, 0)
{inside}
    }}
}}
"""
_VARIANT = """def Xform "r" (
    prepend variantSets = "v"
)
{
    variantSet "v" = {
        "unused" (
            references = @odd.usda@
        ) {
        }
    }
}
"""
_CLIPS = """ (
    clips = {
        dictionary default = {
            asset[] assetPaths = [@odd.usda@]
            string primPath = "/r"
        }
    }
)"""
_FOLD = 30


def robot(head: str = "", arcs: str = "", inside: str = "") -> str:
    """Return a stage of one body."""
    return f"{_HEAD}{head})\n{_BODY.format(arcs=arcs, inside=inside)}"


_NAMING = {
    "sublayer": robot("    subLayers = [@odd.usda@]\n"),
    "reference": robot(arcs=" (references = @odd.usda@)"),
    "payload": robot(arcs=" (payload = @./odd.usda@)"),
    "unselected variant": f"{_HEAD})\n{_VARIANT}",
    "value clip": robot(arcs=_CLIPS),
    "asset attribute": robot(inside="asset picture = @odd.usda@"),
    "list of assets": robot(inside="asset[] pictures = [@fine.png@, @odd.usda@]"),
    "layer in a package": robot(arcs=" (references = @odd.usda[inner.usda]@)"),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Workers]:
    """One pool for all tests."""
    with Workers() as opened:
        yield opened


def messages_of(pool: Workers, usd: Path) -> list[str]:
    """Compose a USD within the limits; return the diagnostics."""
    ending = pool.call(compose, str(usd), timeout=_SOON)
    assert isinstance(ending, Completed), ending
    return [diagnostic.message for diagnostic in ending.value.refused]


@pytest.mark.parametrize("way", _NAMING)
def test_pipe_is_refused_in_every_reference(pool: Workers, tmp_path: Path, way: str) -> None:
    """No process writes to it, so reading would not end."""
    os.mkfifo(tmp_path / "odd.usda")
    usd = tmp_path / "robot.usda"
    usd.write_text(_NAMING[way])

    (message,) = messages_of(pool, usd)

    assert message.startswith(f"{usd} refers to @")
    assert "odd.usda" in message.removeprefix(str(usd))
    assert message.endswith("@, which is a pipe (FIFO)")


def test_message_names_the_layer_that_refers_to_the_pipe(pool: Workers, tmp_path: Path) -> None:
    """It need not be the root layer."""
    os.mkfifo(tmp_path / "odd.usda")
    (tmp_path / "below.usda").write_text(_NAMING["payload"])
    usd = tmp_path / "robot.usda"
    usd.write_text(robot(arcs=" (references = @below.usda@)"))

    (message,) = messages_of(pool, usd)

    assert message == (f"{tmp_path}/below.usda refers to @./odd.usda@, which is a pipe (FIFO)")


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder", "link"])
def test_root_layer_that_is_not_a_regular_file_is_refused(
    pool: Workers, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its kind, with symbolic links resolved."""
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / "odd.usda"
    words = {"pipe": "a pipe (FIFO)", "link": "a pipe (FIFO)"}
    match kind:
        case "pipe":
            os.mkfifo(odd)
        case "device":
            odd.symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                # The path of a socket must be short.
                made.bind("odd.usda")
        case "folder":
            odd.mkdir()
        case _:
            os.mkfifo(tmp_path / "pipe")
            odd.symlink_to("pipe")

    assert messages_of(pool, odd) == [f"{odd} is {words.get(kind, f'a {kind}')}"]


@pytest.mark.parametrize(
    "asset", ["gone.usda", "http://example.com/x.usda", "/etc/passwd", "robot.usda"]
)
def test_missing_and_cyclic_layers_are_left_to_composition(
    pool: Workers, tmp_path: Path, asset: str
) -> None:
    """OpenUSD reports them and continues."""
    usd = tmp_path / "robot.usda"
    usd.write_text(robot(arcs=f" (references = @{asset}@)"))

    assert messages_of(pool, usd) == []


def test_folder_in_an_asset_attribute_is_accepted(pool: Workers, tmp_path: Path) -> None:
    """Composition does not read it, and vendors author such attributes."""
    usd = tmp_path / "robot.usda"
    usd.write_text(robot(inside="asset folder = @./@"))

    assert messages_of(pool, usd) == []


def test_layers_over_the_size_limit_are_refused_unread(pool: Workers, tmp_path: Path) -> None:
    """A sparse file is large and takes no disk space."""
    large = tmp_path / "large.usda"
    large.write_text("#usda 1.0\n")
    os.truncate(large, 10 * 2**30)
    usd = tmp_path / "robot.usda"
    usd.write_text(robot("    subLayers = [@large.usda@]\n"))

    (message,) = messages_of(pool, usd)

    assert f"up to {large} are 10.0 GiB, more than 4 GiB" in message


def write_doubling_layers(folder: Path) -> Path:
    """Write layers that refer twice to the next; composed, 2^30 prims."""
    for level in range(_FOLD):
        twice = "".join(
            f'def Xform "{name}" (references = @{level + 1}.usda@)\n{{\n}}\n' for name in "ab"
        )
        text = f'{_HEAD})\ndef Xform "r"\n{{\n{twice}}}\n'
        (folder / f"{level}.usda").write_text(text)
    (folder / f"{_FOLD}.usda").write_text(robot())
    return folder / "0.usda"


def test_endless_export_is_stopped_and_writes_nothing(tmp_path: Path) -> None:
    """The message has the root layer and the limit."""
    bomb = write_doubling_layers(tmp_path)

    with pytest.raises(StageError) as caught:
        call_on_usd(prepare_export, bomb, tmp_path / "robot.urdf", limits=Limits(time=2.0))

    (late,) = caught.value.diagnostics
    assert late.rule == "stage-limits"
    assert late.message == f"{bomb} cannot be composed and read: no answer after 2 s"
    assert not (tmp_path / "robot.urdf").exists()


@pytest.mark.parametrize("command", ["export", "check"])
def test_commands_refuse_a_pipe_and_change_nothing(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With exit status 2 and the name of the layer."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("odd.usda")
    (tmp_path / "robot.usda").write_text(_NAMING["sublayer"])
    (tmp_path / "robot.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    before = (tmp_path / "robot.urdf").read_bytes()
    words = ["robot.usda", "robot.urdf"]
    force = ["--force"] if command == "export" else []

    result = CliRunner().invoke(
        main,
        [command, *(words if force else words[::-1]), "--timeout", "60", *force],
    )

    shown = " ".join(result.output.split())
    assert result.exit_code == 2, shown
    assert "robot.usda refers to @odd.usda@, which is a pipe (FIFO)" in shown
    assert (tmp_path / "robot.urdf").read_bytes() == before


def test_check_calls_no_engine_for_a_usd_that_cannot_be_composed(
    tmp_path: Path,
) -> None:
    """Each engine would reach the time limit."""
    bomb = write_doubling_layers(tmp_path)
    urdf = tmp_path / "robot.urdf"
    urdf.write_text('<robot name="r"><link name="a"/></robot>')

    # Reading the URDF has the same limit, which must suffice on a busy machine.
    record = check(urdf, bomb, CheckOptions(limits=Limits(time=8.0)))

    assert not record.checks
    assert not record.engines
    assert f"{bomb.name} cannot be composed" in record.reason


def test_exceptions_are_not_reported_as_limits() -> None:
    """They are bugs, and reported as such."""
    assert is_limit(Crashed("no answer after 5 s"))
    assert is_limit(Crashed(OUT_OF_MEMORY))
    assert is_limit(Crashed("the process died: SIGSEGV"))
    assert not is_limit(Crashed("KeyError: '/World/box0'"))

"""Static pages: one for the run, one per robot; nothing is loaded from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.records.scene import scene_path
from urdf_usd.reports.html.rendering import (
    Script,
    page_environment,
    page_name,
    template_asset,
)
from urdf_usd.reports.html.reproduction import run_command
from urdf_usd.reports.html.robot_page import PageScripts, View, render_page
from urdf_usd.reports.html.run_page import render_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from urdf_usd.conformance.records.record import RobotRecord, RunSummary

# Scripts that many pages load, beside them: a browser reads them once.
_SCRIPTS = "scripts"
_PAGES = "pages.js"
_VIEWER = "viewer.js"


def write_site(
    summary: RunSummary,
    robots: Sequence[RobotRecord],
    directory: Path,
    scenes: Path | None = None,
) -> Path:
    """Write ``index.html`` and ``robots/<id>.html``, and return the former's path.

    Args:
        summary: The run, or the part of one converter in it.
        robots: Its records.
        directory: Where the pages go.
        scenes: Folder of the scenes; that of a run in ``directory`` unless told.

    Raises:
        ValueError: The id of a robot is no file name.
        OSError: The directory cannot be written.
    """
    environment = page_environment()
    pages = directory / "robots"
    pages.mkdir(parents=True, exist_ok=True)
    beside = PageScripts(*(Script(f"../{_SCRIPTS}/{n}") for n in (_PAGES, _VIEWER)))
    for robot in robots:
        page = render_page(
            environment,
            robot,
            beside,
            _view(_scene(robot, directory, scenes)),
            "../index.html",
            run_command(summary, robot.source.reference),
        )
        _write(pages / page_name(robot), page)
    (directory / _SCRIPTS).mkdir(exist_ok=True)
    for name in (_PAGES, _VIEWER):
        _write(directory / _SCRIPTS / name, template_asset(name))
    index = directory / "index.html"
    _write(index, render_run(environment, summary, robots))
    return index


def render_robot(
    record: RobotRecord, scene: bytes | None = None, command: str | None = None
) -> str:
    """Return the page of one robot, complete in itself.

    Args:
        record: The robot.
        scene: Packed scene, if the robot can be drawn.
        command: What makes this page again.
    """
    held = PageScripts(*(Script(text=template_asset(n)) for n in (_PAGES, _VIEWER)))
    view = View.of(scene) if scene else None
    return render_page(page_environment(), record, held, view, command=command)


def _scene(robot: RobotRecord, directory: Path, scenes: Path | None) -> Path:
    usual = scene_path(directory, robot.id)
    return scenes / usual.name if scenes else usual


def _view(path: Path) -> View | None:
    return View.of(path.read_bytes()) if path.is_file() else None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")

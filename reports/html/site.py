"""Static pages: one for the run and one per robot, without external resources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from urdf_usd.reports import summary as counted
from urdf_usd.reports.changes import sorted_changes
from urdf_usd.reports.html.history_page import PAGE, recent_runs
from urdf_usd.reports.html.matrix import matrix
from urdf_usd.reports.html.rendering import (
    Script,
    island,
    page_environment,
    page_name,
    run_command,
    script_policy,
    static_file,
    write_page,
)
from urdf_usd.reports.html.robot_page import PageScripts, View, page_content
from urdf_usd.reports.records.history import HistoryEntry
from urdf_usd.reports.records.record import RobotRecord, RunSummary
from urdf_usd.reports.records.scene import SceneError, scene_path

# Scripts shared by all pages of a run, so that browsers cache them.
_SCRIPTS = "scripts"
_PAGES = "pages.js"
_VIEWER = "viewer.js"
_ROBOT = "robot.html.j2"


def write_site(
    summary: RunSummary,
    robots: Sequence[RobotRecord],
    directory: Path,
    scenes: Path | None = None,
    history: Sequence[HistoryEntry] = (),
    *,
    cases: bool = False,
) -> Path:
    """Write ``index.html`` and ``robots/<id>.html``; return the path of the index.

    Args:
        summary: The run, or the part of one converter.
        robots: Its records.
        directory: Target folder.
        scenes: Folder of the 3D scenes; by default that in ``directory``. The page of a
            robot whose scene is damaged has no 3D view.
        history: Runs up to this one, the oldest first; ``history.html`` is beside the
            index.
        cases: Whether the folder has the page of the feature suite.

    Raises:
        ValueError: The id of a robot is not a valid file name.
        OSError: The directory cannot be written.
    """
    for folder in ("robots", _SCRIPTS):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    for name in (_PAGES, _VIEWER):
        script = directory / _SCRIPTS / name
        script.write_text(static_file(name), encoding="utf-8", newline="\n")
    linked = PageScripts(*(Script(f"../{_SCRIPTS}/{name}") for name in (_PAGES, _VIEWER)))
    for robot in robots:
        scene = scene_path(directory, robot.id)
        view = _view(scenes / scene.name if scenes else scene)
        command = run_command(summary, robot.source.reference)
        content = page_content(robot, linked, view, "../index.html", command)
        write_page(directory / "robots" / page_name(robot), _ROBOT, **content)
    return _write_index(summary, robots, directory, history, cases=cases)


def render_robot(
    record: RobotRecord, scene: bytes | None = None, command: str | None = None
) -> str:
    """Return the self-contained page of one robot.

    Args:
        record: The robot.
        scene: Packed 3D scene, if there is one.
        command: Command that reproduces the page.
    """
    inline = PageScripts(*(Script(text=static_file(name)) for name in (_PAGES, _VIEWER)))
    content = page_content(record, inline, View.of(scene) if scene else None, command=command)
    return page_environment().get_template(_ROBOT).render(**content)


def render_view(record: RobotRecord, scene: bytes) -> str:
    """Return a self-contained page with the 3D view of a robot alone.

    Args:
        record: The robot.
        scene: Packed 3D scene.

    Raises:
        SceneError: It is damaged.
    """
    script = Script(text=static_file(_VIEWER))
    template = page_environment().get_template("view.html.j2")
    policy = script_policy((script,))
    return template.render(robot=record, view=View.of(scene), script=script, policy=policy)


def _view(path: Path) -> View | None:
    """Read a scene; None if there is none, or if it is damaged."""
    try:
        return View.of(path.read_bytes()) if path.is_file() else None
    except SceneError:
        return None


def _write_index(
    summary: RunSummary,
    robots: Sequence[RobotRecord],
    directory: Path,
    history: Sequence[HistoryEntry],
    *,
    cases: bool,
) -> Path:
    scripts = (Script(text=static_file(_PAGES)),)
    worst = counted.worst_figures(robots)
    ordered = counted.most_urgent_first(robots)
    return write_page(
        directory / "index.html",
        "index.html.j2",
        summary=summary,
        cases=cases,
        robots=ordered,
        title=counted.headline(robots),
        converters=sorted({counted.converter(robot) for robot in robots}),
        converted=sum(bool(robot.checks) for robot in robots),
        readable=len(counted.readable(robots)),
        groups=counted.groups(robots),
        worst=worst,
        worst_per_group=counted.worst_per_group(worst),
        engines=counted.participation(robots),
        deviations=counted.engine_deviations(robots),
        per_engine=counted.engine_matrix(robots),
        Outcome=counted.Outcome,
        report=island(matrix(ordered)),
        scripts=scripts,
        policy=script_policy(scripts),
        pages={robot.id: quote(page_name(robot)) for robot in robots},
        graded={(robot.id, check.id) for robot in robots for check in robot.checks},
        command=run_command(summary, *summary.corpus),
        changes=sorted_changes(summary.former),
        runs=recent_runs(history),
        history=PAGE,
        candidate=next((one.name for one in summary.converters), ""),
        changed={robot.id: f"robots/{quote(page_name(robot))}" for robot in robots},
    )

"""Static pages of a run, of several converters, and of robots, without external resources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from msgspec import structs

from urdf_usd.reports import summary as counted
from urdf_usd.reports.appearance import GRADES, VERDICTS, Appearance
from urdf_usd.reports.html.history_page import PAGE, recent_runs
from urdf_usd.reports.html.rendering import (
    Script,
    island,
    page_address,
    page_name,
    page_text,
    run_command,
    script_policy,
    static_file,
    template_environment,
    write_page,
)
from urdf_usd.reports.html.robot_page import View, page_content
from urdf_usd.reports.records.history import HistoryEntry
from urdf_usd.reports.records.record import (
    CheckRecord,
    EngineStatus,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.records.scene import SceneError, scene_path
from urdf_usd.reports.text import one_line

# Scripts shared by all pages of a run, so that browsers cache them.
_SCRIPTS = "scripts"
_PAGES = "pages.js"
_VIEWER = "viewer.js"
_ROBOT = "robot.html.j2"

Json: TypeAlias = dict[str, object]

# The page of the robot has the full text.
_NAME_LIMIT = 200
_REASON_LIMIT = 300
_DIGITS = 3
_ABSENT = "."
_GRADE_LETTERS = dict(zip(GRADES, "ecfdn-", strict=True))
_STATUS_LETTERS = {
    EngineStatus.OBSERVED: "o",
    EngineStatus.UNSUPPORTED: "a",
    EngineStatus.CRASHED: "c",
    EngineStatus.UNAVAILABLE: "u",
}


def write_site(
    figures: counted.Figures,
    directory: Path,
    scenes: Path | None = None,
    history: Sequence[HistoryEntry] = (),
    *,
    cases: bool = False,
) -> Path:
    """Write ``index.html`` and ``robots/<id>.html``; return the path of the index.

    Raises:
        ValueError: The id of a robot is not a valid file name.
        OSError: The directory cannot be written.
    """
    for folder in ("robots", _SCRIPTS):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    for name in (_PAGES, _VIEWER):
        script = directory / _SCRIPTS / name
        script.write_text(static_file(name), encoding="utf-8", newline="\n")
    linked = tuple(Script(f"../{_SCRIPTS}/{name}") for name in (_VIEWER, _PAGES))
    summary, robots = figures.summary, figures.robots
    for robot in robots:
        scene = scene_path(directory, robot.id)
        view = _view(scenes / scene.name if scenes else scene)
        command = run_command(summary, robot.source.reference)
        content = page_content(robot, linked, view, "../index.html", command)
        write_page(directory / "robots" / page_name(robot), _ROBOT, **content)
    scripts = (Script(text=static_file(_PAGES)),)
    return write_page(
        directory / "index.html",
        "index.html.j2",
        **structs.asdict(figures),
        cases=cases,
        Outcome=counted.Outcome,
        report=island(matrix(figures.ordered)),
        scripts=scripts,
        policy=script_policy(scripts),
        pages={robot.id: quote(page_name(robot)) for robot in robots},
        graded={(robot.id, check.id) for robot in robots for check in robot.checks},
        command=run_command(summary, *summary.corpus),
        runs=recent_runs(history),
        history=PAGE,
        candidate=next((one.name for one in summary.converters), ""),
        changed={robot.id: f"robots/{quote(page_name(robot))}" for robot in robots},
    )


def render_robot(
    record: RobotRecord, scene: bytes | None = None, command: str | None = None
) -> str:
    inline = tuple(Script(text=static_file(name)) for name in (_VIEWER, _PAGES))
    content = page_content(record, inline, View.of(scene) if scene else None, command=command)
    return page_text(_ROBOT, content)


def render_view(record: RobotRecord, scene: bytes) -> str:
    """Return a self-contained page with the 3D view of a robot alone.

    Raises:
        SceneError: It is damaged.
    """
    script = Script(text=static_file(_VIEWER))
    template = template_environment().get_template("view.html.j2")
    policy = script_policy((script,))
    return template.render(robot=record, view=View.of(scene), script=script, policy=policy)


def _view(path: Path) -> View | None:
    try:
        return View.of(path.read_bytes()) if path.is_file() else None
    except SceneError:
        return None


def write_comparison(
    compared: counted.Comparison, directory: Path, *, has_history: bool = False
) -> Path:
    """Write ``index.html`` of a run of several converters, and return its path."""
    scripts = (Script(text=static_file("filter.js")),)
    robots = [entry.robot for entry in compared.entries]
    return write_page(
        directory / "index.html",
        "comparison.html.j2",
        **structs.asdict(compared),
        cases=any(robot.case for robot in robots),
        robots=len({robot.id for robot in robots}),
        verdicts=[
            verdict
            for verdict in VERDICTS
            if verdict in counted.USUAL or any(one.verdicts[verdict] for one in compared.results)
        ],
        headline=compared.headline,
        changed={f"{one.candidate}/{one.id}": page_address(one) for one in robots},
        history=PAGE if has_history else "",
        scripts=scripts,
        policy=script_policy(scripts),
    )


def matrix(robots: Sequence[RobotRecord]) -> Json:
    """Return the data with which a page shows, filters, sorts and plots robots."""
    records: dict[str, list[CheckRecord]] = {}
    for robot in robots:
        for check in robot.checks:
            records.setdefault(check.id, []).append(check)
    groups = list(dict.fromkeys(one[0].group for one in records.values()))
    checks = sorted((one[0] for one in records.values()), key=lambda one: groups.index(one.group))
    engines = tuple(dict.fromkeys(one.name for robot in robots for one in robot.engines))
    rules = _numbered(one.rule for robot in robots for one in robot.diagnostics)
    makers = _numbered(robot.source.maker or "" for robot in robots)
    references = counted.short_references(robots)
    rows = []
    for robot in robots:
        known = {check.id: check for check in robot.checks}
        row = [known.get(check.id) for check in checks]
        statuses = {one.name: _STATUS_LETTERS[one.status] for one in robot.engines}
        rows.append(
            {
                "title": one_line(counted.title(robot), _NAME_LIMIT),
                "reference": one_line(references[robot.source.reference], _NAME_LIMIT),
                "page": f"robots/{quote(page_name(robot))}",
                "verdict": list(Verdict).index(robot.verdict),
                "reason": one_line(robot.reason, _REASON_LIMIT),
                "grades": "".join(_GRADE_LETTERS[one.grade] if one else _ABSENT for one in row),
                "worst": [_number(one.worst) if one and one.unit else None for one in row],
                "maker": makers[robot.source.maker or ""],
                "engines": "".join(statuses.get(name, _ABSENT) for name in engines),
                "rules": sorted({rules[one.rule] for one in robot.diagnostics}),
            }
        )
    return {
        "checks": [
            {
                **{name: getattr(check, name) for name in ("id", "title", "group", "unit")},
                "bound": _range(one.bound for one in records[check.id]),
                "tolerance": _range(one.tolerance for one in records[check.id]),
            }
            for check in checks
        ],
        "grades": [
            {"letter": _GRADE_LETTERS[grade], "name": grade.value, **_look(looks)}
            for grade, looks in GRADES.items()
        ],
        "verdicts": [
            {"name": verdict.value, **_look(looks), "conforms": verdict.conforms}
            for verdict, looks in VERDICTS.items()
        ],
        "engines": list(engines),
        "rules": list(rules),
        "makers": [one_line(maker, _NAME_LIMIT) for maker in makers],
        "robots": rows,
    }


def _look(appearance: Appearance) -> Json:
    return {"look": appearance.name, "sign": appearance.sign, "rank": appearance.rank}


def _range(values: Iterable[float | None]) -> list[float] | None:
    """Return the smallest and largest positive finite value."""
    known = [value for value in values if value and math.isfinite(value)]
    return [_short(min(known)), _short(max(known))] if known else None


def _number(value: float | None) -> float | str | None:
    """Encode infinity, which JSON lacks, as text that JavaScript parses."""
    if value is None or math.isnan(value):
        return None
    return _short(value) if math.isfinite(value) else "Infinity"


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _numbered(values: Iterable[str]) -> Mapping[str, int]:
    return {value: number for number, value in enumerate(sorted(set(values)))}

"""Static pages without external resources: of runs, of several converters, robots, histories."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

import msgspec
from markupsafe import Markup
from msgspec import Struct, field, structs

from urdf_usd.reports import summary as counted
from urdf_usd.reports.changes import changed_results, changed_settings
from urdf_usd.reports.diagnosis import diagnose, independent_faults
from urdf_usd.reports.html import rendering
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records import scene as scenes
from urdf_usd.reports.records.results import KEPT_CHECKS, HistoryEntry, HistoryRobot
from urdf_usd.reports.records.suite_case import Requirement
from urdf_usd.reports.text import GRADES, VERDICTS, Appearance, duration, one_line

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
_STATUS_LETTERS = dict(zip(r.EngineStatus, "oacu", strict=True))


def write_site(
    figures: counted.Figures,
    directory: Path,
    drawn: Path | None = None,
    history: Sequence[HistoryEntry] = (),
    *,
    cases: bool = False,
) -> Path:
    """Write ``index.html`` and ``robots/<id>.html``; return the path of the index."""
    for folder in ("robots", _SCRIPTS):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    for name in (_PAGES, _VIEWER):
        script = directory / _SCRIPTS / name
        script.write_text(rendering.static_file(name), encoding="utf-8", newline="\n")
    linked = tuple(rendering.Script(f"../{_SCRIPTS}/{name}") for name in (_VIEWER, _PAGES))
    summary, robots = figures.summary, figures.robots
    for robot in robots:
        scene = scenes.scene_path(directory, robot.id)
        scene, view = drawn / scene.name if drawn else scene, None
        with suppress(scenes.SceneError):
            view = View.of(scene.read_bytes()) if scene.is_file() else None
        command = rendering.run_command(summary, robot.source.reference)
        content = page_content(robot, linked, view, "../index.html", command)
        rendering.write_page(directory / "robots" / rendering.page_name(robot), _ROBOT, **content)
    scripts = (rendering.Script(text=rendering.static_file(_PAGES)),)
    return rendering.write_page(
        directory / "index.html",
        "index.html.j2",
        **structs.asdict(figures),
        cases=cases,
        Outcome=counted.Outcome,
        report=rendering.island(matrix(figures.ordered)),
        scripts=scripts,
        pages={robot.id: quote(rendering.page_name(robot)) for robot in robots},
        graded={(robot.id, check.id) for robot in robots for check in robot.checks},
        command=rendering.run_command(summary, *summary.corpus),
        runs=recent_runs(history),
        history=HISTORY,
        candidate=next((one.name for one in summary.converters), ""),
        changed={robot.id: f"robots/{quote(rendering.page_name(robot))}" for robot in robots},
    )


def render_robot(
    record: r.RobotRecord, scene: bytes | None = None, command: str | None = None
) -> str:
    inline = tuple(rendering.Script(text=rendering.static_file(name)) for name in (_VIEWER, _PAGES))
    content = page_content(record, inline, View.of(scene) if scene else None, command=command)
    return rendering.page_text(_ROBOT, content)


def render_view(record: r.RobotRecord, scene: bytes) -> str:
    scripts = (rendering.Script(text=rendering.static_file(_VIEWER)),)
    template = rendering.template_environment().get_template("view.html.j2")
    return template.render(robot=record, view=View.of(scene), scripts=scripts)


def write_comparison(
    compared: counted.Comparison, directory: Path, *, has_history: bool = False
) -> Path:
    scripts = (rendering.Script(text=rendering.static_file("filter.js")),)
    robots = [entry.robot for entry in compared.entries]
    return rendering.write_page(
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
        changed={f"{one.candidate}/{one.id}": rendering.page_address(one) for one in robots},
        history=HISTORY if has_history else "",
        scripts=scripts,
    )


def matrix(robots: Sequence[r.RobotRecord]) -> Json:
    """Return the data with which a page shows, filters, sorts and plots robots."""
    records: dict[str, list[r.CheckRecord]] = {}
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
                "page": f"robots/{quote(rendering.page_name(robot))}",
                "verdict": list(r.Verdict).index(robot.verdict),
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


# Feature suite: the folder of the URDFs and the expected values.
CASES = "suite"
# Sign, class in the style sheet, and meaning of each outcome.
OUTCOMES = {
    r.CaseOutcome.PASS: ("✓", "exact", "the USD has the expected values"),
    r.CaseOutcome.REFUSED: ("⊘", "exact", "no USD was written, as required"),
    r.CaseOutcome.FAIL: ("✗", "fails", "a value differs, or an invalid file was converted"),
    r.CaseOutcome.REFUSED_WRONGLY: ("⊘", "disputed", "no USD was written"),
    r.CaseOutcome.CRASHED: ("!", "crashed", "the converter or the reader of the USD crashed"),
}


class CaseRow(Struct, frozen=True):
    id: str  # of the robot
    results: dict[str, tuple[r.RobotRecord, r.CaseRecord]]  # by converter

    @property
    def expected(self) -> str:
        """The expected values, as JSON."""
        return msgspec.json.format(msgspec.json.encode(self.case.case), indent=2).decode() + "\n"

    @property
    def case(self) -> r.CaseRecord:
        return next(iter(self.results.values()))[1]


def write_suite(
    summary: r.RunSummary, robots: Sequence[r.RobotRecord], directory: Path
) -> Path | None:
    """Write ``suite.html``, and the file of each case; return the path of the page."""
    by_id: dict[str, dict[str, tuple[r.RobotRecord, r.CaseRecord]]] = {}
    for robot in robots:
        if robot.case is not None:
            by_id.setdefault(robot.id, {})[robot.candidate] = robot, robot.case
    rows = [CaseRow(name, results) for name, results in by_id.items()]
    rows.sort(key=lambda row: (row.case.version, row.case.number))
    if not rows:
        return None
    folder = directory / CASES
    folder.mkdir(exist_ok=True)
    chapters: dict[str, list[CaseRow]] = {}
    for row in rows:
        (folder / f"{row.id}.urdf").write_text(row.case.urdf, "utf-8", newline="\n")
        (folder / f"{row.id}.json").write_text(row.expected, "utf-8", newline="\n")
        chapters.setdefault(row.case.chapter, []).append(row)
    several = len(summary.converters) > 1
    return rendering.write_page(
        directory / "suite.html",
        "suite.html.j2",
        summary=summary,
        version=rows[0].case.version,
        title="; ".join(
            f"{name} passes {one.passed} of {one.total} cases"
            for name, score in counted.suite_totals(summary.suite).items()
            for one in [score.must + score.should]
        ),
        chapters=chapters,
        scores=counted.suite_scores(summary),
        count=len(rows),
        outcomes=OUTCOMES,
        requirements=tuple(Requirement),
        # Class in the style sheet.
        look=lambda one: (
            "exact"
            if one.passed == one.total
            else "disputed"
            if 2 * one.passed >= one.total
            else "fails"
        ),
        sheet=lambda robot: rendering.page_address(robot, several=several),
        file=lambda row, suffix: quote(f"{CASES}/{row.id}{suffix}"),
        command=rendering.run_command(summary, *summary.corpus),
    )


# History

HISTORY = "history.html"
# Older runs are in the folder of the history.
_SHOWN_RUNS = 30
_POSITION = KEPT_CHECKS[0]
# Ends of the logarithmic scale of position errors [m].
_SMALLEST, _LARGEST = 1e-9, 1.0
# Width per run and height of the curve of position errors [px].
_STEP, _HEIGHT = 8, 20


class Run(Struct, frozen=True):
    entry: HistoryEntry
    verdicts: dict[str, dict[r.Verdict, int]]  # number of robots, by converter
    versions: tuple[r.ChangeRecord, ...] = ()  # and options
    results: tuple[r.ChangeRecord, ...] = ()  # of robots, the worse first
    scores: Mapping[str, str] = field(default_factory=dict)  # of the feature suite

    def worse(self, candidate: str) -> int:
        """Count robots of a converter of which a result got worse."""
        return sum(one.worse and one.subject.startswith(f"{candidate}/") for one in self.results)


class Course(Struct, frozen=True):
    id: str
    candidate: str
    results: tuple[HistoryRobot | None, ...]  # None where it was not in the run
    points: str  # of the curve of position errors, for SVG
    seconds: str  # of the last conversion; empty if not measured
    changed: bool  # its verdict is not the same in all runs


def recent_runs(history: Sequence[HistoryEntry]) -> tuple[Run, ...]:
    runs = []
    for at in range(max(len(history) - _SHOWN_RUNS, 0), len(history)):
        entry, former = history[at], history[max(at - 1, 0)]
        counts = Counter((robot.candidate, robot.verdict) for robot in entry.robots)
        runs.append(
            Run(
                entry=entry,
                verdicts={
                    name: {one: counts[name, one] for one in r.Verdict if counts[name, one]}
                    for name in entry.converters
                },
                versions=(
                    *changed_settings(former.converters, entry.converters),
                    *changed_settings(former.environment, entry.environment),
                    *changed_settings(former.options, entry.options),
                ),
                results=changed_results(former, entry),
                scores={
                    name: counted.score_text(one)
                    for name, one in counted.suite_totals(entry.suite).items()
                },
            )
        )
    return tuple(runs)


def write_history(history: Sequence[HistoryEntry], directory: Path) -> Path:
    """Write ``history.html`` and ``history.json``; return the path of the page."""
    content = msgspec.json.format(msgspec.json.encode(history), indent=1)
    (directory / "history.json").write_bytes(content + b"\n")
    runs, courses = recent_runs(history), []
    tables = [{(one.candidate, one.id): one for one in run.entry.robots} for run in runs]
    for last in runs[-1].entry.robots if runs else ():
        results = tuple(table.get((last.candidate, last.id)) for table in tables)
        points = " ".join(
            f"{at * _STEP + _STEP / 2:g},{_level(one.worst[_POSITION]):.1f}"
            for at, one in enumerate(results)
            if one is not None and _POSITION in one.worst
        )
        seconds = duration(last.seconds) if last.seconds is not None else ""
        changed = len({one.verdict if one else None for one in results}) > 1
        courses.append(Course(last.id, last.candidate, results, points, seconds, changed))
    # Those that changed come first.
    courses.sort(key=lambda one: (not one.changed, one.id, one.candidate))
    page, total = directory / HISTORY, len(history)
    return rendering.write_page(page, "history.html.j2", runs=runs, courses=courses, total=total)


def _level(error: float) -> float:
    """Return the vertical place of a position error, on a logarithmic scale."""
    if not math.isfinite(error):
        return 0.0
    inside = min(max(error, _SMALLEST), _LARGEST)
    share = math.log(inside / _SMALLEST) / math.log(_LARGEST / _SMALLEST)
    return _HEIGHT * (1 - share)


# The page of a robot: findings first, then all measurements

ROTATION_CHECK = "kinematics.rotation"
# Number of links whose errors are plotted, those with the largest ones.
_PLOTTED_LINKS = 40
_LINK_LIMIT = 80
# Deeper links of the tree are not indented further.
_DEEPEST = 12


class View(Struct, frozen=True):
    packed: bytes
    scene: scenes.Scene

    @classmethod
    def of(cls, packed: bytes) -> View:
        return cls(packed, scenes.unpack_scene(packed))

    @property
    def text(self) -> Markup:
        # Base64 needs no escaping.
        return rendering.trusted_markup(base64.b64encode(self.packed).decode("ascii"))


def page_content(
    robot: r.RobotRecord,
    scripts: tuple[rendering.Script, ...],
    view: View | None = None,
    index: str | None = None,
    command: str | None = None,
) -> dict[str, object]:
    loaded = scripts if view else scripts[1:]
    by_id = {check.id: check for check in robot.checks}
    position = Limits.of(by_id.get(counted.POSITION_CHECK), "m")
    rotation = Limits.of(by_id.get(ROTATION_CHECK), "rad")
    rows = tree(view.scene, position, rotation) if view else ()
    errors = view.scene.errors if view else None
    urdf = [one.path for one in robot.source.files if one.sha256 == robot.source.sha256]
    named = bool(urdf) and robot.source.reference.endswith(urdf[0])
    return {
        "robot": robot,
        "index": index,
        "engines": counted.engines((robot,)),
        "checks_by_group": [
            (group, [check for check in robot.checks if check.group == group])
            for group in counted.groups((robot,))
        ],
        "diagnosis": diagnose(robot),
        "faults": independent_faults(robot) if robot.verdict is r.Verdict.FAILS else (),
        "versions": [one for one in robot.engines if one.status is r.EngineStatus.OBSERVED],
        "file": urdf[0] if urdf and not named else "",
        "urgent": _checks_with(robot, counted.URGENT),
        "tolerated": _checks_with(robot, (r.Grade.CLOSE,)),
        # Differences that a deviation of the engine explains, not a fault of the USD.
        "deviations": {(one.check, one.engine): one.id for one in robot.deviations},
        # Of an engine that is there twice, the first.
        "differences": {
            (check.id, one.engine): one
            for check in robot.checks
            for one in reversed(check.differences)
        },
        "orders": counted.joint_orders(robot),
        "units": {check.id: check.unit for check in robot.checks},
        "command": command,
        "view": view,
        "tree": rows,
        # Distances between the readings of every two engines, by their names in either order.
        "agreement": {
            names: (one, position.grade(one.position))
            for one in (view.scene.agreements if view else ())
            for names in (one.engines, one.engines[::-1])
        },
        "errors": rendering.island(_plotted(errors, position, rotation)) if errors else None,
        "scripts": loaded,
    }


def _plotted(errors: scenes.LinkErrors, position: Limits, rotation: Limits) -> dict[str, object]:
    """Keep the links with the largest errors of position or rotation."""
    rows = (*errors.positions, *errors.rotations)
    sizes = [
        max((row[link] or 0.0 for row in rows), default=0.0) for link in range(len(errors.links))
    ]
    links = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)[:_PLOTTED_LINKS]
    return {
        "links": [one_line(errors.links[link], _LINK_LIMIT) for link in links],
        "configurations": list(errors.configurations),
        "positions": [[row[link] for link in links] for row in errors.positions],
        "rotations": [[row[link] for link in links] for row in errors.rotations],
        "position": structs.asdict(position),
        "rotation": structs.asdict(rotation),
    }


def _checks_with(robot: r.RobotRecord, grades: tuple[r.Grade, ...]) -> tuple[r.CheckRecord, ...]:
    # Includes checks that fail without a finding, which show a reason.
    return tuple(
        check
        for check in sorted(robot.checks, key=lambda check: GRADES[check.grade].rank)
        if check.grade in grades or any(finding.grade in grades for finding in check.findings)
    )


class Limits(Struct, frozen=True):
    """float32 bound and tolerance of one check; 0 if unknown."""

    unit: str
    bound: float = 0.0
    tolerance: float = 0.0

    @classmethod
    def of(cls, check: r.CheckRecord | None, unit: str) -> Limits:
        known = check and cls(check.unit, check.bound or 0.0, check.tolerance or 0.0)
        return known or cls(unit)

    def grade(self, value: float) -> r.Grade:
        if value <= self.bound:
            return r.Grade.EXACT
        return r.Grade.CLOSE if value <= self.tolerance else r.Grade.FAILS


class TreeRow(Struct, frozen=True):
    """One link of the tree, with its largest errors over all configurations."""

    link: str
    joint: str | None  # that leads to it; None for the root
    kind: str  # motion of that joint, in a word
    depth: int
    position: float | None = None  # [m]; None if it was not compared
    rotation: float | None = None  # [rad]; likewise
    grade: r.Grade = r.Grade.NOT_COMPARABLE  # of the worse of the two
    configuration: str = ""  # where the worse of the two occurs
    first: bool = False  # it fails although its parent does not
    moved: bool = False  # the position error exceeds the tolerance
    turned: bool = False  # the rotation error does


def tree(scene: scenes.Scene, position: Limits, rotation: Limits) -> tuple[TreeRow, ...]:
    model = next((one for one in scene.models if one.side == "urdf"), None)
    if model is None:
        return ()
    below: dict[str, list[scenes.SceneJoint]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint)
    errors = scene.errors
    columns = {link: column for column, link in enumerate(errors.links)} if errors else {}
    rows: dict[str, TreeRow] = {}
    waiting: list[tuple[str, scenes.SceneJoint | None, int]] = [(model.root, None, 0)]
    while waiting:
        link, above, depth = waiting.pop()
        name, kind = (above.name, _kind(above)) if above else (None, "root")
        row = TreeRow(link, name, kind, min(depth, _DEEPEST))
        if errors and link in columns:
            largest = []
            for one in (errors.positions, errors.rotations):
                # One that is not finite is stored as None.
                cells = [at[columns[link]] for at in one]
                values = [math.inf if cell is None else cell for cell in cells]
                worst = max(values, default=0.0)
                place = errors.configurations[values.index(worst)] if values else ""
                largest.append((worst, place))
            (moved, _), (turned, _) = largest
            grades = position.grade(moved), rotation.grade(turned)
            turn = grades[1].severity > grades[0].severity
            row = structs.replace(
                row,
                position=moved,
                rotation=turned,
                grade=grades[turn],
                configuration=largest[turn][1],
                moved=grades[0] is r.Grade.FAILS,
                turned=grades[1] is r.Grade.FAILS,
            )
        parent = rows[above.parent].grade if above else None
        fails_first = row.grade is r.Grade.FAILS and parent is not r.Grade.FAILS
        rows[link] = structs.replace(row, first=fails_first)
        waiting += [(child.child, child, depth + 1) for child in reversed(below.get(link, []))]
    return tuple(rows.values())


def _kind(joint: scenes.SceneJoint) -> str:
    if not joint.motions:
        return "fixed"
    kinds = {{"turn": "rotates", "slide": "translates"}[one.kind] for one in joint.motions}
    word = kinds.pop() if len(kinds) == 1 else "moves"
    return f"{word}, mimics {joint.mimic.leader}" if joint.mimic else word

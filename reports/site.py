"""Static pages: one for the run, one per robot; nothing is loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
import shlex
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from conformance.record import Grade, Verdict, WitnessStatus
from conformance.scene import scene_path, scene_text, unpack_scene
from reports import overview, quantities
from reports.appearance import GRADES, VERDICTS, appearance
from reports.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conformance.record import (
        CheckRecord,
        RobotRecord,
        RunSummary,
    )
    from conformance.scene import Scene

# More rows than anybody reads; the JSON record holds them all.
_ROWS_PER_TABLE = 100
# Scripts that many pages load, beside them: a browser reads them once.
_SCRIPTS = "scripts"
_VIEWER = "viewer.js"
# Options of a summary that the command takes under the same name.
_COMMAND_OPTIONS = ("bodies", "base", "massless")
_FLAGS = ("merge-fixed",)
# Of these the summary holds all values, quoted as in a shell.
_REPEATED = ("arg",)
_URGENT = (Grade.FAILS, Grade.DISPUTED)


@dataclass(frozen=True, slots=True)
class Script:
    """A script of a page: beside it, or in it.

    Attributes:
        address: Where it lies, relative to the page; empty if the page holds it.
        text: What it says, if the page holds it.
    """

    address: str = ""
    text: str = ""

    @property
    def policy(self) -> str:
        """What a content security policy has to allow."""
        return "'self'" if self.address else f"'sha256-{script_digest(self.text)}'"

    @property
    def markup(self) -> Markup:
        """The text as it stands in the page."""
        return Markup(self.text)  # noqa: S704  # our own file


@dataclass(frozen=True, slots=True)
class View:
    """What a page needs to draw a robot.

    Attributes:
        packed: The scene, as it travels.
        script: What draws it.
    """

    packed: bytes
    script: Script

    @property
    def scene(self) -> Scene:
        """The scene itself."""
        return unpack_scene(self.packed)

    @property
    def text(self) -> Markup:
        """The scene as text; base64 means nothing in a page."""
        return Markup(scene_text(self.packed))  # noqa: S704


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
    viewer = Script(f"../{_SCRIPTS}/{_VIEWER}")
    for robot in robots:
        page = _robot_page(
            environment,
            robot,
            "../index.html",
            _command(summary, robot.source.reference),
            _view(_scene(robot, directory, scenes), viewer),
        )
        _write(pages / page_name(robot), page)
    (directory / _SCRIPTS).mkdir(exist_ok=True)
    _write(directory / _SCRIPTS / _VIEWER, template_asset(_VIEWER))
    index = directory / "index.html"
    _write(index, _index_page(environment, summary, robots))
    return index


def render_robot(record: RobotRecord, scene: bytes | None = None) -> str:
    """Return the page of one robot, complete in itself.

    Args:
        record: The robot.
        scene: Packed scene, if the robot can be drawn.
    """
    view = View(scene, Script(text=template_asset(_VIEWER))) if scene else None
    return _robot_page(page_environment(), record, view=view)


def _scene(robot: RobotRecord, directory: Path, scenes: Path | None) -> Path:
    usual = scene_path(directory, robot.id)
    return scenes / usual.name if scenes else usual


def _view(path: Path, viewer: Script) -> View | None:
    return View(path.read_bytes(), viewer) if path.is_file() else None


def _index_page(
    environment: Environment, summary: RunSummary, robots: Sequence[RobotRecord]
) -> str:
    script = template_asset("filter.js")
    return environment.get_template("index.html.j2").render(
        summary=summary,
        robots=overview.most_urgent_first(robots),
        conforming=sum(robot.verdict.conforms for robot in robots),
        readable=len(overview.readable(robots)),
        groups=overview.groups(robots),
        worst=overview.worst_figures(robots),
        witnesses=overview.participation(robots),
        deviations=overview.reader_deviations(robots),
        script=Markup(script),  # noqa: S704  # our own file
        script_digest=script_digest(script),
        command=_command(summary, *summary.corpus),
    )


def script_digest(script: str) -> str:
    """Return the digest by which a content security policy knows a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _robot_page(
    environment: Environment,
    robot: RobotRecord,
    index: str | None = None,
    command: str | None = None,
    view: View | None = None,
) -> str:
    return environment.get_template("robot.html.j2").render(
        robot=robot,
        index=index,
        urdf_witnesses=tuple(
            dict.fromkeys(
                difference.witness
                for check in robot.checks
                for difference in check.differences
            )
        ),
        checks_by_group=overview.checks_by_group(robot),
        urgent=_checks_with(robot, _URGENT),
        tolerated=_checks_with(robot, (Grade.CLOSE,)),
        # Where a witness departs from the URDF, a difference is not the USD's fault.
        deviations={(each.check, each.witness): each.id for each in robot.deviations},
        units={check.id: check.unit for check in robot.checks},
        command=command,
        view=view,
    )


def _checks_with(
    robot: RobotRecord, grades: tuple[Grade, ...]
) -> tuple[CheckRecord, ...]:
    # A check that fails without a finding is shown too, with its reason.
    return tuple(
        check
        for check in sorted(robot.checks, key=lambda check: GRADES[check.grade].rank)
        if check.grade in grades
        or any(finding.grade in grades for finding in check.findings)
    )


def page_environment() -> Environment:
    """Return what renders pages: they escape everything, and miss nothing silently."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters |= {
        "quantity": quantities.quantity,
        "exact": quantities.exact,
        "unit": quantities.unit_symbol,
        "page": lambda robot: quote(page_name(robot)),
        "title": overview.title,
        "statement": overview.statement,
        "group_grades": overview.group_grades,
        "silent_checks": overview.silent_checks,
        "position_check": overview.position_check,
        "look": appearance,
    }
    environment.globals |= {
        "GRADES": GRADES,
        "VERDICTS": VERDICTS,
        "Verdict": Verdict,
        "WitnessStatus": WitnessStatus,
        "URGENT": _URGENT,
        "CLOSE": (Grade.CLOSE,),
        "ROWS": _ROWS_PER_TABLE,
        "style": Markup(template_asset("style.css")),  # noqa: S704  # our own file
        "viewer_style": Markup(template_asset("viewer.css")),  # noqa: S704  # our own file
    }
    return environment


def _printable(value: object) -> object:
    return value if isinstance(value, Markup) else plain(str(value))


def template_asset(name: str) -> str:
    """Read a file that lies beside the templates."""
    return (resources.files("reports") / "templates" / name).read_text("utf-8")


def _command(summary: RunSummary, *sources: str) -> str:
    options = (
        word
        for name in _COMMAND_OPTIONS
        if name in summary.options
        for word in (f"--{name}", summary.options[name])
    )
    repeated = (
        word
        for name in _REPEATED
        for value in shlex.split(summary.options.get(name, ""))
        for word in (f"--{name}", value)
    )
    flags = (f"--{name}" for name in _FLAGS if summary.options.get(name) == "yes")
    return shlex.join(
        ("urdf-usd", "run", *sources, *options, *repeated, *flags, "--out", "report")
    )


def page_name(robot: RobotRecord) -> str:
    """Return the file name of a robot's page.

    Raises:
        ValueError: The id of the robot is no file name.
    """
    if robot.id in {"", ".", ".."} or set(robot.id) & set("/\\\0"):
        raise ValueError(f"the id {robot.id!r} is no file name")
    return f"{robot.id}.html"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")

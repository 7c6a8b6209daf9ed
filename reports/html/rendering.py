"""What all pages are rendered with: templates, scripts and data inside a page."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from urdf_usd.conformance.records.ledger_record import CoverageStatus
from urdf_usd.conformance.records.record import EngineStatus, Grade, Verdict
from urdf_usd.reports import overview, quantities
from urdf_usd.reports.appearance import GRADES, VERDICTS, appearance
from urdf_usd.reports.html import former
from urdf_usd.reports.text import plain

if TYPE_CHECKING:
    from urdf_usd.conformance.records.record import RobotRecord

# More rows than anybody reads; the JSON record holds them all.
_ROWS_PER_TABLE = 100
# What follows from a fault is below it, folded up.
_OPEN_CHECKS = 3
# How the fates of a ledger look: as grades do.
_FATES = {
    CoverageStatus.CONVERTED: "exact",
    CoverageStatus.KEPT: "close",
    CoverageStatus.LEFT_OUT: "disputed",
}
URGENT = (Grade.FAILS, Grade.DISPUTED)
# A browser ends a script at its end tag, wherever that stands.
_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


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


def script_policy(scripts: tuple[Script, ...]) -> str:
    """Return what a content security policy says of the scripts of a page."""
    return " ".join(dict.fromkeys(script.policy for script in scripts)) or "'none'"


def script_digest(script: str) -> str:
    """Return the digest by which a content security policy knows a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def template_asset(name: str) -> str:
    """Read a file that lies beside the templates."""
    return (resources.files("urdf_usd.reports.html") / "templates" / name).read_text(
        "utf-8"
    )


def island(content: object) -> Markup:
    """Write data as JSON that a script element can hold."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # A name may hold halves of characters, which UTF-8 has no bytes for.
    safe = text.translate(_MARKUP).encode("utf-8", "backslashreplace").decode()
    return Markup(safe)  # noqa: S704  # nothing in it is markup any more


def page_name(robot: RobotRecord) -> str:
    """Return the file name of a robot's page.

    Raises:
        ValueError: The id of the robot is no file name.
    """
    if robot.id in {"", ".", ".."} or set(robot.id) & set("/\\\0"):
        raise ValueError(f"the id {robot.id!r} is no file name")
    return f"{robot.id}.html"


def page_environment() -> Environment:
    """Return what renders pages: they escape everything, and miss nothing silently."""
    environment = Environment(
        loader=PackageLoader("urdf_usd.reports.html"),
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
        "change_look": former.look,
        "change_sign": former.sign,
    }
    environment.globals |= {
        "GRADES": GRADES,
        "VERDICTS": VERDICTS,
        "Verdict": Verdict,
        "EngineStatus": EngineStatus,
        "URGENT": URGENT,
        "CLOSE": (Grade.CLOSE,),
        "FATES": _FATES,
        "OPEN": _OPEN_CHECKS,
        "ROWS": _ROWS_PER_TABLE,
        "style": Markup(template_asset("style.css")),  # noqa: S704  # our own file
        "viewer_style": Markup(template_asset("viewer.css")),  # noqa: S704  # our own file
    }
    return environment


def _printable(value: object) -> object:
    return value if isinstance(value, Markup) else plain(str(value))

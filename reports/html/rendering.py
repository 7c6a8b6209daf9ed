"""Rendering shared by all pages: templates, scripts, embedded data, commands."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from functools import cache
from importlib import resources
from inspect import isfunction
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec import UNSET, Struct

from urdf_usd.reports import changes, summary, text
from urdf_usd.reports.records import record as r
from urdf_usd.reports.text import GRADES, VERDICTS

# Folder of the pages of each converter, as a run of that converter alone has them.
CONVERTERS = "converters"
_NAME_LIMIT = 80
# Escapes end tags, at which a browser would end the script element.
# The hash of a script is in the policy of its page.
_SCRIPT = re.compile(r"(<script.*?</script>)", re.DOTALL)
_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Script(Struct, frozen=True):
    """A script of a page: in a file, or inline."""

    address: str = ""  # path relative to the page; empty if inline
    text: str = ""  # source, if inline

    @property
    def policy(self) -> str:
        digest = base64.b64encode(hashlib.sha256(self.text.encode()).digest())
        return "'self'" if self.address else f"'sha256-{digest.decode()}'"

    @property
    def markup(self) -> Markup:
        return trusted_markup(self.text)


@cache
def static_file(name: str) -> str:
    return (resources.files("urdf_usd.reports.html") / "static" / name).read_text("utf-8")


def trusted_markup(source: str) -> Markup:
    """Mark text of this package, or text without markup characters, as safe."""
    return Markup(source)  # noqa: S704  # callers pass no text of robots


def island(content: object) -> Markup:
    encoded = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    # A name may contain lone surrogates, which UTF-8 cannot encode.
    safe = encoded.translate(_MARKUP).encode("utf-8", "backslashreplace").decode()
    return trusted_markup(safe)


def page_name(robot: r.RobotRecord) -> str:
    if robot.id in {"", ".", ".."} or set(robot.id) & set("/\\\0"):
        raise ValueError(f"the id {robot.id!r} is not a file name")
    return f"{robot.id}.html"


def page_address(robot: r.RobotRecord, *, several: bool = True) -> str:
    above = (CONVERTERS, robot.candidate) if several else ()
    return "/".join(map(quote, (*above, "robots", page_name(robot))))


def run_command(run: r.RunSummary, *sources: str) -> str:
    """Return the command that repeats a run, for given sources."""
    words = ["urdf-usd", "run", *sources]
    for name, stated in run.options.items():
        if stated in {"yes", "no"}:
            words += (f"--{name}",) if stated == "yes" else ()
        else:
            words += (word for value in shlex.split(stated) for word in (f"--{name}", value))
    ours_alone = all(one.name == one.recipe for one in run.converters)
    for one in () if ours_alone else run.converters:
        # The recipe of a registered converter is its callable.
        named = "{urdf}" in one.recipe or one.recipe.startswith("folder:")
        words += ("--converter", f"{one.name}={one.recipe}" if named else one.name)
    return shlex.join((*words, "--out", "report"))


@cache
def template_environment(suffix: str = "html") -> Environment:
    """Return the environment of templates, which fails on undefined values."""

    def printable(value: object) -> object:
        return value if isinstance(value, Markup) else text.plain(str(value))

    markdown = suffix == "md"
    environment = Environment(
        loader=PackageLoader("urdf_usd.reports.html"),
        autoescape=not markdown,  # noqa: S701  # Markdown escapes by a filter
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=markdown,
        finalize=None if markdown else printable,
    )
    functions = {**vars(text), **vars(summary), **vars(changes)}
    environment.filters |= {
        **{name: one for name, one in functions.items() if isfunction(one)},
        "page": lambda robot: quote(page_name(robot)),
        # Addresses in a run of several converters.
        "sheet": page_address,
        "site": lambda converter: f"{CONVERTERS}/{quote(converter)}/index.html",
        "code": lambda name: f"<code>{text.markdown(name, _NAME_LIMIT)}</code>",
        "policy": lambda scripts: " ".join(dict.fromkeys(s.policy for s in scripts)) or "'none'",
    }
    environment.globals |= {
        "GRADES": GRADES,
        "VERDICTS": VERDICTS,
        "Verdict": r.Verdict,
        "EngineStatus": r.EngineStatus,
        "URGENT": summary.URGENT,
        "CLOSE": (r.Grade.CLOSE,),
        # Style-sheet classes of coverage, those of grades.
        "COVERAGE": dict(zip(r.CoverageStatus, ("exact", "close", "disputed"), strict=True)),
        # Further failing checks are collapsed: they often have the same cause.
        "OPEN": 3,
        # Longer tables are cut: GitHub takes 65,536 characters in a comment; the JSON has all.
        "ROWS": 50 if markdown else 100,
        "style": trusted_markup(static_file("style.css")),
        "viewer_style": trusted_markup(static_file("viewer.css")),
    }
    return environment


def page_text(template: str, content: Mapping[str, Any]) -> str:
    """Render a page; that of a robot names the formats that were compared."""
    rendered = template_environment().get_template(template).render(**content)
    robot = content.get("robot")
    if robot is None or robot.formats is UNSET:
        return rendered
    parts = _SCRIPT.split(rendered)
    parts[::2] = (text.of_formats(part, robot.formats) for part in parts[::2])
    return "".join(parts)


def write_page(path: Path, template: str, **content: object) -> Path:
    path.write_text(page_text(template, content), encoding="utf-8", newline="\n")
    return path

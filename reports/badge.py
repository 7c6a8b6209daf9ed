"""Badge with the number of robots that conform: SVG, and JSON for shields.io."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from urdf_usd.reports.summary import Figures, values

_LABEL = "URDF \u2192 USD"
# Backgrounds for white text, with a contrast of at least 4.5.
_GOOD, _MIXED, _BAD, _NONE = "#1a7f37", "#9a6700", "#b3201a", "#57606a"
# Mean width of a letter of Verdana at eleven pixels.
_LETTER, _MARGIN = 6.6, 6.0
_MOST = 0.9


def write_badges(figures: Figures, folder: Path) -> None:
    """Write the badge of a run; unreadable and unavailable robots do not count.

    The title of ``badge.svg`` also has the number of compared values. ``badge.json`` is for
    the endpoint of shields.io: https://shields.io/badges/endpoint-badge
    """
    found = figures.conformance
    judged = found.judged
    text = f"{found.conforming} of {judged} conform" if judged else "no robots"
    if found.incomplete:
        text += f", {found.incomplete} incomplete"
    part = found.conforming / judged if judged else 0.0
    tone = _GOOD if part == 1 else _MIXED if part >= _MOST else _BAD
    environment = Environment(
        loader=PackageLoader("urdf_usd.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    left, right = (_LETTER * len(word) + 2 * _MARGIN for word in (_LABEL, text))
    svg = environment.get_template("badge.svg.j2").render(
        label=_LABEL,
        text=text,
        title=f"{text}; {values(figures.compared)}",
        left=round(left, 1),
        right=round(right, 1),
        tone=tone if judged else _NONE,
    )
    endpoint = {
        "schemaVersion": 1,
        "label": _LABEL,
        "message": text,
        "color": (tone if judged else _NONE).removeprefix("#"),
    }
    documents = {"badge.svg": svg, "badge.json": json.dumps(endpoint, ensure_ascii=False)}
    for name, document in documents.items():
        (folder / name).write_text(f"{document}\n", encoding="utf-8", newline="\n")

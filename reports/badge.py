"""Badge with the number of robots that conform: SVG, and JSON for shields.io."""

from __future__ import annotations

import json
from pathlib import Path

from urdf_usd.reports.html.rendering import template_environment
from urdf_usd.reports.records.record import Verdict
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
    tone = _NONE if not judged else _GOOD if part == 1 else _MIXED if part >= _MOST else _BAD
    compared = values(figures.compared)
    endpoint = {
        "schemaVersion": 1,
        "label": _LABEL,
        "message": text,
        "color": tone.removeprefix("#"),
    }
    documents = {
        "badge.svg": _svg(text, f"{text}; {compared}", tone),
        "badge.json": json.dumps(endpoint, ensure_ascii=False) + "\n",
    }
    for name, document in documents.items():
        (folder / name).write_text(document, encoding="utf-8", newline="\n")


def robot_badge(verdict: Verdict, compared: int) -> str:
    return _svg(verdict.value, f"{verdict.value}; {values(compared)}", _GOOD)


def _svg(text: str, title: str, tone: str) -> str:
    left, right = (_LETTER * len(word) + 2 * _MARGIN for word in (_LABEL, text))
    svg = (
        template_environment()
        .get_template("badge.svg.j2")
        .render(
            label=_LABEL,
            text=text,
            title=title,
            left=round(left, 1),
            right=round(right, 1),
            tone=tone,
        )
    )
    return f"{svg}\n"

"""Tests of signs and colours."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from urdf_usd.reports.appearance import GRADES, VERDICTS, appearance
from urdf_usd.reports.records.record import Grade, Verdict

_STYLE = (resources.files("urdf_usd.reports.html") / "static" / "style.css").read_text("utf-8")
_LIGHT, _DARK = re.findall(r":root \{(.*?)\n *\}", _STYLE, re.DOTALL)[:2]


def _colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first: str, second: str) -> float:
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def test_every_grade_and_verdict_has_an_appearance() -> None:
    """No value of the enumerations is missing."""
    assert set(GRADES) == set(Grade)
    assert set(VERDICTS) == set(Verdict)


@pytest.mark.parametrize("looks", [GRADES, VERDICTS])
def test_signs_are_distinct(looks: dict[Grade, object]) -> None:
    """Colour is never the only distinction."""
    signs = [appearance(value).sign for value in looks]
    assert len(set(signs)) == len(signs)
    assert all(len(sign) == 1 for sign in signs)


@pytest.mark.parametrize("value", [*Grade, *Verdict])
def test_every_appearance_has_a_style_rule(value: Grade | Verdict) -> None:
    """A class without a rule would have no colour."""
    assert re.search(rf"\.{appearance(value).name}[ ,{{].*--tone", _STYLE)


@pytest.mark.parametrize("theme", [_LIGHT, _DARK], ids=["light", "dark"])
def test_text_has_sufficient_contrast(theme: str) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1, computed by its formula."""
    colours = _colours(theme)
    pairs = [(ink, page) for ink in ("ink", "muted", "link") for page in ("page", "surface")]
    tones = [name.removesuffix("-tint") for name in colours if name.endswith("-tint")]
    assert len(tones) == 7
    for tone in tones:
        pairs += [(tone, f"{tone}-tint"), (tone, "page"), (tone, "surface")]
        pairs += [(ink, f"{tone}-tint") for ink in ("ink", "muted")]
    weak = {
        pair: round(ratio, 2)
        for pair in pairs
        if (ratio := _contrast(colours[pair[0]], colours[pair[1]])) < 4.5
    }
    assert not weak

"""Run records as HTML, JUnit XML, Markdown, SARIF, Parquet and text. Knows no engine.

Names are loaded when they are first asked for: what shows a name needs no templates.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.reports.badge import write_badge
    from urdf_usd.reports.html.comparison_page import (
        write_comparison,
        write_comparison_markdown,
    )
    from urdf_usd.reports.html.site import render_robot, write_site
    from urdf_usd.reports.junit import write_junit
    from urdf_usd.reports.markdown import write_markdown
    from urdf_usd.reports.measurements import write_parquet
    from urdf_usd.reports.overview import most_urgent_first, readable
    from urdf_usd.reports.sarif import write_sarif
    from urdf_usd.reports.terminal import terminal_comparison, terminal_summary

__all__ = [
    "most_urgent_first",
    "readable",
    "render_robot",
    "terminal_comparison",
    "terminal_summary",
    "write_badge",
    "write_comparison",
    "write_comparison_markdown",
    "write_junit",
    "write_markdown",
    "write_parquet",
    "write_sarif",
    "write_site",
]

_PLACE = {
    "most_urgent_first": "urdf_usd.reports.overview",
    "readable": "urdf_usd.reports.overview",
    "render_robot": "urdf_usd.reports.html.site",
    "terminal_comparison": "urdf_usd.reports.terminal",
    "terminal_summary": "urdf_usd.reports.terminal",
    "write_badge": "urdf_usd.reports.badge",
    "write_comparison": "urdf_usd.reports.html.comparison_page",
    "write_comparison_markdown": "urdf_usd.reports.html.comparison_page",
    "write_junit": "urdf_usd.reports.junit",
    "write_markdown": "urdf_usd.reports.markdown",
    "write_parquet": "urdf_usd.reports.measurements",
    "write_sarif": "urdf_usd.reports.sarif",
    "write_site": "urdf_usd.reports.html.site",
}


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_PLACE[name]), name)
    globals()[name] = value
    return value

"""Run records as HTML, JUnit XML, Markdown, SARIF, Parquet and text. Knows no engine.

Names are loaded when they are first asked for: what shows a name needs no templates.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.badge import write_badge
    from reports.comparison_page import write_comparison, write_comparison_markdown
    from reports.junit import write_junit
    from reports.markdown import write_markdown
    from reports.measurements import write_parquet
    from reports.overview import most_urgent_first, readable
    from reports.sarif import write_sarif
    from reports.site import render_robot, write_site
    from reports.terminal import terminal_comparison, terminal_summary

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
    "most_urgent_first": "reports.overview",
    "readable": "reports.overview",
    "render_robot": "reports.site",
    "terminal_comparison": "reports.terminal",
    "terminal_summary": "reports.terminal",
    "write_badge": "reports.badge",
    "write_comparison": "reports.comparison_page",
    "write_comparison_markdown": "reports.comparison_page",
    "write_junit": "reports.junit",
    "write_markdown": "reports.markdown",
    "write_parquet": "reports.measurements",
    "write_sarif": "reports.sarif",
    "write_site": "reports.site",
}


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_PLACE[name]), name)
    globals()[name] = value
    return value

"""Run records as HTML, JUnit XML, Markdown and text. Knows no engine."""

from reports.junit import write_junit
from reports.markdown import write_markdown
from reports.site import render_robot, write_site
from reports.terminal import terminal_summary

__all__ = [
    "render_robot",
    "terminal_summary",
    "write_junit",
    "write_markdown",
    "write_site",
]

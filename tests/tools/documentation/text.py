"""Text of docstrings, help and rules as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_<>\[\]|#~])")
_ROLE = re.compile(r":\w+:`~?([^`]*)`")
_FIELD = re.compile(r"^(\w+): (.*?)(?=^\w+: |\Z)", re.MULTILINE | re.DOTALL)


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows the same."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))


def prose(docstring: str) -> str:
    """Return a paragraph of a docstring, with its code spans, as Markdown."""
    marked = _ROLE.sub(lambda found: f"``{found[1].rpartition('.')[2]}``", docstring)
    parts = re.split(r"``(.*?)``", marked, flags=re.DOTALL)
    return "".join(
        f"`{part}`" if index % 2 else _SPECIAL.sub(r"\\\1", part)
        for index, part in enumerate(parts)
    )


def split_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """Return what a Google docstring says of a class and of each of its attributes."""
    about, _, rest = docstring.partition("Attributes:\n")
    lines = rest.splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    plain = "\n".join(line[indent:] for line in lines)
    fields = {name: " ".join(text.split()) for name, text in _FIELD.findall(plain)}
    return "\n".join(line.strip() for line in about.splitlines()).strip(), fields


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown cells."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(language: str, text: str) -> str:
    """Return a code block."""
    return f"```{language}\n{text.strip(chr(10))}\n```"


def page(*blocks: str) -> str:
    """Join blocks to a page."""
    return "\n\n".join(block for block in blocks if block) + "\n"

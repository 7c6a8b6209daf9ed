"""Reading URDF text that a test writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.urdf.parse import Parsed, parse

Read: TypeAlias = Callable[[str], Parsed]
Refuse: TypeAlias = Callable[[str], tuple[Diagnostic, ...]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return a function that reads the text of a URDF file."""

    def read_text(text: str) -> Parsed:
        file = tmp_path / "robot.urdf"
        file.write_text(text, encoding="utf-8")
        return parse(file)

    return read_text


@pytest.fixture
def refuse(read: Read) -> Refuse:
    """Return a function that gives the diagnostics of a text that is refused."""

    def refuse_text(text: str) -> tuple[Diagnostic, ...]:
        with pytest.raises(SourceError) as caught:
            read(text)
        return caught.value.diagnostics

    return refuse_text


@pytest.fixture
def read_joint(read: Read) -> Read:
    """Return a function that reads the inside of a joint ``j`` between two links."""
    return lambda text: read(
        f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" {text}'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )


@pytest.fixture
def read_link(read: Read) -> Read:
    """Return a function that reads the inside of the only link."""
    return lambda text: read(f'<robot name="r"><link name="a">{text}</link></robot>')

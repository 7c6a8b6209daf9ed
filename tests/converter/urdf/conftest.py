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
    def read_text(text: str) -> Parsed:
        file = tmp_path / "robot.urdf"
        file.write_text(text, encoding="utf-8")
        return parse(file)

    return read_text


@pytest.fixture
def refuse(read: Read) -> Refuse:
    def refuse_text(text: str) -> tuple[Diagnostic, ...]:
        with pytest.raises(SourceError) as caught:
            read(text)
        return caught.value.diagnostics

    return refuse_text


@pytest.fixture
def read_joint(read: Read) -> Read:
    return lambda text: read(
        f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" {text}'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )


@pytest.fixture
def read_link(read: Read) -> Read:
    return lambda text: read(f'<robot name="r"><link name="a">{text}</link></robot>')

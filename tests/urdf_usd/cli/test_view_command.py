"""`urdf-usd view`: a page with the 3D view of a robot."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from click.testing import CliRunner

from urdf_usd.cli.main import main

_URDF = """<robot name="arm">
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.2 0.3"/></geometry></visual></link>
</robot>
"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    file = tmp_path / "arm.urdf"
    file.write_text(_URDF, encoding="utf-8")
    return file


def test_page_is_opened_in_the_browser(urdf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def remember(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", remember)

    result = CliRunner().invoke(main, ["view", str(urdf)])

    assert result.exit_code == 0, result.stderr
    (page,) = map(Path, result.stdout.splitlines())
    text = page.read_text("utf-8")
    page.unlink()
    assert [unquote(urlparse(url).path) for url in opened] == [str(page)]
    assert '<script type="text/plain" id="scene">' in text
    assert "3D view of arm" in text


def test_usd_is_shown_with_the_urdf(urdf: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "usd", tmp_path / "page.html"
    CliRunner().invoke(main, ["convert", str(urdf), str(out)])

    result = CliRunner().invoke(
        main, ["view", str(urdf), str(out / "arm.usda"), "--html", str(page)]
    )

    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [str(page)]
    assert "exact" in page.read_text("utf-8")

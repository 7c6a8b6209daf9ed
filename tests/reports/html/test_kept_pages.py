"""Pages of robots that are not rendered again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.html import kept_pages
from urdf_usd.reports.html.kept_pages import KeptPages
from urdf_usd.reports.html.site import write_site
from urdf_usd.reports.records.record import RobotRecord, RunSummary

_ROBOTS = samples.corpus()[:2]
_SUMMARY = samples.summary(_ROBOTS)
_ALL = [*(robot.id for robot in _ROBOTS), "index"]
_Change = Callable[[Path], None]


class _Site:
    """A report that is written several times, and the pages that were rendered."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.rendered: list[str] = []
        write = KeptPages.write

        def counted(
            kept: KeptPages,
            path: Path,
            parts: tuple[bytes, ...],
            render: Callable[[], str],
        ) -> None:
            def noted() -> str:
                self.rendered.append(path.stem)
                return render()

            write(kept, path, parts, noted)

        monkeypatch.setattr(KeptPages, "write", counted)

    def write(
        self,
        robots: tuple[RobotRecord, ...] = _ROBOTS,
        summary: RunSummary = _SUMMARY,
    ) -> list[str]:
        """Write the report; return the names of the pages that were rendered."""
        self.rendered.clear()
        self.folder.mkdir(exist_ok=True)
        kept = KeptPages(self.folder / "pages.json", self.folder)
        write_site(summary, robots, self.folder, kept=kept)
        kept.store()
        return list(self.rendered)

    def page(self, robot: RobotRecord) -> Path:
        """Return the page of a robot."""
        return self.folder / "robots" / f"{robot.id}.html"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Site:
    """A report that was written once."""
    made = _Site(tmp_path / "site", monkeypatch)
    assert made.write() == _ALL
    return made


def test_unchanged_pages_are_kept(site: _Site, tmp_path: Path) -> None:
    """They are those of a report in a new folder."""
    assert site.write() == []

    write_site(_SUMMARY, _ROBOTS, tmp_path / "fresh")
    for robot in _ROBOTS:
        fresh = tmp_path / "fresh" / "robots" / f"{robot.id}.html"
        assert site.page(robot).read_bytes() == fresh.read_bytes()


def test_page_of_another_record_is_rendered_again(site: _Site) -> None:
    """Only that of the record, and the index."""
    first, second = _ROBOTS

    changed = structs.replace(first, links=99), second

    assert site.write(changed) == [first.id, "index"]


def test_pages_with_another_command_are_rendered_again(site: _Site) -> None:
    """A page shows how to repeat its result."""
    other = structs.replace(_SUMMARY, options=_SUMMARY.options | {"bodies": "other"})

    assert site.write(summary=other) == _ALL


@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_text("mine")])
def test_changed_page_is_rendered_again(site: _Site, change: _Change) -> None:
    """Also one that was removed."""
    first, _ = _ROBOTS
    before = site.page(first).read_bytes()
    change(site.page(first))

    assert site.write() == [first.id]
    assert site.page(first).read_bytes() == before


@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.write_text("mine")])
def test_changed_index_is_rendered_again(site: _Site, change: _Change) -> None:
    """Also one that was removed."""
    index = site.folder / "index.html"
    before = index.read_bytes()
    change(index)

    assert site.write() == ["index"]
    assert index.read_bytes() == before


def test_index_of_another_summary_is_rendered_again(site: _Site) -> None:
    """Here of a run that was interrupted."""
    other = structs.replace(_SUMMARY, unfinished=3)

    assert site.write(summary=other) == ["index"]


def test_page_of_another_scene_is_rendered_again(site: _Site) -> None:
    """Also if it is damaged, so that the page has no view."""
    first, _ = _ROBOTS
    scenes = site.folder / "scenes"
    scenes.mkdir()
    (scenes / f"{first.id}.gz").write_bytes(b"damaged")

    assert site.write() == [first.id]


def test_pages_of_other_code_are_rendered_again(
    site: _Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Templates, code and libraries are hashed."""
    monkeypatch.setattr(kept_pages, "_code", lambda: "other")

    assert site.write() == _ALL


def test_damaged_hashes_keep_nothing(site: _Site) -> None:
    """The command may have been killed while it wrote them."""
    file = site.folder / "pages.json"
    file.write_bytes(file.read_bytes()[:-9])

    assert site.write() == _ALL

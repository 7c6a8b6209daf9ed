"""Screenshots for docs/report.md, of the report of a run and of a wrong robot.

``python -m tests.tools.browser.pictures INDEX PAGE FOLDER``
"""

from __future__ import annotations

import io
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

_FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
_COLORS = 160
_SETTLED_MS = 1_500


@dataclass(frozen=True)
class Picture:
    """A part of a page, in a window of a given size."""

    name: str
    page: int
    place: str
    width: int
    height: int
    theme: str = "light"
    address: str = ""


_PICTURES = (
    Picture("run", 0, "body", 1200, 430),
    Picture("matrix", 0, "#robots", 1200, 700, address="#robots?columns=all"),
    Picture("sizes", 0, "#sizes", 1200, 560),
    Picture("fault", 1, "body", 1200, 760),
    Picture("fault-phone", 1, "body", 390, 760, "dark"),
    Picture("view", 1, "#view-heading", 1200, 640),
    Picture("tree", 1, "#tree-heading", 1200, 860),
    Picture("engines", 1, "#heat-heading", 700, 300),
    Picture("phone", 0, "#robots", 390, 760, "dark"),
)


def take(pages: tuple[Path, Path], folder: Path) -> None:
    """Write all pictures, with few colours to keep files small."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        for one in _PICTURES:
            view = browser.new_page(
                viewport={"width": one.width, "height": one.height},
                color_scheme="dark" if one.theme == "dark" else "light",
                reduced_motion="reduce",
            )
            view.goto(pages[one.page].absolute().as_uri() + one.address)
            view.evaluate(f"document.querySelector('{one.place}').scrollIntoView()")
            view.wait_for_timeout(_SETTLED_MS)
            picture = Image.open(io.BytesIO(view.screenshot())).convert("RGB")
            few = picture.quantize(_COLORS, dither=Image.Dither.NONE)
            few.save(folder / f"{one.name}.png", optimize=True)
            view.close()
        browser.close()


if __name__ == "__main__":
    index, page, target = map(Path, sys.argv[1:])
    take((index, page), target)

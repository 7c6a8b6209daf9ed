"""The pages of a report in a real browser, from disk and without a network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs
from pxr import Gf, Usd

from tests.reports import samples
from urdf_usd.conformance.execution.run import check
from urdf_usd.converter import convert
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports.html.site import render_robot, write_site
from urdf_usd.reports.records.record import Difference, Grade, RobotRecord, Verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request


_CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(_CHROMIUM is None, reason="there is no chromium"),
]
# Neither a graphics card nor a display.
_FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
_HOSTILE = "</script><img src=x onerror=alert(1)>\u202eevil" + "n" * 10_000
JOINT = "panda_joint4"
_LARGEST_PAGE = 5_000_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A new page that must neither log errors nor request external resources."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened, faults = context.new_page(), list[str]()

    def logged(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and "GPU stall" not in message.text:
            faults.append(message.text)

    def requested(request: Request) -> None:
        if not request.url.startswith(("file://", "data:", "blob:")):
            faults.append(f"requests {request.url}")

    opened.on("console", logged)
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", requested)
    yield opened
    context.close()
    assert faults == []


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a run with every verdict once."""
    return write_site(samples.figures(samples.corpus()), tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a robot with one reversed axis."""
    folder = tmp_path_factory.mktemp("broken")
    scene, page = folder / "scene.gz", folder / "panda.html"
    urdf = resolve_robot("pybullet:franka_panda/panda.urdf").path
    usd = convert(urdf, folder / "asset").root_layer
    stage = Usd.Stage.Open(str(usd))
    joint = stage.GetDefaultPrim().GetPrimAtPath(f"Physics/{JOINT}")
    for end in ("physics:localRot0", "physics:localRot1"):
        rotation = joint.GetAttribute(end)
        rotation.Set(rotation.Get() * Gf.Quatf(0, 0, 1, 0))
    stage.Save()
    record = check(urdf, usd, scene=scene)
    page.write_text(render_robot(record, scene.read_bytes()), encoding="utf-8")
    return page


def _titles(page: Page) -> list[str]:
    return page.locator("#explorer tbody th[scope=row] .where").all_inner_texts()


def _until(page: Page, condition: str) -> None:
    """Wait for a condition; the security policy forbids playwright's own way."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never: {condition}")


def _filtered(page: Page, condition: str) -> set[str]:
    _until(page, condition)
    return set(_titles(page))


def test_filters_search_and_address_select_robots(page: Page, small: Path) -> None:
    page.goto(small.as_uri())
    everything = set(_titles(page))
    assert _titles(page)[0] == "Shifted"
    shown = f"{len(everything)} of {len(everything)} robots shown"
    assert page.locator("#filter-shown").inner_text() == shown
    page.click(".counts a[href='#robots?verdict=fails']")
    failing = _filtered(page, "document.querySelector('#filter-verdict').value === 'fails'")
    assert "Shifted" in failing < everything
    page.click("button[type=reset]")
    assert _filtered(page, "!location.hash") == everything
    page.locator("#explorer details").evaluate("more => more.open = true")
    page.select_option("#filter-rule", "xml-syntax")
    assert _filtered(page, "location.hash.includes('rule=')") == {"Broken"}
    page.click("button[type=reset]")
    page.fill("#filter-text", "WRIST shifted")
    assert _filtered(page, "location.hash.includes('text=')") == {"Shifted"}
    page.evaluate("location.hash = '#robots?text=zeta&sort=-robot&columns=groups'")
    assert _filtered(page, "document.querySelector('#filter-text').value === 'zeta'") == {"Zeta"}
    assert page.locator("th[aria-sort=descending]").inner_text().strip() == "Robot"


def _robot(number: int) -> RobotRecord:
    """Return one of many robots, with 60 checks."""
    checks = []
    for column in range(60):
        check = samples.position(Grade.CLOSE, 10.0 ** -(6 + (column * 13 + number * 7) % 9))
        names = {"title": f"quantity {column} of the robot", "group": f"group {column // 12}"}
        checks.append(structs.replace(check, id=f"kinematics.quantity_{column}", **names))
    return samples.robot(Verdict.CLOSE, name=f"Robot {number:04d}", checks=tuple(checks))


def test_only_visible_rows_of_1200_robots_are_in_the_document(page: Page, tmp_path: Path) -> None:
    large = write_site(samples.figures(tuple(map(_robot, range(1_200)))), tmp_path)
    assert large.stat().st_size < _LARGEST_PAGE
    page.goto(large.as_uri())
    assert page.locator("#filter-shown").inner_text() == "1200 of 1200 robots shown"
    assert len(_titles(page)) < 100
    region = page.locator("#explorer [role=region]")
    region.evaluate("region => region.scrollTop = region.scrollHeight")
    _until(
        page,
        "[...document.querySelectorAll('#explorer tbody tr')]"
        ".some(row => row.ariaRowIndex === '1202')",
    )
    # A scroll event that comes late shows the visible rows again.
    _until(
        page,
        "dispatchEvent(new Event('beforeprint')) "
        "&& document.querySelectorAll('#explorer tbody th[scope=row]').length === 1200",
    )
    assert len(_titles(page)) == 1_200
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 794, "height": 1123})
    wide = "document.querySelector('.checks').getBoundingClientRect().width"
    assert page.evaluate(wide) <= 794
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_page_names_the_joint_at_fault(page: Page, broken: Path) -> None:
    page.goto(broken.as_uri())
    verdict = page.locator("header .verdict")
    assert verdict.locator("p strong").inner_text() == f"joint {JOINT}"
    assert "axis is reversed" in verdict.inner_text()
    for text in ("reference, mujoco and pybullet agree", "physics:localRot0", "10\u00a0µm"):
        assert text in verdict.inner_text()
    assert verdict.evaluate("box => box.getBoundingClientRect().bottom") < 500
    first = page.locator("main section").first
    assert JOINT in first.locator("p").first.inner_text()
    assert "axis is reversed" in first.inner_text()
    # The only one.
    assert "panda_link4" in page.locator(".tree li.first").inner_text()
    assert page.locator("#configurations svg circle").count() > 100


@pytest.fixture
def viewer(page: Page, broken: Path) -> Page:
    """Return the page of the robot with one reversed axis, with its view in 3D."""
    page.goto(broken.as_uri())
    page.wait_for_selector("#viewer[data-ready]")
    return page


def test_sliders_move_both_models(viewer: Page) -> None:
    def hand(side: str) -> list[float]:
        script = f"Array.from(robotView.models.{side}.links.get('panda_hand').matrix.elements)"
        return list(viewer.evaluate(script))

    before = hand("urdf"), hand("usd")
    slider = viewer.locator("#viewer .joints label", has_text=JOINT).locator("input")
    slider.evaluate("input => { input.value = -1; input.dispatchEvent(new Event('input')) }")
    after = hand("urdf"), hand("usd")
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert max(abs(a - b) for a, b in zip(*after, strict=True)) > 0.1


def test_links_are_selected_in_view_and_tree(viewer: Page) -> None:
    viewer.select_option("#viewer select[data-configuration]", label="zero")
    canvas = viewer.locator("#viewer canvas")
    canvas.scroll_into_view_if_needed()
    place = viewer.evaluate(
        "(() => { const { clientWidth: w, clientHeight: h } ="
        " robotView.renderer.domElement; for (let y = 0; y < h; y += 8)"
        " for (let x = 0; x < w; x += 8) { const link = robotView.linkAt(x, y);"
        " if (link) return { x, y, link }; } })()"
    )
    canvas.click(position={"x": place["x"], "y": place["y"]})
    pressed = viewer.locator(".tree button[aria-pressed=true]")
    assert pressed.get_attribute("data-link") == place["link"]
    assert place["link"] in viewer.locator("[data-selected]").inner_text()
    viewer.keyboard.press("Escape")
    assert pressed.count() == 0
    viewer.click(".tree button[data-link=panda_hand]")
    assert viewer.evaluate("robotView.selected") == "panda_hand"


def test_keys_and_overlays_change_the_view(viewer: Page) -> None:
    viewer.focus("#viewer canvas")
    state = (
        "JSON.stringify([robotView.camera.position, robotView.overlays,"
        " document.querySelector('select[data-configuration]').value,"
        " document.fullscreenElement?.id])"
    )
    before = viewer.evaluate(state)
    viewer.keyboard.press("Control+g")
    assert viewer.evaluate(state) == before
    viewer.locator("details:has(.keys)").evaluate("list => list.open = true")
    names = {"←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown"}
    listed = viewer.locator("kbd").all_inner_texts()
    assert len(listed) == 16
    for key in listed:
        if key != "Esc":
            viewer.keyboard.press({**names, "\u2212": "-"}.get(key, key))
            _until(viewer, f"{state} !== {json.dumps(before)}")
            before = viewer.evaluate(state)
    stage = viewer.locator("#viewer .stage")
    picture = stage.screenshot()
    for name in ("collision", "frames", "axes", "centers", "ellipsoids", "ground"):
        viewer.click(f"[data-overlay={name}]")
        assert stage.screenshot() != picture
        picture = stage.screenshot()


def test_markup_in_names_is_text(page: Page, tmp_path: Path) -> None:
    finding = Difference(subject=_HOSTILE, message=_HOSTILE, assigned=Grade.FAILS)
    checks = (samples.position(Grade.FAILS, 1.0, _HOSTILE, (finding,)),)
    robot = samples.robot(Verdict.FAILS, name=_HOSTILE, checks=checks)
    robot = structs.replace(robot, id="hostile", reason=_HOSTILE)
    page.goto(write_site(samples.figures((robot,)), tmp_path).as_uri())
    assert _titles(page)[0].startswith("</script><img src=x")
    assert "\\u202e" in _titles(page)[0]
    page.locator("#distributions").scroll_into_view_if_needed()
    page.locator("#distributions svg").first.wait_for()
    page.goto((tmp_path / "robots" / "hostile.html").as_uri())
    assert page.locator("h1").inner_text().startswith("</script><img")
    assert not page.locator("img").count()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("which", ["small", "broken"])
def test_pages_are_accessible(
    page: Page, request: pytest.FixtureRequest, which: str, width: int, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python")
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(request.getfixturevalue(which).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate((resources.files(axe) / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run()")
    wrong = [
        f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found["violations"]
    ]
    assert wrong == []

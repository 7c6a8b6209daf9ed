"""The pages of a report in a real browser, from disk and without a network."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from tests.reports import samples
from tests.reversed_axis import JOINT, URDF, reverse_axis
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.execution.run import check
from urdf_usd.reports.html.site import render_robot, write_site
from urdf_usd.reports.records.record import (
    CheckRecord,
    Difference,
    Grade,
    RobotRecord,
    Verdict,
)

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
_LARGEST_PAGE = 5_000_000


@dataclass
class Visit:
    """An open page, with its errors and requests."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def open(self, path: Path, fragment: str = "") -> Page:
        """Open a file and wait until its scripts are done."""
        self.page.goto(path.as_uri() + fragment)
        return self.page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """A new page that must neither log errors nor request external resources."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    found = Visit(context.new_page())

    def logged(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and "GPU stall" not in message.text:
            found.faults.append(message.text)

    def requested(request: Request) -> None:
        if not request.url.startswith(("file://", "data:", "blob:")):
            found.faults.append(f"requests {request.url}")

    found.page.on("console", logged)
    found.page.on("pageerror", lambda error: found.faults.append(str(error)))
    found.page.on("request", requested)
    yield found
    context.close()
    assert found.faults == []


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a run with every verdict once."""
    robots = samples.corpus()
    return write_site(samples.figures(robots), tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a run of 1,200 robots and some 60 checks."""
    robots = tuple(_robot(number) for number in range(1_200))
    return write_site(samples.figures(robots), tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a robot with one reversed axis."""
    folder = tmp_path_factory.mktemp("broken")
    scene = folder / "scene.gz"
    record = check(URDF, reverse_axis(folder / "asset"), scene=scene)
    page = folder / "panda.html"
    page.write_text(render_robot(record, scene.read_bytes()), encoding="utf-8")
    return page


def _robot(number: int) -> RobotRecord:
    fails = number % 7 == 3
    grades = itertools.cycle([Grade.EXACT, Grade.EXACT, Grade.CLOSE])
    checks = [_check(column, number, next(grades)) for column in range(60)]
    if fails:
        checks[5] = structs.replace(checks[5], grade=Grade.FAILS, worst=0.01)
    robot = samples.robot(
        Verdict.FAILS if fails else Verdict.CLOSE,
        name=f"Robot {number:04d}",
        checks=tuple(checks),
    )
    source = structs.replace(
        robot.source,
        reference=f"{('rd', 'erd', 'dir')[number % 3]}:robot_{number}",
        maker=("", "Acme", "Umbrella")[number % 3],
    )
    return structs.replace(robot, source=source)


def _check(column: int, number: int, grade: Grade) -> CheckRecord:
    worst = 10.0 ** -(6 + (column * 13 + number * 7) % 9)
    return structs.replace(
        samples.position(grade, worst),
        id=f"kinematics.quantity_{column}",
        title=f"quantity {column} of the robot",
        group=f"group {column // 12}",
    )


def _titles(page: Page) -> list[str]:
    return page.locator("#explorer tbody th[scope=row] .where").all_inner_texts()


def _until(page: Page, condition: str) -> None:
    """Wait for a condition; the security policy forbids playwright's own way."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never: {condition}")


def _shown(page: Page) -> str:
    return page.locator("#filter-shown").inner_text()


def test_all_robots_are_shown_initially(visit: Visit, small: Path) -> None:
    page = visit.open(small)
    assert _shown(page) == "8 of 8 robots shown"
    assert _titles(page)[0] == "Shifted"
    assert not page.locator("table#matrix").count()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("verdict", "fails", {"Shifted"}),
        ("verdict", "nonconforming", {"Shifted", "Fatal", "Ambiguous", "Quiet"}),
        ("grade", "disputed", {"Ambiguous"}),
        ("check", "limits.upper", {"Alpha"}),
        ("rule", "xml-syntax", {"Broken"}),
        ("status", "crashed", {"Fatal"}),
    ],
)
def test_filters_select_robots(
    visit: Visit, small: Path, name: str, value: str, expected: set[str]
) -> None:
    page = visit.open(small)
    page.locator("#explorer details").evaluate("more => more.open = true")
    page.select_option(f"#filter-{name}", value)
    _until(page, f"location.hash.includes({json.dumps(f'{name}=')})")
    shown = set(_titles(page))
    assert expected <= shown
    if name != "verdict" or value == "fails":
        assert shown == expected


def test_filters_without_choices_are_hidden(visit: Visit, small: Path, large: Path) -> None:
    corpus = visit.page.locator("label[for=filter-corpus]")
    maker = visit.page.locator("label[for=filter-maker]")
    for path, offered in ((small, False), (large, True)):
        visit.open(path).locator("#explorer details").evaluate("more => more.open = true")
        assert corpus.is_visible() is offered
        assert maker.is_visible() is offered


def test_search_finds_words_of_names_and_reasons(visit: Visit, small: Path) -> None:
    page = visit.open(small)
    page.fill("#filter-text", "WRIST shifted")
    _until(page, "location.hash.includes('text=')")
    assert _titles(page) == ["Shifted"]
    page.click("button[type=reset]")
    _until(page, "!location.hash")
    assert _shown(page) == "8 of 8 robots shown"


def test_url_restores_the_selection(visit: Visit, small: Path) -> None:
    page = visit.open(small, "#robots?verdict=close&columns=groups")
    assert _titles(page) == ["Alpha"]
    assert page.input_value("#filter-verdict") == "close"
    assert page.locator("#explorer thead th.slanted").count() == 4
    page.evaluate("location.hash = '#robots?text=zeta&sort=-robot'")
    _until(page, "document.querySelector('#filter-text').value === 'zeta'")
    assert _titles(page) == ["Zeta"]
    descending = page.locator("th[aria-sort=descending]")
    assert descending.inner_text().strip() == "Robot"


def test_headings_sort_by_keyboard(visit: Visit, small: Path) -> None:
    page = visit.open(small)
    page.focus("#explorer [data-column='robot']")
    page.keyboard.press("Enter")
    names = _titles(page)
    assert names == sorted(names)
    page.keyboard.press("Enter")
    assert _titles(page) == sorted(names, reverse=True)
    focused = page.evaluate("document.activeElement.dataset.column")
    assert focused == "robot"


def test_only_visible_rows_of_1200_robots_are_in_the_document(visit: Visit, large: Path) -> None:
    assert large.stat().st_size < _LARGEST_PAGE
    page = visit.open(large)
    assert _shown(page) == "1200 of 1200 robots shown"
    assert len(_titles(page)) < 100
    region = page.locator("#explorer [role=region]")
    region.evaluate("region => region.scrollTop = region.scrollHeight")
    _until(
        page,
        "[...document.querySelectorAll('#explorer tbody tr')]"
        ".some(row => row.ariaRowIndex === '1202')",
    )
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(_titles(page)) == 1_200
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 794, "height": 1123})
    wide = "document.querySelector('.checks').getBoundingClientRect().width"
    assert page.evaluate(wide) <= 794
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"


def test_plots_show_the_selected_robots(visit: Visit, large: Path) -> None:
    page = visit.open(large, "#robots?corpus=dir")
    page.locator("#distributions").scroll_into_view_if_needed()
    figure = page.locator("#distributions figure").nth(5)
    figure.scroll_into_view_if_needed()
    figure.locator("svg").wait_for()
    label = figure.locator("svg").first.get_attribute("aria-label") or ""
    assert "of 400 robots" in label
    assert "tolerance 10\u00a0µm" in label
    assert figure.locator("a").count() == 57


def test_page_names_the_joint_at_fault(visit: Visit, broken: Path) -> None:
    page = visit.open(broken)
    verdict = page.locator("header .verdict")
    assert verdict.locator("p strong").inner_text() == f"joint {JOINT}"
    assert "axis is reversed" in verdict.inner_text()
    for text in (
        "reference, mujoco and pybullet agree",
        "physics:localRot0",
        "10\u00a0µm",
    ):
        assert text in verdict.inner_text()
    assert verdict.evaluate("box => box.getBoundingClientRect().bottom") < 450
    first = page.locator("main section").first
    assert JOINT in first.locator("p").first.inner_text()
    assert "axis is reversed" in first.inner_text()
    begins = page.locator(".tree li.first")
    assert begins.count() == 1
    assert "panda_link4" in begins.inner_text()
    assert page.locator("#configurations svg circle").count() > 100


def test_sliders_move_both_models(visit: Visit, broken: Path) -> None:
    page = visit.open(broken)
    page.wait_for_selector("#viewer[data-ready]")

    def place(side: str) -> list[float]:
        script = f"Array.from(robotView.models.{side}.links.get('panda_hand').matrix.elements)"
        found: list[float] = page.evaluate(script)
        return found

    before = place("urdf"), place("usd")
    slider = page.locator("#viewer .joints label", has_text=JOINT).locator("input")
    slider.evaluate("input => { input.value = -1; input.dispatchEvent(new Event('input')) }")
    after = place("urdf"), place("usd")
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert max(abs(a - b) for a, b in zip(*after, strict=True)) > 0.1
    page.click(".tree button[data-link='panda_hand']")
    pressed = page.locator(".tree button[aria-pressed=true]")
    assert "panda_hand" in pressed.inner_text()


def _wrong(page: Page) -> set[str]:
    found: list[str] = page.evaluate("[...robotView.wrong]")
    return set(found)


def test_fault_opens_the_view_at_its_worst_pose(visit: Visit, broken: Path) -> None:
    page = visit.open(broken)
    page.wait_for_selector("#viewer[data-ready]")
    button = page.locator("header button[data-show]").first
    shown = page.locator("[data-configuration] option:checked").first.inner_text()
    assert shown == button.get_attribute("data-configuration")
    failing = page.locator(".tree li.fails [data-link]")
    assert (
        _wrong(page)
        == {one.get_attribute("data-link") for one in failing.all()}
        >= {"panda_link4", "panda_hand"}
    )
    assert "position 1.2\u00a0m" in page.locator("[data-difference]").inner_text()
    assert not page.evaluate("location.hash")


def test_findings_are_shown_in_the_view(visit: Visit, broken: Path) -> None:
    page = visit.open(broken, "#view?q=0.5%2C0%2Cpanda_joint1")
    page.wait_for_selector("#viewer[data-ready]")
    assert _wrong(page) == set()
    page.click("main button[data-show]")
    assert "panda_link4" in _wrong(page)
    assert page.evaluate("location.hash").count("q=") > 5
    assert page.locator("[data-prim]").first.inner_text().endswith(JOINT)


def test_links_are_selected_in_view_and_tree(visit: Visit, broken: Path) -> None:
    page = visit.open(broken)
    page.wait_for_selector("#viewer[data-ready]")
    page.select_option("#viewer select[data-configuration]", label="zero")
    canvas = page.locator("#viewer canvas")
    canvas.scroll_into_view_if_needed()
    place = page.evaluate(
        "(() => { const { clientWidth: w, clientHeight: h } ="
        " robotView.renderer.domElement; for (let y = 0; y < h; y += 8)"
        " for (let x = 0; x < w; x += 8) { const link = robotView.linkAt(x, y);"
        " if (link) return { x, y, link }; } })()"
    )
    canvas.click(position={"x": place["x"], "y": place["y"]})
    pressed = page.locator(".tree button[aria-pressed=true]")
    assert pressed.get_attribute("data-link") == place["link"]
    assert place["link"] in page.locator("[data-selected]").inner_text()
    page.keyboard.press("Escape")
    assert pressed.count() == 0
    page.click(".tree button[data-link=panda_hand]")
    assert page.evaluate("robotView.selected") == "panda_hand"


def test_keys_move_the_view(visit: Visit, broken: Path) -> None:
    page = visit.open(broken)
    page.wait_for_selector("#viewer[data-ready]")
    page.focus("#viewer canvas")
    state = (
        "JSON.stringify([robotView.camera.position, robotView.overlays,"
        " document.querySelector('select[data-configuration]').value,"
        " document.fullscreenElement?.id])"
    )
    before = page.evaluate(state)
    page.keyboard.press("Control+g")
    assert page.evaluate(state) == before
    page.locator("details:has(.keys)").evaluate("list => list.open = true")
    names = {"←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown"}
    listed = page.locator("kbd").all_inner_texts()
    assert len(listed) == 16
    for key in listed:
        if key == "Esc":
            continue
        page.keyboard.press({**names, "\u2212": "-"}.get(key, key))
        _until(page, f"{state} !== {json.dumps(before)}")
        before = page.evaluate(state)


def test_tiles_filter_the_list(visit: Visit, small: Path) -> None:
    page = visit.open(small)
    page.click(".counts a[href='#robots?verdict=fails']")
    _until(page, "document.querySelector('#filter-verdict').value === 'fails'")
    assert _titles(page) == ["Shifted"]


def test_reason_is_visible_without_scrolling(visit: Visit, small: Path) -> None:
    page = visit.page
    page.set_viewport_size({"width": 1440, "height": 900})
    visit.open(small)
    reason = page.locator("#explorer td.reason").first
    region = page.locator("#explorer [role=region]")
    right = "box => box.getBoundingClientRect().right"
    assert reason.inner_text() == "link wrist: position differs by 3.1 mm"
    assert reason.evaluate(right) <= region.evaluate(right)
    page.set_viewport_size({"width": 390, "height": 900})
    page.reload()
    where = page.locator("#explorer tbody th a").first
    assert where.is_visible()
    assert where.inner_text() == "pybullet:Shifted.urdf"
    assert where.evaluate(right) <= region.evaluate(right)


def test_checks_that_fail_come_before_groups(visit: Visit, small: Path) -> None:
    page = visit.page
    page.set_viewport_size({"width": 1440, "height": 900})
    visit.open(small)
    headings = page.locator("#explorer thead .slanted").all_inner_texts()
    page.locator("#filter-columns").select_option("groups")
    _until(page, "location.hash.includes('columns=groups')")
    groups = page.locator("#explorer thead .slanted").all_inner_texts()

    assert headings[-len(groups) :] == groups
    assert headings[0] == "link position"
    assert len(headings) < 2 * len(groups)


@pytest.mark.parametrize("width", [390, 1440])
def test_headings_leave_room_for_robots(visit: Visit, tmp_path: Path, width: int) -> None:
    robot = samples.robot(
        Verdict.EXACT,
        checks=tuple(
            structs.replace(
                samples.position(Grade.EXACT, 0.0),
                id=one.id,
                title=one.title,
                group=one.group,
            )
            for one in CHECKS
        ),
    )
    page = visit.page
    page.set_viewport_size({"width": width, "height": 900})
    visit.open(
        write_site(samples.figures((robot,)), tmp_path),
        "#robots?columns=all",
    )
    head = page.locator("#explorer thead")
    assert head.evaluate("one => one.getBoundingClientRect().height") <= 160
    hidden = page.locator("#explorer .slanted span").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1"
        " || one.scrollHeight > one.clientHeight + 1).map(one => one.textContent)"
    )
    assert hidden == []
    columns = page.locator("#explorer thead .slanted").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect())"
    )
    region = page.locator("#explorer [role=region]").bounding_box()
    assert region is not None
    right = region["x"] + region["width"]
    assert sum(one["right"] <= right for one in columns) >= 4
    page.locator("#filter-columns").select_option("groups")
    _until(page, f"document.querySelectorAll('.slanted').length < {len(CHECKS)}")
    assert head.evaluate("one => one.getBoundingClientRect().height") <= 96


def test_small_differences_have_si_prefixes(visit: Visit, broken: Path) -> None:
    page = visit.open(broken)
    page.wait_for_selector("#viewer[data-ready]")
    page.select_option("#viewer select[data-configuration]", label="zero")
    text = page.locator("[data-difference]").inner_text()
    assert re.search(r"position [\d.]+\u00a0nm at panda_\w+, rotation [\d.]+\u00a0", text)


def test_every_overlay_changes_the_drawing(visit: Visit, broken: Path) -> None:
    page = visit.open(broken)
    page.wait_for_selector("#viewer[data-ready]")
    stage = page.locator("#viewer .stage")
    before = stage.screenshot()
    for name in ("collision", "frames", "axes", "centers", "ellipsoids", "ground"):
        page.click(f"[data-overlay={name}]")
        after = stage.screenshot()
        assert after != before
        before = after


def test_command_can_be_copied(visit: Visit, small: Path) -> None:
    page = visit.open(small.parent / "robots" / "zeta.html")
    page.click("button[data-copy]")
    _until(page, "document.querySelector('button[data-copy]').textContent !== 'Copy'")


def test_markup_in_names_is_text(visit: Visit, tmp_path: Path) -> None:
    finding = Difference(subject=_HOSTILE, message=_HOSTILE, assigned=Grade.FAILS)
    robot = samples.robot(
        Verdict.FAILS,
        name=_HOSTILE,
        id="hostile",
        reason=_HOSTILE,
        checks=(samples.position(Grade.FAILS, 1.0, _HOSTILE, (finding,)),),
    )
    page = visit.open(write_site(samples.figures((robot,)), tmp_path))
    assert _titles(page)[0].startswith("</script><img src=x")
    assert "\\u202e" in _titles(page)[0]
    page.locator("#distributions").scroll_into_view_if_needed()
    page.locator("#distributions svg").first.wait_for()
    visit.open(tmp_path / "robots" / "hostile.html")
    assert page.locator("h1").inner_text().startswith("</script><img")
    assert not page.locator("img").count()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 1400


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("which", ["small", "broken"])
def test_pages_are_accessible(
    visit: Visit, request: pytest.FixtureRequest, which: str, width: int, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python")
    page = visit.page
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    visit.open(request.getfixturevalue(which))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate((resources.files(axe) / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run()")
    wrong = [
        f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found["violations"]
    ]
    assert wrong == []

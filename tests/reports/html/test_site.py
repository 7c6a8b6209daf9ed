"""Tests of the pages, by their visible content."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import html
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.appearance import appearance
from urdf_usd.reports.html.rendering import run_command
from urdf_usd.reports.html.site import render_robot, write_site
from urdf_usd.reports.records.record import (
    AssetRecord,
    BaselineRecord,
    ConverterRecord,
    CoverageStatus,
    DescriptionRecord,
    DeviationRecord,
    Difference,
    FileRecord,
    Grade,
    KnownFailureRecord,
    LedgerRecord,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.records.scene import Scene, pack_scene, scene_path

_HOSTILE = "<script>alert(1)</script>"
_TURNED = "left\u202egnorw"
_LONG = "wrist_" * 1_700
_SCRIPT = "../scripts/pages.js"


def _text(element: html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def _one(page: html.HtmlElement, path: str) -> html.HtmlElement:
    (found,) = page.xpath(path)
    assert isinstance(found, html.HtmlElement)
    return found


def _index(robots: tuple[RobotRecord, ...], folder: Path) -> html.HtmlElement:
    path = write_site(samples.summary(robots), robots, folder)
    return html.fromstring(path.read_text("utf-8"))


def _rows(page: html.HtmlElement, table: str) -> list[list[str]]:
    rows = page.xpath(f"//table[@id='{table}']/tbody/tr")
    return [[_text(cell) for cell in row] for row in rows]


def _page(robot: RobotRecord) -> html.HtmlElement:
    return html.fromstring(render_robot(robot))


def _named(name: str) -> RobotRecord:
    return next(robot for robot in samples.corpus() if robot.name == name)


def test_index_headline_counts_conforming_robots(tmp_path: Path) -> None:
    """Two of the eight do."""
    page = _index(samples.corpus(), tmp_path)
    title = _text(_one(page, "//h1"))
    values = sum(robot.compared for robot in samples.corpus())
    assert title == (
        "2 of 6 robots conform, 1 more is unreadable, 1 more is not available; "
        f"{values:,} values compared"
    )
    counts = [_text(item) for item in page.xpath("//ul[@class='counts']/li")]
    assert counts[:4] == [
        "1 ✓ exact conforms",
        "1 ≈ close conforms",
        "1 ✗ fails",
        "1 ? disputed",
    ]


def test_matrix_shows_grades_reason_and_position_error(tmp_path: Path) -> None:
    """The row of the robot that fails is the first."""
    page = _index(samples.corpus(), tmp_path)
    header = [_text(th) for th in page.xpath("//table[@id='matrix']/thead//th")]
    assert header[2:6] == ["structure", "kinematics", "mass", "limits"]
    assert _rows(page, "matrix")[0] == [
        "pybullet:Shifted.urdf Shifted",
        "✗ fails",
        "✓ exact",
        "✗ fails",
        "✓ exact, 1 of its checks not comparable",
        "",
        "3.1 mm",
        "link wrist: position differs by 3.1 mm",
    ]


def test_largest_differences_name_robot_place_and_exact_value(tmp_path: Path) -> None:
    """The title of the rounded value has all digits."""
    page = _index(samples.corpus(), tmp_path)
    rows = {row[0]: row for row in _rows(page, "worst")}
    assert rows["link position"][2:] == [
        "3.1 mm",
        "0.21 µm",
        "10 µm",
        "pybullet:Shifted.urdf",
        "link wrist",
    ]
    amount = _one(page, "//table[@id='worst']//data[@value='0.0031']")
    assert amount.get("title", "").split() == ["0.0031", "m"]


def test_engines_are_counted_with_percentage_and_reason(tmp_path: Path) -> None:
    """One of the six readable robots crashed the USD engine."""
    page = _index(samples.corpus(), tmp_path)
    rows = {row[0]: row[1:] for row in _rows(page, "participation")}
    assert rows["openusd"] == [
        "USD",
        "26.11",
        "5 (83 %)",
        "0",
        "1",
        "0",
        "1 \N{MULTIPLICATION SIGN} signal 11",
    ]
    assert rows["pybullet"][2:4] == ["0 (0 %)", "6"]


def test_engine_deviations_are_collected(tmp_path: Path) -> None:
    """Engine, cause, and the number of robots."""
    (row,) = _rows(_index(samples.corpus(), tmp_path), "engine-deviations")
    assert row[0] == "pybullet"
    assert "gives a link without inertial a mass of 1 kg" in row[1]
    assert row[3] == "2"


def test_environment_and_command_are_shown(tmp_path: Path) -> None:
    """With them the run can be repeated."""
    page = _index(samples.corpus(), tmp_path)
    assert ["mujoco", "4.0.0"] in _rows(page, "versions")
    assert ["bodies", "nested"] in _rows(page, "options")
    command = "urdf-usd run pybullet --bodies nested --base auto --out report"
    assert command in _text(page)
    page = html.fromstring((tmp_path / "robots" / "zeta.html").read_text("utf-8"))
    assert command.replace("pybullet", "pybullet:Zeta.urdf") in _text(page)


@pytest.mark.parametrize(
    ("recipe", "named"),
    [
        ("python x.py {urdf} {out}", "'mine=python x.py {urdf} {out}'"),
        ("package.module:convert", "mine"),
    ],
)
def test_command_names_other_converters(recipe: str, named: str) -> None:
    """As the option reads them; our own needs no option."""

    def command(name: str, recipe: str) -> str:
        converter = ConverterRecord(name=name, title=name, recipe=recipe, gated=True, verdicts={})
        summary = structs.replace(samples.summary(()), converters=(converter,))
        return run_command(summary, "erd")

    assert f" --converter {named} --out report" in command("mine", recipe)
    assert "--converter" not in command("urdf-usd", "urdf-usd")


def test_tiles_link_to_the_robots_of_their_verdict(tmp_path: Path) -> None:
    """If there are any; together they are all robots."""
    page = _index((samples.robot(), samples.robot(name="B")), tmp_path)
    (link,) = page.xpath("//ul[@class='counts']/li/a")
    assert link.get("href") == "#robots?verdict=exact"
    assert _text(link) == "2 ✓ exact"
    page = _index(samples.corpus(), tmp_path)
    tiles = page.xpath("//ul[@class='counts']/li/a/strong/text()")
    assert sum(map(int, tiles)) == len(samples.corpus())


def test_pages_name_source_converter_and_engines(tmp_path: Path) -> None:
    """At the top; with the name of the converter in the run."""
    digest = "c0ffee" * 10
    robot = samples.robot()
    robot = structs.replace(
        robot,
        candidate="mine",
        asset=AssetRecord(root_layer="arm.usda", files=1, size=2),
        source=structs.replace(
            robot.source,
            reference="rd:arm_description",
            files=(FileRecord(path="urdf/arm.urdf", sha256=digest, size=3),),
        ),
    )
    top = _text(_one(_page(robot), "//header/p[2]"))
    assert top.startswith(
        "rd:arm_description (urdf/arm.urdf) as arm.usda; converter: mine (urdf-usd); "
        "engines: reference"
    )
    assert "mujoco 4.0.0" in top
    index = _text(_one(_index((robot,), tmp_path), "//header/p[2]"))
    assert "Converter: mine (urdf-usd)." in index
    assert "mujoco 4.0.0" in index


def test_independent_faults_are_counted_and_located() -> None:
    """With their prims; checks that follow from them are not counted."""
    axis = Difference(
        subject="joint elbow",
        message="joint elbow: axis is reversed",
        assigned=Grade.FAILS,
        configuration="upper",
        prim="/arm/Physics/elbow",
    )
    heavy = Difference(
        subject="link hand",
        message="link hand: mass is 4 kg, not 0.1 kg",
        assigned=Grade.FAILS,
        prim="/arm/hand",
    )
    frames = samples.position(Grade.FAILS, 1.0, "link hand", (axis,))
    masses = structs.replace(
        samples.mass(), id="mass.link.mass", grade=Grade.FAILS, findings=(heavy,)
    )
    total = structs.replace(masses, id="mass.total", findings=())
    page = _page(samples.robot(Verdict.FAILS, checks=(frames, masses, total)))
    box = _text(_one(page, "//div[@class='verdict fails'][1]"))
    assert box.startswith("✗ fails: 2 independent faults")
    assert "Prim /arm/Physics/elbow" in box
    assert "link hand: mass is 4 kg, not 0.1 kg /arm/hand" in box
    assert "2 more checks fail, probably from the same faults" in box


def test_robot_page_has_a_table_of_contents() -> None:
    """Of the sections that it has."""
    page = _page(_named("Shifted"))
    links = page.xpath("//nav[@class='contents small']/a/@href")
    headings = page.xpath("//main//h2/@id")
    assert links == [f"#{name}" for name in headings]


def test_every_link_has_a_target(tmp_path: Path) -> None:
    """Also if an id needs quoting in a URL."""
    robots = (*samples.corpus(), samples.robot(name="50% #1", id="50% #1?"))
    page = _index(robots, tmp_path)
    for path in tmp_path.rglob("*.html"):
        page = html.fromstring(path.read_text("utf-8"))
        page.make_links_absolute(path.as_uri())
        ids = set(page.xpath("//@id"))
        for _, _, link, _ in page.iterlinks():
            if link.startswith("data:"):
                continue
            target, _, fragment = link.partition("#")
            there = set(html.parse(target).xpath("//@id")) if target else ids
            # Scripts read a selection behind the name.
            assert not fragment or fragment.partition("?")[0] in there


@pytest.mark.parametrize("identity", ["", ".", "..", "../evil", "a\\b", "a\0b"])
def test_id_that_is_not_a_file_name_is_refused(identity: str, tmp_path: Path) -> None:
    """A record cannot write outside the folder."""
    robot = samples.robot(id=identity)
    with pytest.raises(ValueError, match="not a file name"):
        write_site(samples.summary((robot,)), (robot,), tmp_path / "site")


def test_robot_page_starts_with_findings() -> None:
    """Subject, expected, actual, difference and tolerance."""
    page = _page(_named("Shifted"))
    assert _text(_one(page, "//h1")) == "Shifted"
    assert _text(page.xpath("//main//h2")[0]) == "Findings"
    (row,) = _rows(page, "finding-fails-kinematics-position")
    assert row[0] == "✗ fails"
    assert row[1].startswith("link wrist The wrist is 3.1 mm away")
    assert row[1].endswith("(configuration: sample 4)")
    assert row[2:] == [
        "(0.1, -0.2, 0.3)",
        "(0.1, -0.2, 0.3031)",
        "3.1 mm",
        "10 µm",
        "0.21 µm",
    ]


@pytest.mark.parametrize("profile", ["physx", None])
def test_robot_page_shows_the_profile_of_our_usd(profile: str | None) -> None:
    """USDs of other converters have none."""
    (robot, *_) = samples.corpus()
    page = _page(structs.replace(robot, profile=profile))
    named = page.xpath("//dt[text()='Profile']/following-sibling::dd")

    assert [_text(name) for name in named] == ([profile] if profile else [])


def test_finding_names_its_subject_once() -> None:
    """Without values, the table has no columns for them."""
    finding = Difference(
        subject="joint elbow", message="joint elbow: is missing", assigned=Grade.FAILS
    )
    check = samples.joint_types(Grade.FAILS, (finding,))
    page = _page(samples.robot(Verdict.FAILS, checks=(check,)))
    table = "finding-fails-structure-joint_types"
    assert _rows(page, table) == [["✗ fails", "joint elbow is missing"]]
    assert len(page.xpath(f"//table[@id='{table}']/thead//th")) == 2


def test_robot_page_shows_each_engine_per_quantity() -> None:
    """Largest difference and its subject, or why nothing was compared."""
    page = _page(_named("Shifted"))
    header = [_text(th) for th in page.xpath("//table[@id='check-table']/thead/tr[2]/th")]
    rows = {
        row[0].split(" the ")[0]: dict(zip(header, row, strict=True))
        for row in _rows(page, "check-table")
        if len(row) > 1
    }
    assert rows["link position"]["mujoco"] == "3.4 mm link wrist"
    assert rows["link position"]["pybullet"].endswith("loses the axis of planar joints")
    assert rows["link mass"]["mujoco"] == "0"
    assert rows["link mass"]["pybullet"] == "50 % link camera engine deviation"
    assert rows["joint types"]["reference"] == "equal"
    assert rows["link inertia"]["pybullet"] == ""


def test_robot_page_separates_engines_by_the_file_that_they_read() -> None:
    """Simulators come after the engines of the URDF, whatever their names."""
    page = _page(samples.robot(checks=(samples.simulated(),)))
    first, second = page.xpath("//table[@id='check-table']/thead/tr")
    sides = [(_text(cell), cell.get("colspan")) for cell in first.xpath("th")]

    assert sides == [("URDF read by", "2"), ("USD read by", "2")]
    assert [_text(cell) for cell in second][5:] == [
        "reference",
        "mujoco",
        "openusd",
        "newton-usd",
    ]


def test_run_page_counts_robots_per_quantity_and_engine(tmp_path: Path) -> None:
    """A known deviation is counted apart; a dash stands for what is not reported."""
    deviation = DeviationRecord(
        engine="newton-usd",
        id="newton-usd-far-range",
        cause="Newton uses 1e10 for no limit",
        check="limits.upper",
        subjects=("joint elbow",),
    )
    robots = (
        samples.robot(id="a", checks=(samples.simulated(unequal=1),)),
        samples.robot(id="b", checks=(samples.simulated(unequal=1),), deviations=(deviation,)),
        samples.robot(id="c", checks=(samples.simulated(),)),
    )
    page = _index(robots, tmp_path)

    assert _rows(page, "engine-matrix") == [
        ["upper limit", "3", "\N{EN DASH}", "3", "1 1 deviate 1 differ"]
    ]


def test_authored_and_computed_values_are_shown_per_link() -> None:
    """With the difference, in the unit of the check."""
    values = tuple(
        Difference(
            subject=f"link {name}",
            message=f"link {name}: takes moments below 1e-5 for unauthored",
            expected="(1e-06, 2e-06, 3e-06) kg m^2",
            actual="(4e-05, 4e-05, 4e-05) kg m^2",
            amount=size,
        )
        for name, size in (("toe", 13.0), ("heel", math.inf))
    )
    deviation = DeviationRecord(
        engine="openusd",
        id="openusd-inertia",
        cause="OpenUSD takes moments below 1e-5 for unauthored",
        check="mass.link",
        subjects=("link toe", "link heel"),
        largest=13.0,
        values=values,
    )
    page = _page(samples.robot(deviations=(deviation,)))
    (row,) = _rows(page, "deviation-table")

    assert row[3] == "1,300 %"
    assert row[4].startswith("link toe, link heel")
    assert "link toe: authored (1e-06, 2e-06, 3e-06) kg m^2" in row[4]
    assert "computed (4e-05, 4e-05, 4e-05) kg m^2 (1,300 %)" in row[4]


def test_page_of_a_conforming_robot_lists_close_values() -> None:
    """Text values such as inf are shown unchanged."""
    page = _page(_named("Alpha"))
    assert "None: every value that could be compared" in _text(page)
    (row,) = _rows(page, "finding-close-limits-upper")
    assert row[2:4] == ["inf", "2.8973"]


def test_diagnostics_show_place_and_source_line() -> None:
    """File, line and column, as compilers do."""
    (row,) = _rows(_page(_named("Alpha")), "diagnostic-table")
    message = "joint 'elbow' is revolute and has no <limit>"
    line = '<joint name="elbow" type="revolute">'
    assert row == [
        "warning",
        "arm.urdf:41:5",
        f"{message}{line}",
        "joint-limit-missing",
    ]


def test_unreadable_robot_shows_its_diagnostics() -> None:
    """It has no checks."""
    page = _page(_named("Broken"))
    assert "broken.urdf:12:3" in _text(page)
    assert not page.xpath("//table[@id='check-table']")


def test_crashed_engine_shows_its_output() -> None:
    """The last lines of it."""
    assert "Segmentation fault" in _text(_page(_named("Fatal")))


def test_single_page_has_no_link_to_an_index(tmp_path: Path) -> None:
    """Pages of a run have one."""
    robot = _named("Zeta")
    assert not _page(robot).xpath("//a[contains(@href, 'index.html')]")
    write_site(samples.summary((robot,)), (robot,), tmp_path)
    page = html.fromstring((tmp_path / "robots" / "zeta.html").read_text("utf-8"))
    assert page.xpath("//a[@href='../index.html']")


def test_long_lists_of_findings_are_cut_and_counted() -> None:
    """The record has them all."""
    findings = tuple(
        Difference(subject=f"link {i}", message="moved", assigned=Grade.FAILS) for i in range(130)
    )
    check = samples.position(Grade.FAILS, findings=findings)
    page = _page(samples.robot(Verdict.FAILS, checks=(check,)))
    assert len(_rows(page, "finding-fails-kinematics-position")) == 100
    assert "30 more are in the JSON record." in _text(page)


@pytest.mark.parametrize("name", [_HOSTILE, _TURNED, _LONG, "a\x00b", "\ud800", "{{ 7*7 }}"])
def test_markup_in_names_is_escaped(name: str, tmp_path: Path) -> None:
    """Wherever a name occurs, on both pages."""
    finding = Difference(
        subject=f"link {name}",
        message=f"{name} moved",
        assigned=Grade.FAILS,
        expected=name,
        actual=name,
    )
    robot = samples.robot(
        Verdict.FAILS,
        name=name,
        id="hostile",
        reason=f"link {name} moved",
        checks=(samples.position(Grade.FAILS, 1.0, name, (finding,)),),
    )
    index = _index((robot,), tmp_path)
    page = html.fromstring((tmp_path / "robots" / "hostile.html").read_text("utf-8"))
    shown = name.replace("\x00", "␀").replace("\ud800", "\ufffd")
    shown = shown.replace("\u202e", "\\u202e")
    assert [script.get("id") for script in index.xpath("//script")] == ["report", None]
    assert [script.get("src") for script in page.xpath("//script")] == [_SCRIPT]
    assert _one(page, "//h1").text_content() == shown
    for where in (index, page):
        holders = [e for e in where.xpath("//bdi") if shown in e.text_content()]
        assert holders
        assert all(("long" in e.classes) == (len(name) > 300) for e in holders)
        # Outside <bdi>, no name could reorder or stretch the page.
        for element in where.xpath("//bdi"):
            element.drop_tree()
        body = _one(where, "//main").text_content().replace("pybullet:", "")
        if name not in {"\ud800", "{{ 7*7 }}"}:
            assert shown not in re.sub(r"urdf-usd run .*", "", body)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_shown_as_sign_word_and_colour(verdict: Verdict, tmp_path: Path) -> None:
    """In the matrix and at the top of its page."""
    robot = samples.robot(verdict)
    chip = _one(
        _index((robot,), tmp_path),
        "//table[@id='matrix']//span[contains(@class,'chip')]",
    )
    look = appearance(verdict)
    assert _text(chip) == f"{look.sign} {verdict}"
    assert look.name in chip.classes
    banner = _one(_page(robot), "//div[contains(@class,'verdict')]")
    assert look.name in banner.classes
    assert _text(banner).startswith(f"{look.sign} {verdict}")


@pytest.mark.parametrize("grade", list(Grade))
def test_every_grade_is_shown_as_sign_word_and_colour(grade: Grade, tmp_path: Path) -> None:
    """The word is for screen readers."""
    robot = samples.robot(checks=(samples.mass(grade),))
    cell = _one(
        _index((robot,), tmp_path),
        "//table[@id='matrix']//td[contains(@class,'grade')]",
    )
    look = appearance(grade)
    assert _text(cell) == f"{look.sign} {grade}"
    assert look.name in cell.classes


def test_pages_are_self_contained_and_accessible(tmp_path: Path) -> None:
    """No URL outside of the folder; tables, headings and controls are labelled."""
    _index(samples.corpus(), tmp_path)
    for path in tmp_path.rglob("*.html"):
        text = path.read_text("utf-8")
        page = html.fromstring(text)
        # Namespaces are no requests; requests are tested in a browser.
        markup = re.sub(r"(<script>).*?</script>", r"\1</script>", text, flags=re.DOTALL)
        assert not re.search(r"https?://|@import|url\(", markup)
        assert page.get("lang") == "en"
        assert page.xpath("//title/text()")
        assert len(page.xpath("//h1")) == 1
        assert len(page.xpath("//main[@id='main']")) == 1
        assert page.xpath("//body/a[@href='#main']")
        for table in page.xpath("//table"):
            assert _text(_one(table, "./caption"))
            assert all(th.get("scope") for th in table.iter("th"))
            region = table.getparent()
            assert region is not None
            assert region.get("tabindex") == "0"
            assert region.get("aria-labelledby") in page.xpath("//@id")
        for control in page.xpath("//input | //select"):
            assert page.xpath(f"//label[@for='{control.get('id')}']")
        ids = page.xpath("//@id")
        assert len(set(ids)) == len(ids)


def test_index_works_without_scripts(tmp_path: Path) -> None:
    """It shows a plain table; filters and plots stay hidden."""
    page = _index(samples.corpus(), tmp_path)
    assert _one(page, "//*[@id='explorer']").get("hidden") is not None
    plots = _one(page, "//*[@id='distributions']/parent::section")
    assert plots.get("hidden") is not None
    assert page.xpath("//noscript//table[@id='matrix']/tbody/tr")
    policy = _one(page, "//meta[@http-equiv='Content-Security-Policy']").get("content")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_output_is_deterministic(tmp_path: Path) -> None:
    """It contains neither time nor host."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        _index(samples.corpus(), folder)
    names = sorted(p.relative_to(first) for p in first.rglob("*.html"))
    assert len(names) == 9
    assert all((first / n).read_bytes() == (second / n).read_bytes() for n in names)


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:40],
        lambda packed: packed[:-4],
        lambda packed: packed[:30] + bytes(20) + packed[50:],
        lambda _: b"",
        lambda _: b"garbage",
        lambda _: gzip.compress(b"{}"),
        lambda _: gzip.compress(b"\xff{"),
    ],
)
def test_damaged_scene_costs_the_3d_view_alone(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """The page of the robot and the report are written without it."""
    robots = samples.corpus()[:2]
    packed = pack_scene(Scene(mark=0.1, models=()))
    damaged, whole = (scene_path(tmp_path, robot.id) for robot in robots)
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(damage(packed))
    whole.write_bytes(packed)

    _index(robots, tmp_path)

    pages = [(tmp_path / "robots" / f"{robot.id}.html").read_text() for robot in robots]
    assert ['id="scene"' in page for page in pages] == [False, True]


def test_empty_run_has_an_index(tmp_path: Path) -> None:
    """A selection may match no robot."""
    page = _index((), tmp_path)
    assert _text(_one(page, "//h1")) == "0 of 0 robots conform; 0 values compared"


def test_index_of_1200_robots_is_small(tmp_path: Path) -> None:
    """It opens from disk on a phone."""
    checks = (
        samples.joint_types(),
        samples.position(),
        samples.mass(),
        samples.limits(),
    )
    robots = tuple(samples.robot(name=f"Robot {i:04d}", checks=checks) for i in range(1_200))
    page = _index(robots, tmp_path)
    assert len(page.xpath("//table[@id='matrix']/tbody/tr")) == 1_200
    assert (tmp_path / "index.html").stat().st_size < 5_000_000


def test_run_is_compared_with_its_baseline(tmp_path: Path) -> None:
    """New, worse, fixed and expected results, each with a link."""

    def known(robot: str, grade: str, expected: str) -> KnownFailureRecord:
        return KnownFailureRecord(
            robot=robot,
            check="kinematics.position",
            grade=grade,
            expected=expected,
            message="link wrist moved",
            reason="an upstream bug" if expected else "",
        )

    baseline = BaselineRecord(
        new=(known("shifted", "fails", ""),),
        worse=(known("alpha", "fails", "close"),),
        fixed=(known("zeta", "", "fails"),),
        expected=(known("ambiguous", "disputed", "disputed"),),
        absent=3,
    )
    robots = samples.corpus()
    summary = structs.replace(samples.summary(robots), baseline=baseline)
    path = write_site(summary, robots, tmp_path)
    page = html.fromstring(path.read_text("utf-8"))
    rows = _rows(page, "baseline-table")

    assert [row[:5] for row in rows] == [
        ["✗ new", "shifted", "kinematics.position", "fails", "\N{EN DASH}"],
        ["✗ worse", "alpha", "kinematics.position", "fails", "close"],
        ["✓ fixed", "zeta", "kinematics.position", "passes", "fails"],
        ["as expected", "ambiguous", "kinematics.position", "disputed", "disputed"],
    ]
    assert "an upstream bug" in rows[1][5]
    links = page.xpath("//table[@id='baseline-table']//a/@href")
    assert links[0] == "robots/shifted.html#check-kinematics.position"


def test_provenance_shows_licence_and_origin() -> None:
    """As far as they are known."""
    robot = _named("Zeta")
    source = structs.replace(robot.source, license="BSD-3-Clause", commit="c0ffee")
    page = _text(_one(_page(structs.replace(robot, source=source)), "//main"))
    assert "LicenceBSD-3-Clause" in page
    assert "Commitc0ffee" in page
    assert "Licencenot stated" in _text(_one(_page(robot), "//main"))


def test_lint_findings_and_coverage_have_tables() -> None:
    """Likely mistakes, and what each element became."""
    finding = structs.replace(
        samples.DIAGNOSTIC, rule="mass-implausible", remedy="Write kilograms."
    )
    entries = (
        LedgerRecord(part="link", count=9, fate=CoverageStatus.CONVERTED, where="a prim each"),
        LedgerRecord(part="<gazebo>", count=4, fate=CoverageStatus.KEPT, where="custom data"),
        LedgerRecord(part="mesh-missing", count=1, fate=CoverageStatus.LEFT_OUT, where="gone"),
    )
    robot = structs.replace(_named("Zeta"), lint=(finding,), ledger=entries)
    page = _page(robot)
    (row,) = _rows(page, "lint-table")
    assert (row[0], row[1], row[3]) == ("warning", "arm.urdf:41:5", "mass-implausible")
    assert row[2].endswith("Remedy: Write kilograms.")
    assert _rows(page, "ledger-table") == [
        ["link", "9", "converted", "a prim each"],
        ["<gazebo>", "4", "kept", "custom data"],
        ["mesh-missing", "1", "left out", "gone"],
    ]


def test_page_lists_what_a_description_file_states() -> None:
    """With the hashes of the files."""
    description = DescriptionRecord(
        file="robot.toml",
        sha256="ab12",
        files={"robot.srdf": "cd34"},
        settings=("drive: elbow, <wrist>", "self-collision: off"),
    )
    record = structs.replace(samples.corpus()[0], description=description)

    page = render_robot(record)

    assert "<code>robot.toml</code>" in page
    assert "drive: elbow, &lt;wrist&gt;" in page
    assert "cd34" in page

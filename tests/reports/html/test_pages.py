"""What holds of every page, whatever it shows; the content is in ``snapshots``."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from msgspec import structs

from tests.reports import samples
from tests.reports.documents import write_converters, write_run
from urdf_usd.reports.html.rendering import island, run_command
from urdf_usd.reports.html.site import matrix, render_robot, write_site
from urdf_usd.reports.records.record import ConverterRecord, Difference, Grade, RobotRecord, Verdict
from urdf_usd.reports.records.scene import Scene, pack_scene, scene_path
from urdf_usd.reports.text import appearance

_HOSTILE = "<script>alert(1)</script>"
_TURNED = "left\u202egnorw"
_LONG = "wrist_" * 1_700


def _text(element: html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def _one(page: html.HtmlElement, path: str) -> html.HtmlElement:
    (found,) = page.xpath(path)
    assert isinstance(found, html.HtmlElement)
    return found


def _index(robots: tuple[RobotRecord, ...], folder: Path) -> html.HtmlElement:
    return html.fromstring(write_site(samples.figures(robots), folder).read_text("utf-8"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write every kind of page; the id of one robot needs quoting in a URL."""
    folder = tmp_path_factory.mktemp("pages")
    write_run((*samples.corpus(), samples.robot(name="50% #1", id="50% #1?")), folder / "run")
    (folder / "converters").mkdir()
    write_converters(folder / "converters")
    for name in ("urdf-usd", "peer"):
        robots = tuple(one for one in samples.cases() if one.candidate == name)
        site = folder / "converters" / "converters" / name
        write_site(samples.figures(robots), site, cases=True)
    return folder


def _parsed(folder: Path) -> Iterator[tuple[Path, str, html.HtmlElement]]:
    files = sorted(folder.rglob("*.html"))
    assert len(files) > 15
    for file in files:
        text = file.read_text("utf-8")
        yield file, text, html.fromstring(text)


def test_every_link_has_a_target(pages: Path) -> None:
    for file, _, page in _parsed(pages):
        page.make_links_absolute(file.as_uri())
        own = set(page.xpath("//@id"))
        for _, _, link, _ in page.iterlinks():
            target, _, fragment = link.partition("#")
            if link.startswith("data:") or ("suite.html" in link and "converters/" in str(file)):
                continue
            there = set(html.parse(target).xpath("//@id")) if ".html" in target else own
            # Scripts read a selection behind the name.
            assert not fragment or fragment.partition("?")[0] in there, (file, link)


def test_pages_make_no_request(pages: Path) -> None:
    for _, text, page in _parsed(pages):
        markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1</script>", text, flags=re.DOTALL)
        assert not re.search(r"https?://|@import|url\(", markup)
        policy = _one(page, "//meta[@http-equiv='Content-Security-Policy']").get("content") or ""
        assert "default-src 'none'" in policy


def test_pages_are_accessible(pages: Path) -> None:
    for _, _, page in _parsed(pages):
        assert page.get("lang") == "en"
        assert page.xpath("//title/text()")
        assert len(page.xpath("//h1")) == len(page.xpath("//main[@id='main']")) == 1
        assert page.xpath("//body/a[@href='#main']")
        ids = page.xpath("//@id")
        assert len(set(ids)) == len(ids)
        for table in page.xpath("//table"):
            assert all(th.get("scope") for th in table.iter("th"))
            region = table.getparent()
            assert region is not None
            assert region.get("tabindex") == "0"
            assert _text(page.get_element_by_id(region.get("aria-labelledby") or ""))
        for control in page.xpath("//input | //select"):
            named = page.xpath(f"//label[@for='{control.get('id')}']")
            assert named or control.xpath("ancestor::label")


def test_index_works_without_scripts(pages: Path) -> None:
    page = html.parse(str(pages / "run" / "index.html"))
    assert page.xpath("//*[@id='explorer']")[0].get("hidden") is not None
    assert page.xpath("//*[@id='distributions']/parent::section")[0].get("hidden") is not None
    assert page.xpath("//noscript//table[@id='matrix']/tbody/tr")


@pytest.mark.parametrize("name", [_HOSTILE, _TURNED, _LONG, "a\x00b", "\ud800", "{{ 7*7 }}"])
def test_names_are_text_wherever_they_occur(name: str, tmp_path: Path) -> None:
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

    shown = name.replace("\x00", "␀").replace("\ud800", "\ufffd").replace("\u202e", "\\u202e")
    assert [script.get("id") for script in index.xpath("//script")] == ["report", None]
    assert [script.get("src") for script in page.xpath("//script")] == ["../scripts/pages.js"]
    assert _one(page, "//h1").text_content() == shown
    for where in (index, page):
        holders = [one for one in where.xpath("//bdi") if shown in one.text_content()]
        assert holders
        assert all(("long" in one.classes) == (len(name) > 300) for one in holders)
        # Outside <bdi>, no name could reorder or stretch the page.
        for element in where.xpath("//bdi"):
            element.drop_tree()
        body = _one(where, "//main").text_content().replace("pybullet:", "")
        if name not in {"\ud800", "{{ 7*7 }}"}:
            assert shown not in re.sub(r"urdf-usd run .*", "", body)


@pytest.mark.parametrize("value", [*Verdict, *Grade])
def test_verdicts_and_grades_are_shown_as_sign_word_and_colour(
    value: Verdict | Grade, tmp_path: Path
) -> None:
    if isinstance(value, Grade):
        robot = samples.robot(checks=(samples.mass(value),))
        kind = "//td[contains(@class,'grade')]"
    else:
        robot = samples.robot(value)
        kind = "//span[contains(@class,'chip')]"
    cell = _one(_index((robot,), tmp_path), f"//table[@id='matrix']{kind}")

    assert _text(cell) == f"{appearance(value).sign} {value}"
    assert appearance(value).name in cell.classes


@pytest.mark.parametrize("identity", ["", ".", "..", "../evil", "a\\b", "a\0b"])
def test_id_that_is_not_a_file_name_is_refused(identity: str, tmp_path: Path) -> None:
    robot = samples.robot(id=identity)
    with pytest.raises(ValueError, match="not a file name"):
        write_site(samples.figures((robot,)), tmp_path / "site")


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
    robots = samples.corpus()[:2]
    packed = pack_scene(Scene(mark=0.1, models=()))
    damaged, whole = (scene_path(tmp_path, robot.id) for robot in robots)
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(damage(packed))
    whole.write_bytes(packed)

    _index(robots, tmp_path)

    texts = [(tmp_path / "robots" / f"{robot.id}.html").read_text() for robot in robots]
    assert ['id="scene"' in text for text in texts] == [False, True]


def test_long_lists_of_findings_are_cut_and_counted() -> None:
    findings = tuple(structs.replace(samples.UNTYPED, subject=f"link {i}") for i in range(130))
    check = samples.joint_types(Grade.FAILS, findings)
    page = html.fromstring(render_robot(samples.robot(Verdict.FAILS, checks=(check,))))

    table = "//table[@id='finding-fails-structure-joint_types']"
    assert len(page.xpath(f"{table}/tbody/tr")) == 100
    assert "30 more are in the JSON record." in _text(page)
    # Without values there are no columns for them.
    assert len(page.xpath(f"{table}/thead//th")) == 2


def test_index_of_1200_robots_is_small(tmp_path: Path) -> None:
    checks = (samples.joint_types(), samples.position(), samples.mass(), samples.limits())
    robots = tuple(samples.robot(name=f"Robot {i:04d}", checks=checks) for i in range(1_200))
    page = _index(robots, tmp_path)
    assert len(page.xpath("//table[@id='matrix']/tbody/tr")) == 1_200
    assert (tmp_path / "index.html").stat().st_size < 5_000_000


@pytest.mark.parametrize(
    ("name", "recipe", "option"),
    [
        ("mine", "python x.py {urdf} {out}", " --converter 'mine=python x.py {urdf} {out}'"),
        ("mine", "package.module:convert", " --converter mine"),
        ("urdf-usd", "urdf-usd", ""),
    ],
)
def test_command_names_other_converters(name: str, recipe: str, option: str) -> None:
    converter = ConverterRecord(name=name, title=name, recipe=recipe, gated=True, verdicts={})
    run = structs.replace(samples.summary(()), converters=(converter,))

    assert run_command(run, "erd") == (
        f"urdf-usd run erd --bodies nested --base auto{option} --out report"
    )


def _written(*robots: RobotRecord) -> dict[str, Any]:
    text = island(matrix(robots))
    # Neither ends the script element nor reorders text, and can be encoded.
    assert not set("<>&\u2028\u202e") & set(text)
    text.encode()
    written: dict[str, Any] = json.loads(text)
    return written


def test_names_decode_to_the_sanitised_text() -> None:
    names = ("</script><script>alert(1)</script>", "<!--", "a\u2028b\u202ec", "\ud800")
    robots = _written(*(samples.robot(name=name, id="hostile") for name in names))["robots"]

    shown = (*names[:2], "a\\u2028b\\u202ec", "\ufffd")
    assert [robot["title"] for robot in robots] == list(shown)


_REPORTS = Path(__file__).parents[3] / "reports/html"
_LICENSES = {
    "viewer": ("three.js authors", "Permission is hereby granted"),
    "pages": ("Observable, Inc.", "Mike Bostock", "Permission to use, copy, modify"),
}
# Sources that both bundles include.
_BORROWED = {"viewer": ("pages/src/quantity.js",), "pages": ()}


@pytest.mark.parametrize("name", _LICENSES)
def test_bundle_matches_its_sources_and_can_be_embedded(name: str) -> None:
    folder = _REPORTS / name
    digest = hashlib.sha256((folder / "package.json").read_bytes())
    for source in sorted((folder / "src").iterdir()):
        digest.update(source.read_bytes())
    for borrowed in _BORROWED[name]:
        digest.update((_REPORTS / borrowed).read_bytes())
    bundle = (_REPORTS / "static" / f"{name}.js").read_text("utf-8")

    assert f"sources: sha256 {digest.hexdigest()}" in bundle
    assert all(words in bundle for words in _LICENSES[name])
    assert "</script" not in bundle


def test_numbers_that_json_lacks_are_encoded_for_plots() -> None:
    robots = [
        samples.robot(name=f"{value}", checks=(samples.position(worst=value),))
        for value in (6.2345678e-8, math.inf, math.nan)
    ]
    worst = [one["worst"] for one in _written(*robots)["robots"]]
    assert worst == [[6.23e-8], ["Infinity"], [None]]

"""Reduction of one robot to a folder that can be attached to a bug report.

An edit changes one element of a URDF document, given by its index in document order, so that it can
be applied to a copy of the document, together with other edits of its pass.

The search is greedy. Each pass tries to apply all of its edits, then halves of them, and so on
to single edits, as delta debugging does (Zeller and Hildebrandt, 2002, *Simplifying and
isolating failure-inducing input*), without its tests of complements. Passes are repeated until
none of their edits can be applied.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from lxml import etree
from msgspec import Struct, structs

from urdf_usd.conformance.execution import job as execution
from urdf_usd.conformance.execution.run import examine_in_workers
from urdf_usd.conformance.options import RunOptions
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.inputs import copy_files
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.converter.urdf.parse import standalone_urdf
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import is_xacro
from urdf_usd.converter.urdf.xml import Element as RepairedElement
from urdf_usd.converter.urdf.xml import parse_markup
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import EngineStatus, Grade, RobotRecord, Verdict
from urdf_usd.reports.text import value_text

Element: TypeAlias = etree._Element  # lxml's name for annotations
_Nodes: TypeAlias = Sequence[Element]
# Of the element with the index: it gets the robot, and the element.
Edit: TypeAlias = tuple[int, Callable[[Element, Element], object]]
Pass: TypeAlias = Callable[[_Nodes], Iterable[Edit]]

_FILES = ("mesh", "texture")
# Elements that are not removed by themselves.
_ENDS = frozenset({"robot", "parent", "child"})
_STRUCTURE = _ENDS | {"link", "joint"}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_NAMES = ("name", "link", "joint", "reference")
_NOT_NUMBERS = {*_NAMES, "filename", "type", "version"}
_UNITS = ("0", "1")
# Paths, quoted names and numbers, which differ between a robot and its reduction.
_SPECIFIC = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|[-+]?\d[\w.+-]*")
_REFUSED = frozenset({Verdict.CRASHED, Verdict.NOT_COMPARABLE, Verdict.UNREADABLE})
_CHECK, _CONVERSION, _ENGINE = "check {} fails", "conversion is {}", "engine {} crashes"
_Engines: TypeAlias = tuple[execution.InstalledEngine, ...]
# A longer URDF is attached instead of quoted.
_LONGEST = 8000
_MOST_FINDINGS = 5


class ReductionError(Exception):
    """A robot cannot be reduced; the message states the cause."""


def read_document(text: bytes) -> Element:
    """Read XML without comments; external entities are not loaded."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
    )
    return etree.fromstring(text, parser)


def document_text(root: Element) -> bytes:
    """Return an indented document."""
    etree.cleanup_namespaces(root)
    etree.indent(root)
    return etree.tostring(root) + b"\n"


def standalone_document(source: RobotSource, options: ConvertOptions) -> bytes:
    """Read a robot as a URDF document that names files by absolute paths."""
    packages = {name: str(folder) for name, folder in source.packages} | dict(options.packages)
    if is_xacro(str(source.path)):
        arguments = dict(source.arguments) | dict(options.arguments)
        text = standalone_urdf(str(source.path), packages, arguments, options.environment)
    else:
        text = source.path.read_bytes()
    try:
        root = read_document(text)
    except etree.XMLSyntaxError:
        repaired = parse_markup(text, str(source.path), [])
        try:
            root = _element(repaired)
        except ValueError as error:
            raise ReductionError(f"{source.path}: cannot be repaired: {error}") from error
    resolver = FileResolver(source.path, packages, os.environ)
    for element in root.iter(*_FILES):
        if found := resolver.find(element.get("filename", "")):
            element.set("filename", str(found.path))
    return document_text(root)


def _element(repaired: RepairedElement) -> Element:
    """Copy a repaired element; names with a prefix are not URDF, and left out."""
    attributes = {name: text for name, text in repaired.attributes if ":" not in name}
    element = etree.Element(repaired.tag, attributes)
    element.text = repaired.text
    element.extend(_element(one) for one in repaired.children if ":" not in one.tag)
    return element


def _end(joint: Element, tag: str) -> str:
    end = joint.find(tag)
    return "" if end is None else end.get("link", "")


def _carried_links(robot: Element, joint: Element) -> set[str]:
    carried: set[str] = set()
    waiting = [_end(joint, "child")]
    while waiting:
        if (name := waiting.pop()) not in carried:
            carried.add(name)
            others = robot.iterchildren("joint")
            waiting += [_end(one, "child") for one in others if _end(one, "parent") == name]
    return carried


def _remove(_: Element, node: Element) -> None:
    parent = node.getparent()
    if parent is not None:
        parent.remove(node)


def _remove_links(robot: Element, names: set[str]) -> None:
    for node in [*robot.iterchildren("link", "joint")]:
        ends = {_end(node, "parent"), _end(node, "child")}
        if names & ({node.get("name", "")} if node.tag == "link" else ends):
            _remove(robot, node)


def _keep_subtree(robot: Element, joint: Element) -> None:
    others = {link.get("name", "") for link in robot.iterchildren("link")}
    _remove_links(robot, others - _carried_links(robot, joint))


def _remove_subtree(robot: Element, joint: Element) -> None:
    _remove_links(robot, _carried_links(robot, joint))
    _remove(robot, joint)


def _contract_joint(robot: Element, joint: Element) -> None:
    """Remove a joint and its child; the joints of the child become the parent's."""
    parent, child = _end(joint, "parent"), _end(joint, "child")
    _remove(robot, joint)
    for end in robot.iterfind("joint/parent"):
        if end.get("link") == child:
            end.set("link", parent)
    _remove_links(robot, {child})


def _remove_attribute(name: str, _: Element, node: Element) -> None:
    node.attrib.pop(name, None)


def _set_number(name: str, position: int, text: str, _: Element, node: Element) -> None:
    words = node.get(name, "").split()
    words[position] = text
    node.set(name, " ".join(words))


def _replace_mesh(_: Element, mesh: Element) -> None:
    mesh.tag = "box"
    mesh.attrib.clear()
    mesh.set("size", "1 1 1")


def _shorten_names(robot: Element, _: Element) -> None:
    names: dict[str, str] = {}
    for node in robot.iter("link", "joint", "material"):
        if name := node.get("name"):
            letter = str(node.tag)[0]
            count = sum(short.startswith(letter) for short in names.values())
            names.setdefault(name, f"{letter}{count + 1}")
    for node in robot.iterdescendants(etree.Element):
        for key in _NAMES:
            if (name := node.get(key)) in names:
                node.set(key, names[name])
    if "name" in robot.attrib:
        robot.set("name", "r")


def _joints(nodes: _Nodes) -> list[int]:
    # Elements of ros2_control and transmission have joints as well.
    return [i for i, n in enumerate(nodes) if n.tag == "joint" and n.find("child") is not None]


def _subtrees(nodes: _Nodes) -> list[Edit]:
    """Joints by the number of links that they carry, the fewest first."""
    carried = {index: len(_carried_links(nodes[0], nodes[index])) for index in _joints(nodes)}
    return [(index, _keep_subtree) for index in sorted(carried, key=lambda i: (carried[i], i))]


def _attributes(nodes: _Nodes) -> Iterator[Edit]:
    for index, node in enumerate(nodes):
        if node.tag == "robot" or node.tag not in _STRUCTURE:
            for name in map(str, node.attrib):
                yield index, partial(_remove_attribute, name)


def _numbers(form: str, nodes: _Nodes) -> Iterator[Edit]:
    """Yield an edit of each number for which there is a shorter text, or 0 or 1."""
    for index, node in enumerate(nodes):
        for name in (str(name) for name in node.attrib if name not in _NOT_NUMBERS):
            for position, word in enumerate(node.get(name, "").split()):
                if _NUMBER.fullmatch(word) and math.isfinite(float(word)) and word not in _UNITS:
                    text = form.format(float(word))
                    if text in _UNITS or len(text) < len(word):
                        yield index, partial(_set_number, name, position, text)


# From the edits that remove most to those that remove least.
PASSES: tuple[Pass, ...] = (
    _subtrees,
    lambda nodes: [(i, _remove_subtree) for i in _joints(nodes)],
    lambda nodes: [(i, _remove) for i, n in enumerate(nodes) if n.tag not in _ENDS],
    lambda nodes: [(i, _contract_joint) for i in _joints(nodes)],
    lambda nodes: [(i, _replace_mesh) for i, n in enumerate(nodes) if n.tag == "mesh"],
    lambda nodes: [
        (i, lambda _, joint: joint.set("type", "fixed"))
        for i in _joints(nodes)
        if nodes[i].get("type") != "fixed"
    ],
    _attributes,
    *(partial(_numbers, form) for form in ("0", "1", "{:.1g}", "{:.2g}", "{:.3g}")),
    lambda _: [(0, _shorten_names)],
)


class Failure(Struct, frozen=True):
    """What a robot and its reduction have in common."""

    kind: str  # sentence on a check, a conversion or an engine
    name: str  # of the check or the engine, or the verdict without a comparison
    message: str  # without what is specific to a robot; of checks, whether a number differs
    example: str  # message of the robot as it was given

    @property
    def title(self) -> str:
        return self.kind.format(self.name)


def _failures(record: RobotRecord) -> Iterator[Failure]:
    """Yield a conversion that fails, failing checks, and crashed engines."""
    if record.verdict in _REFUSED and not record.checks:
        rules = [one.rule for one in record.diagnostics if one.severity == "error"]
        unreadable = record.verdict is Verdict.UNREADABLE and rules
        message = rules[0] if unreadable else _SPECIFIC.sub("*", record.reason)
        yield Failure(_CONVERSION, record.verdict.value, message, record.reason)
    for check in record.checks:
        if check.grade is Grade.FAILS:
            failing = [one for one in check.findings if one.grade is Grade.FAILS]
            if not failing:
                yield Failure(_CHECK, check.id, "", check.reason or check.title)
            for finding in failing:
                is_number = check.unit and finding.measured is not None
                message = "number" if is_number else "other"
                yield Failure(_CHECK, check.id, message, finding.message)
    for engine in record.engines:
        if engine.status is EngineStatus.CRASHED:
            reason = engine.reason or ""
            yield Failure(_ENGINE, engine.name, _SPECIFIC.sub("*", reason), reason)


def _has_failure(record: RobotRecord, failure: Failure) -> bool:
    """Whether a robot has a certain failure, possibly among others."""
    found = (structs.replace(one, example=failure.example) for one in _failures(record))
    return failure in found


def _size(document: bytes) -> str:
    root = read_document(document)
    counts = {"link": len(root.findall("link")), "joint": len(root.findall("joint"))}
    counts["byte"] = len(document)
    return ", ".join(f"{n:,} {noun}{'' if n == 1 else 's'}" for noun, n in counts.items())


class Reduction(Struct, frozen=True):
    failure: Failure  # what it and the reduced robot have in common
    before: str  # size of the URDF, or of the expansion of a xacro file, without comments
    after: str
    tests: int  # number of URDFs that were examined
    record: RobotRecord  # of the reduced robot
    urdf: Path


def reduce_robot(
    source: RobotSource,
    folder: Path,
    options: RunOptions,
    check: str | None = None,
    progress: Callable[[str, int], None] = lambda *_: None,
) -> Reduction:
    """Write the smallest robot that is found to fail as a robot does, and is as valid.

    The folder receives the URDF and ``files/``. ``check`` has to fail; otherwise the first of these
    counts: a conversion that fails, the first failing check, a crashed engine. The first of the
    converters is used. ``progress`` is called with size and number of tests when the robot got
    smaller.

    Raises:
        ReductionError: The robot does not fail, or not by its URDF document alone.
        SourceError: A xacro file cannot be expanded.
        UnknownEngineError: An engine is named that is not installed.
    """
    document = standalone_document(source, options.convert)
    numbers, jobs_at_once = itertools.count(), options.jobs or 1
    with temporary_folder() as temporary:

        def examine(robots: Sequence[RobotSource], engines: _Engines) -> list[RobotRecord]:
            with temporary_folder() as out:
                jobs = [
                    execution.Job(
                        source=robot,
                        folder=out / str(number),
                        options=structs.replace(options.convert, keep_chains=True),
                        engines=engines,
                        limits=options.limits,
                        candidate=options.converters[0],
                        names=(robot.id, robot.path.stem),
                    )
                    for number, robot in enumerate(robots)
                ]
                found = examine_in_workers(jobs, jobs_at_once)
                records = {job.folder: result.record for job, result in found}
            return [records[job.folder] for job in jobs]

        def examine_texts(texts: Sequence[bytes], engines: _Engines) -> list[RobotRecord]:
            robots = []
            for text in texts:
                file = temporary / str(next(numbers)) / "robot.urdf"
                file.parent.mkdir()
                file.write_bytes(text)
                robots.append(structs.replace(source, path=file, arguments=()))
            return examine(robots, engines)

        def test(texts: Sequence[bytes]) -> list[bool]:
            found = examine_texts(texts, engines)
            return [_has_failure(one, failure) and _rules(one) <= rules for one in found]

        every = execution.select_engines(options.engines, options.limits)
        (record,) = examine([source], every)
        found = [*_failures(record)]
        if check is not None:
            found = [one for one in found if (one.kind, one.name) == (_CHECK, check)]
        if not found:
            others = [each.id for each in record.checks if each.grade is Grade.FAILS]
            failing = f"; these checks fail: {', '.join(others)}" if others else ""
            what = f"{check} does not fail" if check else "nothing fails"
            verdict = f"{record.verdict.value} ({record.reason})"
            raise ReductionError(f"{what}: the robot is {verdict}{failing}")
        failure = found[0]
        (alone,) = examine_texts([document], every)
        if not _has_failure(alone, failure):
            cause = "comments are removed, malformed XML is repaired, and files have absolute paths"
            raise ReductionError(f"{failure.title}: {failure.example}; not once {cause}")
        rules = _rules(alone)
        # The reference and OpenUSD alone, if the failure occurs with these.
        needed = {REFERENCE, execution.USD_ENGINE, failure.name}
        engines = tuple(engine for engine in every if engine.name in needed)
        (record,) = examine_texts([document], engines)
        if not _has_failure(record, failure):
            engines = every
        smallest, tests = document, 0
        for smallest, tests in reduce_document(document, test, jobs_at_once):
            progress(_size(smallest), tests)
        urdf = folder / f"{source.path.name.partition('.')[0]}.urdf"
        root = read_document(smallest)
        copy_files(root, urdf.parent)
        urdf.write_bytes(document_text(root))
        (record,) = examine([structs.replace(source, path=urdf, packages=(), arguments=())], every)
    if not _has_failure(record, failure):
        raise ReductionError(f"{failure.title}: {failure.example}; not again: not deterministic")
    return Reduction(failure, _size(document), _size(urdf.read_bytes()), tests, record, urdf)


def _rules(record: RobotRecord) -> frozenset[str]:
    return frozenset(x.rule for x in record.diagnostics if x.severity in {"error", "warning"})


def reduce_document(
    text: bytes, test: Callable[[Sequence[bytes]], Sequence[bool]], parallel: int = 1
) -> Iterator[tuple[bytes, int]]:
    """Yield ever smaller documents that fail, each with the number of tests so far.

    Of ``parallel`` documents that are tested together, the first that fails counts, so that the
    result does not depend on their number.
    """
    known = {text: True}

    def list_edits(edits_of: Pass) -> list[Edit]:
        return [*edits_of(list(read_document(text).iter(etree.Element)))]

    def edited(edits: Sequence[Edit]) -> bytes:
        root = read_document(text)
        nodes = list(root.iter(etree.Element))
        for index, apply in edits:
            apply(root, nodes[index])
        return document_text(root)

    def apply_chunk(edits_of: Pass, begin: int, size: int) -> tuple[bytes, int] | None:
        """Apply the first chunk of edits that keeps the failure; return where it begins."""
        edits = list_edits(edits_of)
        begins = range(begin, len(edits), size)
        for first in range(0, len(begins), parallel):
            tried = [(edited(edits[at : at + size]), at) for at in begins[first:][:parallel]]
            new = dict.fromkeys(one for one, _ in tried if len(one) <= len(text))
            unknown = [one for one in new if one not in known]
            if unknown:
                known.update(zip(unknown, test(unknown), strict=True))
            for one, at in tried:
                if one != text and known.get(one, False):
                    return one, at
        return None

    before = b""
    while text != before:
        before = text
        for edits_of in PASSES:
            size = len(list_edits(edits_of))
            while size:
                # Edits before `begin` were tried; the document has changed since.
                begin = 0
                while found := apply_chunk(edits_of, begin, size):
                    text, begin = found
                    yield text, len(known)
                size //= 2


def bug_report(reduction: Reduction, reference: str, command: Sequence[str]) -> str:
    """Return the text of a bug report in Markdown; the command shows the failure."""
    record, failure = reduction.record, reduction.failure
    lines = []
    checks = [one for one in record.checks if one.id == failure.name and one.grade is Grade.FAILS]
    if checks:
        lines = ["| value | URDF | USD | difference | tolerance |", "|---|---|---|---|---|"]
        failing = [one for one in checks[0].findings if one.grade is Grade.FAILS]
        for one in failing[:_MOST_FINDINGS]:
            sides = (one.expected, one.actual)
            texts = ["" if value is None else value_text(value, one.unit) for value in sides]
            if (unit := checks[0].unit) and one.measured is not None:
                numbers = (one.measured, one.tolerance)
                texts += [f"{n:.4g} {'' if unit == '1' else unit}".rstrip() for n in numbers]
            lines.append(f"| {' | '.join((one.subject, *texts))} |")
    elif record.output:
        lines = ["```", record.output.rstrip(), "```"]
    urdf = reduction.urdf.read_text(encoding="utf-8")
    quoted = f"```xml\n{urdf.rstrip()}\n```"
    quoted = quoted if len(urdf) <= _LONGEST else f"Attached: `{reduction.urdf.name}`."
    versions = (f"converter: {record.converter}", *map(" ".join, record.environment.items()))
    listed = "\n".join(f"- {version}" for version in versions)
    differences = "".join(f"{line}\n" for line in (*lines, "")) if lines else ""
    return f"""\
# {record.candidate or record.converter}: {failure.title}

{failure.example}

Reduced from `{reference}` ({reduction.before}) to {reduction.after}.

## To reproduce

```sh
{shlex.join(command)}
```

Verdict: {record.verdict.value}. {record.reason}

{differences}## URDF

{quoted}

## Versions

{listed}
"""

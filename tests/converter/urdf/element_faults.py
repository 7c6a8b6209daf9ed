"""Faults of robots in well-formed XML, by the rule that reports their repair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

from lxml import etree

from tests.converter.urdf.faults import Document, Fault, Pair

_OF_LINK = ("robot", "link")
_WITH_ORIGIN = frozenset({"inertial", "visual", "collision", "joint"})
_OF_ORIGIN = re.compile(rb"(xyz\s*=\s*[\"'])\s*([-+\d.eE]+\s+[-+\d.eE]+\s+[-+\d.eE]+)\s*")
_TYPE = re.compile(rb"(type\s*=\s*[\"'])(\w+)([\"'])")


def _repeated_element(file: Document) -> Iterator[Pair]:
    for tag in file.with_end("inertial"):
        if tag.path == _OF_LINK:
            again = b'<inertial><mass value="7"/></inertial>'
            yield Pair(file.data, *file.put(tag.behind, again))
            return


def _repeated_part(file: Document) -> Iterator[Pair]:
    for name in ("link", "joint"):
        for tag in file.with_end(name):
            if tag.path == ("robot",):
                again = file.data[tag.start : tag.behind]
                yield Pair(file.data, *file.put(tag.behind, again))
                break


def _dangling_joint(file: Document) -> Iterator[Pair]:
    name = next((tag for tag in file.tags if tag.path == ("robot",)), None)
    if name:
        joint = (
            b'<joint name="to_nowhere" type="fixed"><parent link="nowhere"/>'
            b'<child link="nowhere_else"/></joint>'
        )
        yield file.inside(b"", joint)


def _undefined_world(file: Document) -> Iterator[Pair]:
    root = etree.fromstring(file.data)
    children = {end.get("link") for end in root.iterfind("joint/child")}
    links = {link.get("name") for link in root.iterfind("link")}
    if "world" in links | children or len(links - children) != 1:
        return
    (outermost,) = links - children
    held = (
        '<joint name="held_by_world" type="fixed"><parent link="world"/>'
        f"<child link={quoteattr(outermost or '')}/></joint>"
    ).encode()
    (blemished,) = file.put(file.root.end, held)
    inside = file.root.inside
    world = b'<link name="world"/>'
    yield Pair(blemished[:inside] + world + blemished[inside:], blemished)


def _joint_type(file: Document) -> Iterator[Pair]:
    def shout(tag: bytes) -> bytes:
        if not tag.startswith(b"<joint"):
            return tag
        return _TYPE.sub(lambda m: m[1] + m[2].upper() + b" " + m[3], tag, count=1)

    yield file.in_start_tags(shout)


def _origins(file: Document, end: bytes) -> Pair:
    # An origin in other elements is custom data, which is kept.
    starts = [tag for tag in file.tags if tag.name == "origin" and tag.path[-1] in _WITH_ORIGIN]
    blemished = bytearray(file.data)
    for tag in reversed(starts):
        start = _OF_ORIGIN.sub(rb"\1\2" + end, file.data[tag.start : tag.inside])
        blemished[tag.start : tag.inside] = start
    return Pair(file.data, bytes(blemished))


def _punctuation(file: Document) -> Iterator[Pair]:
    yield _origins(file, b",")


def _long_vector(file: Document) -> Iterator[Pair]:
    yield _origins(file, b" 9")


ELEMENT_FAULTS: Mapping[str, Fault] = {
    "element-repeated": _repeated_element,
    "part-repeated": _repeated_part,
    "joint-dangling": _dangling_joint,
    "world-undefined": _undefined_world,
    "joint-type-spelling": _joint_type,
    "number-punctuation": _punctuation,
    "vector-length": _long_vector,
}

_LOST = "what is written has no meaning that could be compared with"
_CHOICE = "it selects how the file is read, and changes nothing"
# Warnings that report no repair of something that could be written correctly.
NO_REPAIRS: Mapping[str, str] = {
    "urdf-version": _CHOICE,
    "joint-chain-changed": "nothing is changed; the chain is kept as it is",
    "attribute-version": "an attribute is ignored because the file's version lacks it",
    "element-incomplete": _LOST,
    "number-invalid": _LOST,
    "xacro-ignored": _LOST,
    "xacro-in-urdf": "the expansion is tested with xacro",
    "flag-invalid": _LOST,
    "vector-completed": "the completed vector is tested with its kind",
    "robot-unnamed": "the name is that of the file",
    "rotation-repeated": "origins of old files have no quaternion",
    "joint-type-extension": _CHOICE,
    "joint-limit-missing": _CHOICE,
    "joint-limit-reversed": _CHOICE,
    "joint-limit-incomplete": _CHOICE,
    "joint-rating-negative": "the value is kept; no simulator gets it",
    "dynamics-negative": "the value is kept; no simulator gets it",
    "mimic-target-missing": _LOST,
    "mimic-fixed": _LOST,
    "mimic-loop": _LOST,
}

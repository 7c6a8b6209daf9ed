"""An MJCF as the source of a comparison: its files, its configurations, its record."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from lxml import etree
from msgspec import UNSET, structs

from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.protocol import Unsupported, UnsupportedError
from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    Observation,
    UnexpectedSetting,
)
from urdf_usd.conformance.observation.sampling import configurations, plan_rollout
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.model import derive_tolerance_model
from urdf_usd.converter.file_content import InputFile
from urdf_usd.reports.records.record import RobotRecord
from urdf_usd.reports.text import of_formats as text_of_formats

# Elements with files, and the attributes of the compiler that name their folders.
_FOLDERS = {
    "mesh": ("meshdir", "assetdir"),
    "skin": ("meshdir", "assetdir"),
    "texture": ("texturedir", "assetdir"),
    "hfield": ("assetdir", "meshdir"),
}


def mjcf_inputs(path: Path) -> tuple[InputFile, ...]:
    """List the files of an MJCF, itself first: includes, models, meshes and textures.

    Files that cannot be read are left out: MuJoCo reports them.
    """
    found: dict[Path, InputFile] = {}
    for file in _files(path):
        if file not in found and file.is_file():
            content = file.read_bytes()
            found[file] = InputFile(str(file), hashlib.sha256(content).hexdigest(), len(content))
    return tuple(found.values())


def _files(path: Path) -> Iterator[Path]:
    documents = dict(_documents(path, path.parent, {}))
    yield from documents
    folders = {
        name: value
        for document in documents.values()
        for compiler in document.iter("compiler")
        for name, value in compiler.attrib.items()
    }
    for document in documents.values():
        for tag, names in _FOLDERS.items():
            folder = next((folders[name] for name in names if name in folders), "")
            for element in document.iter(tag):
                for attribute, value in element.attrib.items():
                    if attribute.startswith("file"):
                        yield path.parent / folder / value


def _documents(
    file: Path, folder: Path, known: dict[Path, etree._Element]
) -> dict[Path, etree._Element]:
    """Read a file, and what it includes: relative to the folder of the first file."""
    if file in known:
        return known
    try:
        root = etree.parse(file, etree.XMLParser(resolve_entities=False)).getroot()
    except (OSError, etree.XMLSyntaxError):
        return known
    known[file] = root
    for tag in ("include", "model"):
        for element in root.iter(tag):
            if name := element.get("file"):
                _documents(folder / name, folder, known)
    return known


def planned(
    joints: Sequence[JointObservation], observe: Callable[[Configurations], Observation]
) -> Configurations:
    """Choose the configurations of a robot, and plan its rollout by what is observed there."""
    chosen = configurations(joints)
    expected = observe(chosen)
    scale = derive_tolerance_model(expected, Tolerance()).motion
    rollout = plan_rollout(expected, scale.inertia_defaulted if scale else None)
    return structs.replace(chosen, rollout=rollout, root=expected.root)


def mjcf_questions(path: str) -> Configurations | Unsupported:
    """Choose the configurations of an MJCF; or return why MuJoCo refuses the file."""
    try:
        return planned(mjcf_joints(path), partial(observe_mjcf, path, shapes=False))
    except UnsupportedError as error:
        return Unsupported(str(error))


def read_as_mjcf(expected: Observation, actual: Observation, chosen: Configurations) -> Observation:
    """Leave out of the reading of a USD what its MJCF implies.

    These are settings and joints that close loops, which an MJCF states and nothing compares,
    other names of what has none in the MJCF, and its mocap bodies. A mass that follows from
    density is stated: that of an MJCF does as well, and effective masses are compared.
    """

    def is_implied(setting: UnexpectedSetting) -> bool:
        return any(
            one.kind in (None, setting.kind)
            and one.subject in ("", setting.subject)
            and (one.words in setting.attribute or one.words in setting.message)
            and setting.attribute not in one.besides
            for one in expected.implied
        )

    massive = {link.name for link in expected.links if link.mass}
    joints = [joint for joint in actual.joints if "it closes a loop" not in (joint.note or "")]
    looped = len(joints) < len(actual.joints)
    reading = structs.replace(
        actual,
        joints=tuple(joints),
        unexpected=tuple(one for one in actual.unexpected or () if not is_implied(one)),
        defaulted=tuple(one for one in actual.defaulted if one not in massive),
        nondynamic=tuple(one for one in actual.nondynamic if one not in expected.nondynamic),
        renamed=tuple(one for one in actual.renamed if one[0] not in expected.made_up),
    )
    return with_motion(reading, chosen, perturbed=False) if looped else reading


def of_formats(record: RobotRecord, formats: tuple[str, str]) -> RobotRecord:
    """Name the formats that are compared in the texts of a record, which say URDF and USD."""
    if record.formats is not UNSET:
        return record

    def text(words: str | None) -> str | None:
        return words and text_of_formats(words, formats)

    checks = tuple(
        structs.replace(
            check,
            reason=text(check.reason),
            findings=tuple(
                structs.replace(one, message=text(one.message)) for one in check.findings
            ),
            differences=tuple(
                structs.replace(one, reason=text(one.reason)) for one in check.differences
            ),
        )
        for check in record.checks
    )
    return structs.replace(record, reason=text(record.reason), checks=checks, formats=formats)

"""Certificates: the verdict of a check, stored in the asset with hashes of all files.

A certificate is custom data of the root layer. It is not signed: it shows that robot and asset
are those that were compared, not who compared them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from pxr import Sdf, UsdUtils

from urdf_usd.conformance.engines.openusd.reading import captured_diagnostics
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.inputs import input_files
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.environment import DISTRIBUTION
from urdf_usd.reports.records.record import EngineStatus, RobotRecord

KEY = "urdfUsdCertificate"
SCHEMA = "1"
# Raised when the bounds of the tolerance change.
TOLERANCE = "1"


class Certificate(Struct, frozen=True):
    """The verdict of a check, and what was compared."""

    verdict: str
    values: int  # number of those compared
    tool: str  # name and version of this program
    tolerance: str  # its version
    suite: str  # version of the feature suite
    engines: dict[str, str]  # versions of those that read robot or asset, by name
    variants: dict[str, str]  # selected in the asset, by set
    urdf: dict[str, str]  # names of the files of the robot, by their SHA-256
    # SHA-256 of the files of the asset, by path from the root layer; that of the root layer is of
    # its text without the certificate.
    asset: dict[str, str]


def certificate_of(
    record: RobotRecord, urdf: Mapping[str, str], asset: Mapping[str, str], suite: str
) -> Certificate:
    """Return the certificate of a check that conforms, with the hashes of robot and asset."""
    engines = (one for one in record.engines if one.status is EngineStatus.OBSERVED)
    return Certificate(
        verdict=record.verdict.value,
        values=record.compared,
        tool=f"{DISTRIBUTION} {record.environment[DISTRIBUTION]}",
        tolerance=TOLERANCE,
        suite=suite,
        engines={engine.name: engine.version or "" for engine in engines},
        variants=record.variants,
        urdf=dict(urdf),
        asset=dict(asset),
    )


def robot_hashes(urdf: Path, options: CheckOptions) -> dict[str, str]:
    """Return the names of a robot's files by their SHA-256: wherever a robot is, it is the same.

    Raises:
        SourceError: The URDF cannot be read.
    """
    parsed = parse(
        urdf,
        packages=dict(options.packages),
        arguments=dict(options.arguments),
        environment=options.environment,
    )
    expansion, settings = parsed.markup.expansion, options.simulation
    files = input_files((str(urdf), *(expansion.files if expansion else ())), parsed.robot)
    hashes = {file.sha256: Path(file.path).name for file in files}
    if settings:
        hashes[settings.sha256] = Path(settings.file).name
        for name, content in settings.attached:
            hashes[hashlib.sha256(content).hexdigest()] = Path(name).name
    return hashes


def asset_hashes(usd: Path) -> dict[str, str]:
    """Return the SHA-256 of all files of an asset, by path from the folder of its root layer.

    Raises:
        StageError: A file is missing, or the asset is a package.
    """
    root = _open(usd)
    folder = usd.resolve().parent
    with captured_diagnostics():
        layers, assets, missing = UsdUtils.ComputeAllDependencies(str(usd))
    if missing:
        raise _error(f"{usd}: files are missing: {', '.join(sorted(map(str, missing)))}")
    files = {Path(layer.realPath) for layer in layers} | {Path(str(path)) for path in assets}
    hashes = {usd.name: hashlib.sha256(_text_without_certificate(root)).hexdigest()}
    for file in sorted(file.resolve() for file in files):
        if file != usd.resolve():
            name = Path(os.path.relpath(file, folder)).as_posix()
            hashes[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return hashes


def read_certificate(usd: Path) -> Certificate | None:
    """Return the certificate of an asset, if it has one that this version reads.

    Raises:
        StageError: The root layer cannot be read.
    """
    data = _open(usd).customLayerData.get(KEY)
    if not data or data.get("schema") != SCHEMA:
        return None
    try:
        return msgspec.convert(data, Certificate)
    except msgspec.ValidationError:
        return None


def write_certified_layer(usd: Path, certificate: Certificate, target: str) -> None:
    """Write the root layer with a certificate to another file of the same format."""
    layer = _open(usd)
    values: dict[str, Any] = {
        name: getattr(certificate, name) for name in Certificate.__struct_fields__
    }
    layer.customLayerData = {**layer.customLayerData, KEY: {"schema": SCHEMA, **values}}
    layer.Export(target, args={"format": _format(layer)})
    layer.Reload(force=True)


def changes(
    certificate: Certificate, urdf: Mapping[str, str], asset: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a text for each file that is not as it was compared."""
    known, lines = certificate.asset, []
    for digest, name in certificate.urdf.items():
        if digest not in urdf:
            lines.append(f"{name} of the robot was changed or removed")
    for digest, name in urdf.items():
        if digest not in certificate.urdf:
            lines.append(f"{name} of the robot is new")
    for name in sorted({*known, *asset}):
        if known.get(name) != asset.get(name):
            change = "changed" if name in asset else "removed"
            lines.append(f"{name} of the asset was {change if name in known else 'added'}")
    return tuple(lines)


def _open(usd: Path) -> Sdf.Layer:
    with captured_diagnostics():
        layer = Sdf.Layer.FindOrOpen(str(usd))
    if layer is None:
        raise _error(f"{usd}: OpenUSD cannot read this layer")
    if layer.GetFileFormat().IsPackage():
        raise _error(
            f"{usd} is a package, which cannot be changed; certify the asset before packing"
        )
    return layer


def _text_without_certificate(layer: Sdf.Layer) -> bytes:
    copy = Sdf.Layer.CreateAnonymous(".usda")
    copy.TransferContent(layer)
    data = {name: value for name, value in copy.customLayerData.items() if name != KEY}
    copy.customLayerData = data
    text: str = copy.ExportToString()
    return text.encode()


def _format(layer: Sdf.Layer) -> str:
    """Return the format of a file; one named ``.usd`` has either."""
    identifier: str = layer.GetFileFormat().formatId
    if identifier == "usd":
        start = Path(layer.realPath).read_bytes()[:8]
        return "usdc" if start == b"PXR-USDC" else "usda"
    return identifier


def _error(message: str) -> StageError:
    return StageError((Diagnostic("stage-unreadable", message),))

"""The certificate in the root layer of an asset: hashes of the asset, reading and writing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from msgspec import structs
from pxr import Sdf, UsdUtils

from urdf_usd.conformance.certificate import Certificate
from urdf_usd.conformance.engines.openusd.reading import captured_diagnostics
from urdf_usd.converter.diagnostics import Diagnostic, StageError

KEY = "urdfUsdCertificate"
SCHEMA = "1"


def asset_hashes(usd: Path) -> dict[str, str]:
    """Return the SHA-256 of all files of an asset, by path from the folder of its root layer.

    A file that is missing, and a package, raise StageError.
    """
    root = _open(usd)
    folder = usd.resolve().parent
    with captured_diagnostics():
        layers, assets, missing = UsdUtils.ComputeAllDependencies(str(usd))
    if missing:
        raise _error(f"{usd}: files are missing: {', '.join(sorted(map(str, missing)))}")
    files = {Path(layer.realPath) for layer in layers} | {Path(str(path)) for path in assets}
    bare = Sdf.Layer.CreateAnonymous(".usda")
    bare.TransferContent(root)
    data = bare.customLayerData.items()
    bare.customLayerData = {name: value for name, value in data if name != KEY}
    hashes = {usd.name: hashlib.sha256(bare.ExportToString().encode()).hexdigest()}
    for file in sorted(file.resolve() for file in files):
        if file != usd.resolve():
            name = Path(os.path.relpath(file, folder)).as_posix()
            hashes[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return hashes


def read_certificate(usd: Path) -> Certificate | None:
    """Return the certificate of an asset, if it has one that this version reads."""
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
    values = {"schema": SCHEMA, **structs.asdict(certificate)}
    layer.customLayerData = {**layer.customLayerData, KEY: values}
    # A file named ``.usd`` has either format.
    is_binary = Path(layer.realPath).read_bytes()[:8] == b"PXR-USDC"
    layer.Export(target, args={"format": "usdc" if is_binary else "usda"})
    layer.Reload(force=True)


def _open(usd: Path) -> Sdf.Layer:
    with captured_diagnostics():
        layer = Sdf.Layer.FindOrOpen(str(usd))
    if layer is None:
        raise _error(f"{usd}: OpenUSD cannot read this layer")
    if layer.GetFileFormat().IsPackage():
        raise _error(f"{usd} is a package; certify the asset before packing")
    return layer


def _error(message: str) -> StageError:
    return StageError((Diagnostic("stage-unreadable", message),))

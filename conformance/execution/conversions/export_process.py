"""Export with limits of time and memory, for foreign USDs.

A worker reads the USD; this process writes the files when the worker is done.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from urdf_usd.conformance.execution.usd_limits import call_on_usd
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.export.files import Export, prepare_export, write_export
from urdf_usd.converter.options import VariantChoice


def export_within(
    usd: Path,
    urdf: Path,
    limits: Limits = DEFAULT_LIMITS,
    *,
    force: bool = False,
    root: str | None = None,
    loops: bool = False,
    variants: tuple[VariantChoice, ...] = (),
    strict: bool = False,
) -> Export:
    """Write the robot in a USD file as URDF; see :func:`urdf_usd.export`.

    Args:
        usd: Root layer.
        urdf: File to write.
        limits: Of reading.
        force: Whether to replace files that an export of this URDF did not write.
        root: See :func:`urdf_usd.export`.
        loops: See :func:`urdf_usd.export`.
        variants: Variants to select in the USD.
        strict: Whether to refuse a USD that refers to files outside its folder.

    Raises:
        ConversionError: The robot cannot be read within the limits, or cannot be
            written; nothing was changed.
    """
    prepare = partial(prepare_export, root=root, loops=loops, variants=variants, strict=strict)
    return write_export(call_on_usd(prepare, usd, urdf, limits=limits), force=force)

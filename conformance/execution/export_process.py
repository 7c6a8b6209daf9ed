"""Export with limits of time and memory, for foreign USDs.

A worker reads the USD; this process writes the files when the worker is done.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from urdf_usd.conformance.engines.native_output import captured
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.usd_limits import is_limit, over_limits
from urdf_usd.conformance.execution.workers.context import FOR_USDS
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.workers.pool import WorkerPool
from urdf_usd.converter.diagnostics import ConversionError, StageError
from urdf_usd.converter.exporting import (
    Export,
    PreparedExport,
    prepare_export,
    write_export,
)
from urdf_usd.converter.usd.loading.layer_growth import find_growth

# Time limit of the search for exponential references [s].
_GROWTH_TIMEOUT = 60.0


def export_within(  # one parameter per option
    usd: Path,
    urdf: Path,
    limits: Limits = DEFAULT_LIMITS,
    *,
    force: bool = False,
    root: str | None = None,
    loops: bool = False,
) -> Export:
    """Write the robot in a USD file as URDF; see :func:`urdf_usd.converter.export`.

    Args:
        usd: Root layer.
        urdf: File to write.
        limits: Of reading.
        force: Whether to replace files that an export of this URDF did not write.
        root: See :func:`urdf_usd.converter.export`.
        loops: See :func:`urdf_usd.converter.export`.

    Raises:
        ConversionError: The robot cannot be read within the limits, or cannot be
            written; nothing was changed.
    """
    with WorkerPool(limits.memory, FOR_USDS) as pool:
        ending = pool.call(
            partial(_prepared, loops=loops), usd, urdf, root, timeout=limits.time
        )
        if isinstance(ending, Crashed):
            if not is_limit(ending):
                bug = RuntimeError(ending.reason)
                bug.add_note(ending.output)
                raise bug
            growth = pool.call(find_growth, usd, timeout=_GROWTH_TIMEOUT)
            raise StageError((over_limits(usd, ending, growth),))
    prepared, warnings = ending.value
    if isinstance(prepared, ConversionError):
        # It has what OpenUSD printed about the cause.
        raise prepared
    sys.stderr.write(warnings)
    return write_export(prepared, force=force)


def _prepared(
    usd: Path, urdf: Path, root: str | None, *, loops: bool
) -> tuple[PreparedExport | ConversionError, str]:
    """Read a robot; return it with what OpenUSD printed."""
    with captured() as printed:
        try:
            return prepare_export(usd, urdf, root=root, loops=loops), printed()
        except ConversionError as error:
            return error, printed()

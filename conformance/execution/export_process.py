"""Export in a process whose time and memory are limited.

A USD of a stranger may take any time to compose. The process reads; the files are
written here, once it has ended.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.usd_limits import is_limit, over_limits
from urdf_usd.conformance.execution.workers.confinement import printed
from urdf_usd.conformance.execution.workers.isolation import FOR_USDS, Isolation
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.converter.diagnostics import ConversionError, StageError
from urdf_usd.converter.exporting import (
    Export,
    PreparedExport,
    prepare_export,
    write_export,
)
from urdf_usd.converter.usd.loading.layer_growth import find_growth

if TYPE_CHECKING:
    from pathlib import Path

# To find out where layers multiply [s], which has bounds of its own.
_LOOKING = 60.0


def export_within(
    usd: Path, urdf: Path, limits: Limits = DEFAULT_LIMITS, *, force: bool = False
) -> Export:
    """Write the robot in a USD file as URDF; see :func:`urdf_usd.converter.export`.

    Args:
        usd: Root layer.
        urdf: File to write.
        limits: What reading may take.
        force: Whether files that no export of this URDF wrote may be replaced.

    Raises:
        ConversionError: The robot cannot be read within the limits, or cannot be
            written; nothing was changed.
    """
    with Isolation(memory=limits.memory, loaded=FOR_USDS) as isolation:
        ending = isolation.call(_prepared, usd, urdf, timeout=limits.time)
        if isinstance(ending, Crashed):
            if not is_limit(ending):
                bug = RuntimeError(ending.reason)
                bug.add_note(ending.output)
                raise bug
            growth = isolation.call(find_growth, usd, timeout=_LOOKING)
            raise StageError((over_limits(usd, ending, growth),))
    prepared, warnings = ending.value
    sys.stderr.write(warnings)
    if isinstance(prepared, ConversionError):
        raise prepared
    return write_export(prepared, force=force)


def _prepared(usd: Path, urdf: Path) -> tuple[PreparedExport | ConversionError, str]:
    """Read a robot; return it with what OpenUSD printed meanwhile."""
    try:
        return prepare_export(usd, urdf), printed()
    except ConversionError as error:
        return error, printed()

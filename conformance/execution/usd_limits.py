"""A foreign USD is composed once, within limits, before engines read it.

One that cannot be composed is refused here, so that no engine waits for it in turn.
"""

from __future__ import annotations

import os

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.assembly import Subject, unread_record
from urdf_usd.conformance.execution.engine_set import USD_ENGINE
from urdf_usd.conformance.execution.workers.pool import RobotWorkers
from urdf_usd.conformance.execution.workers.serving import OUT_OF_MEMORY, Completed
from urdf_usd.conformance.records.record import RobotRecord, Verdict
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.messages import escaped
from urdf_usd.converter.usd.loading.layer_growth import Growth, find_growth
from urdf_usd.converter.usd.reader.read import open_stage

# Of other USDs that cannot be opened, the engines give the reason.
_REFUSED = frozenset({"layer-bounds", "layer-not-regular"})


def refusal(
    workers: RobotWorkers, usd: str | os.PathLike[str]
) -> tuple[Diagnostic, ...] | Crashed:
    """Compose a USD; return why engines should not read it, nothing if they can.

    Args:
        workers: That of the OpenUSD engine composes the USD.
        usd: Root layer.
    """
    path = os.fspath(usd)
    ending = workers.request(USD_ENGINE, compose, path)()
    if not isinstance(ending, Crashed):
        return ending.value
    if not is_limit(ending):
        return ending
    growth = workers.request(USD_ENGINE, find_growth, path)()
    return (over_limits(path, ending, growth),)


def refused_record(
    workers: RobotWorkers, subject: Subject, usd: str | os.PathLike[str]
) -> RobotRecord | None:
    """Return the record of a USD that engines should not read; None if they can."""
    refused = refusal(workers, usd)
    if isinstance(refused, Crashed):
        reason = f"the USD cannot be composed: {refused.reason}"
        return unread_record(subject, Verdict.CRASHED, reason)
    if not refused:
        return None
    return unread_record(subject, Verdict.NOT_COMPARABLE, refused[0].advice, refused)


def compose(usd: str) -> tuple[Diagnostic, ...]:
    """Compose a USD; return the diagnostics for which it is refused."""
    try:
        open_stage(usd)
    except StageError as error:
        if escaped(usd) != usd:
            # No engine could open it.
            return error.diagnostics
        return tuple(found for found in error.diagnostics if found.rule in _REFUSED)
    return ()


def is_limit(crash: Crashed) -> bool:
    """Distinguish limits and native crashes from exceptions, which are bugs."""
    return OUT_OF_MEMORY in crash.reason or crash.reason.startswith(
        ("no answer after", "the process died", "the process ended")
    )


def over_limits(
    usd: str | os.PathLike[str],
    crash: Crashed,
    growth: Completed[Growth | None] | Crashed,
) -> Diagnostic:
    """Make the diagnostic of a USD that could not be read within its limits.

    Args:
        usd: Root layer.
        crash: How reading ended.
        growth: Where its layers multiply, if that is known.
    """
    message = f"{os.fspath(usd)} cannot be composed and read: {crash.reason}"
    found = None if isinstance(growth, Crashed) else growth.value
    if found is not None:
        message = f"{message}; its {found}"
    return Diagnostic("stage-limits", message)

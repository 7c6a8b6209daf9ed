"""A USD of a stranger is composed once, within limits, before anybody reads it.

What cannot be composed is refused here, so that no engine waits for it in turn.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.assembly import unread_record
from urdf_usd.conformance.execution.workers.confinement import OUT_OF_MEMORY
from urdf_usd.conformance.records.record import RobotRecord, Verdict
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.usd.loading.layer_growth import Growth, find_growth
from urdf_usd.converter.usd.reader.read import open_stage

if TYPE_CHECKING:
    from urdf_usd.conformance.execution.assembly import Subject
    from urdf_usd.conformance.execution.workers.confinement import Completed
    from urdf_usd.conformance.execution.workers.journal import Steps

# What engines say themselves of a USD that they cannot open is their answer.
_REFUSED = frozenset({"layer-bounds", "layer-not-regular"})


def refusal(
    steps: Steps, usd: str | os.PathLike[str]
) -> tuple[Diagnostic, ...] | Crashed:
    """Compose a USD, and say why nobody should read it; nothing if all is well.

    Args:
        steps: Where it is composed.
        usd: Root layer.
    """
    path = os.fspath(usd)
    ending = steps.call(compose, path)
    if not isinstance(ending, Crashed):
        return ending.value
    if not is_limit(ending):
        return ending
    return (over_limits(path, ending, steps.call(find_growth, path)),)


def refused_record(
    steps: Steps, subject: Subject, usd: str | os.PathLike[str]
) -> RobotRecord | None:
    """Record a USD that no engine should read; None if all is well."""
    refused = refusal(steps, usd)
    if isinstance(refused, Crashed):
        reason = f"the USD cannot be composed: {refused.reason}"
        return unread_record(subject, Verdict.CRASHED, reason)
    if not refused:
        return None
    return unread_record(subject, Verdict.NOT_COMPARABLE, refused[0].advice, refused)


def compose(usd: str) -> tuple[Diagnostic, ...]:
    """Look at the files of a USD, and compose it; return why it is refused."""
    try:
        open_stage(usd)
    except StageError as error:
        return tuple(found for found in error.diagnostics if found.rule in _REFUSED)
    return ()


def is_limit(crash: Crashed) -> bool:
    """Say whether it was time, memory or native code that ended a process.

    Anything else is an exception, which is a bug.
    """
    return OUT_OF_MEMORY in crash.reason or crash.reason.startswith(
        ("no answer after", "the process died", "the process ended")
    )


def over_limits(
    usd: str | os.PathLike[str],
    crash: Crashed,
    growth: Completed[Growth | None] | Crashed,
) -> Diagnostic:
    """Say that a USD could not be read within its limits.

    Args:
        usd: Root layer.
        crash: How that ended.
        growth: What is known of where its layers multiply.
    """
    message = f"{os.fspath(usd)} cannot be composed and read: {crash.reason}"
    found = None if isinstance(growth, Crashed) else growth.value
    if found is not None:
        message = f"{message}; its {found}"
    return Diagnostic("stage-limits", message)

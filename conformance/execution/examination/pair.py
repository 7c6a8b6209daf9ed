"""A USD from elsewhere, compared with its URDF."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from urdf_usd.conformance.engines.protocol import Crashed, Side
from urdf_usd.conformance.execution.assembly import Subject
from urdf_usd.conformance.execution.engine_set import (
    USD_ENGINE,
    EngineSet,
    LoadingEngines,
)
from urdf_usd.conformance.execution.examination.steps import (
    READER_CRASHED,
    Promise,
    compared_urdf,
    crashed_record,
    identified,
    judge_outcomes,
    lint_source,
    plain_urdf,
    read_source,
    with_variants,
)
from urdf_usd.conformance.execution.requirements import URDF_ALONE, Requirements
from urdf_usd.conformance.execution.usd_limits import (
    READ_DEFAULTS,
    ReadOptions,
    start_composing,
)
from urdf_usd.conformance.execution.workers.pool import RobotWorkers
from urdf_usd.conformance.observation.robot import Base
from urdf_usd.converter.diagnostics import ConversionError, SourceError, StageError
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.reports.records.record import RobotRecord


def examine_pair(  # a return for each step that ends it
    workers: RobotWorkers,
    subject: Subject,
    usd: Path,
    engines: LoadingEngines,
    requirements: Requirements = URDF_ALONE,
    *,
    scene: Path | None = None,
    options: ReadOptions = READ_DEFAULTS,
) -> RobotRecord | ConversionError:
    """Compare a USD, from any converter, with its URDF.

    Args:
        workers: Run the work.
        subject: The URDF, and what else the record says of the robot.
        usd: Root layer of the USD.
        engines: Waits for the engines.
        requirements: What the USD has to have, besides what the URDF says.
        scene: File of the drawing, if there is to be one.
        options: How the USD is read.

    Returns:
        The record; or why the URDF cannot be read, or which variant does not exist.

    Raises:
        MissingEngineError: As raised by ``engines``.
    """
    urdf = subject.urdf
    if urdf is None:
        raise ValueError("there is nothing to compare with")
    subject = structs.replace(subject, scratch=workers.folder)
    composing = start_composing(workers, subject, usd, options)
    ending = read_source(workers, subject)
    if isinstance(ending, Crashed):
        # Nothing can be read within limits that engines exceed as they are loaded.
        engines()
        subject = identified(workers, subject, ending)
        return crashed_record(subject, READER_CRASHED, ending)
    reading = ending.value
    if isinstance(reading, SourceError):
        return reading
    subject = structs.replace(subject, inputs=reading.inputs)
    plain = plain_urdf(urdf, reading, workers.folder / f"{subject.id}.urdf")
    compared = compared_urdf(workers, subject, reading, plain, requirements)
    linted = lint_source(workers, subject)
    requests = []
    if not isinstance(compared, RobotRecord):
        # They begin while OpenUSD, which takes longest, is loaded and composes the USD.
        requests.append(
            EngineSet(workers, engines(USD_ENGINE)).request(
                Side.URDF, compared.file, compared.packages, compared.configurations
            )
        )
    engine_set = EngineSet(workers, engines())
    try:
        composed = composing()
    except StageError as error:
        return error
    if isinstance(composed, RobotRecord):
        return composed
    if isinstance(linted, RobotRecord):
        return linted
    if isinstance(compared, RobotRecord):
        return compared
    packages, configurations = compared.packages, compared.configurations
    requests.append(engine_set.request(Side.USD, Path(composed.usd), packages, configurations))
    results = engine_set.observe(requests, packages, configurations)
    base = requirements.base
    promise = Promise(
        None if base is BaseOption.AUTO else Base(base.value),
        compared.estimated,
        requirements.colliders,
        requirements.description,
    )
    found = (*reading.diagnostics, *composed.diagnostics)
    record = judge_outcomes(engine_set, linted, results, promise, found)
    record = with_variants(record, linted, composed, reading.diagnostics)
    if scene and record.checks:
        engine_set.draw(packages, results, configurations, scene)
    return record

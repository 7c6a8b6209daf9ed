"""Conversion of several robots by our converter, each in a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.interruption import DeferredInterrupts
from urdf_usd.conformance.execution.workers.limits import Limits
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.converter import Conversion, ConvertOptions, convert
from urdf_usd.converter.diagnostics import ConversionError


class Order(Struct, frozen=True):
    """One conversion.

    Attributes:
        urdf: URDF or xacro file.
        directory: Folder of the asset.
        options: Options.
    """

    urdf: Path
    directory: Path
    options: ConvertOptions


def convert_all(
    orders: Sequence[Order], limits: Limits, jobs: int
) -> Iterator[Conversion | ConversionError | Crashed]:
    """Convert robots; yield the outcomes in the order of the robots.

    Args:
        orders: The conversions, into different folders.
        limits: Of each.
        jobs: Number of conversions at the same time.
    """

    def converted(
        order: Order,
    ) -> Completed[Conversion | ConversionError] | Crashed:
        with RobotWorkers(pool, limits.time) as workers:
            return workers.call(_convert, order)

    pool = WorkerPool(limits.memory)
    with DeferredInterrupts() as interrupts, ThreadPoolExecutor(jobs) as threads, pool:
        calls = [threads.submit(converted, order) for order in orders]
        try:
            for call in calls:
                ending = interrupts.result(call)
                yield ending.value if isinstance(ending, Completed) else ending
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _convert(order: Order) -> Conversion | ConversionError:
    """Convert in a worker; errors in the user's file are returned."""
    try:
        return convert(order.urdf, order.directory, order.options)
    except ConversionError as error:
        return error

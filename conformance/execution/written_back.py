"""Have the URDF written back from a USD, and put it to the engines that read the first.

The work is done in child processes, like everything that a hostile file could bring
down.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines.protocol import Crashed, Request
from urdf_usd.conformance.execution.workers.inquiry import answer, inquire
from urdf_usd.conformance.verdict.round_trip import RoundTripOutcomes
from urdf_usd.converter import ConversionError, read_usd
from urdf_usd.converter.urdf.writer.write import write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.execution.workers.journal import Steps
    from urdf_usd.conformance.observation.robot import Configurations


def write_back(usd: str, links: Sequence[str]) -> bytes | str:
    """Write the robot in a USD as URDF, without its shapes, which nobody compares.

    Args:
        usd: Root layer.
        links: Names of the robot's links, for frames that nothing marks as such.

    Returns:
        URDF; as text, why it cannot be written.
    """
    try:
        return write(read_usd(usd, links, shapes=False).robot)
    except ConversionError as error:
        return error.diagnostics[0].message


def run_round_trip(
    steps: Steps,
    engines: Sequence[str],
    usd: Path,
    *,
    links: Sequence[str],
    configurations: Configurations,
) -> RoundTripOutcomes:
    """Ask engines about the URDF that is written back from a USD.

    Args:
        steps: Where they are asked.
        engines: Names of the engines that read the URDF.
        usd: Root layer.
        links: Names of the URDF's links.
        configurations: Where link frames are compared.
    """
    ending = steps.call(write_back, str(usd), tuple(links))
    if isinstance(ending, Crashed):
        return RoundTripOutcomes(failure=ending.reason)
    if isinstance(ending.value, str):
        return RoundTripOutcomes(failure=ending.value)
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as folder:
        urdf = Path(folder, "back.urdf")
        urdf.write_bytes(ending.value)
        request = Request(str(urdf), configurations)
        return RoundTripOutcomes(
            {name: answer(inquire(steps, name, request)) for name in engines}
        )

"""Have the URDF written back from a USD, and put it to the engines that read the first.

The work is done in child processes, like everything that a hostile file could bring
down.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.round_trip import Back
from conformance.witness import Crashed, Request
from converter import ConversionError, read_usd
from converter.urdf.write import write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.isolation import Isolation
    from conformance.observation import Configurations


def write_back(usd: str, urdf: str, links: Sequence[str]) -> str | None:
    """Write the robot in a USD as URDF, without its meshes, which no engine reads.

    Args:
        usd: Root layer.
        urdf: File to write.
        links: Names of the robot's links, for frames that nothing marks as such.

    Returns:
        Why it cannot be done, if so.
    """
    try:
        Path(urdf).write_bytes(write(read_usd(usd, links).robot))
    except ConversionError as error:
        return error.diagnostics[0].message
    return None


def hear_back(  # noqa: PLR0913  what is asked, of whom, and how
    isolation: Isolation,
    engines: Sequence[str],
    usd: Path,
    *,
    links: Sequence[str],
    configurations: Configurations,
    time_limit: float,
) -> Back:
    """Ask engines about the URDF that is written back from a USD.

    Args:
        isolation: Where they are asked.
        engines: Names of the witnesses that read the URDF.
        usd: Root layer.
        links: Names of the URDF's links.
        configurations: Where link frames are compared.
        time_limit: Longest time for one task [s].
    """
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as folder:
        urdf = str(Path(folder, "back.urdf"))
        ending = isolation.call(
            write_back, str(usd), urdf, tuple(links), timeout=time_limit
        )
        failure = ending.reason if isinstance(ending, Crashed) else ending.value
        if failure is not None:
            return Back(failure=failure)
        request = Request(urdf, configurations)
        return Back(
            {name: isolation.ask(name, request, timeout=time_limit) for name in engines}
        )

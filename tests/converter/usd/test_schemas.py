"""Registration of schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import sys
from urdf_usd.converter import convert
convert(sys.argv[1], sys.argv[2])
from pxr import Usd
assert Usd.SchemaRegistry().FindAppliedAPIPrimDefinition("NewtonMimicAPI")
"""


def test_newton_schemas_are_registered_after_a_conversion(tmp_path: Path) -> None:
    """OpenUSD discovers schemas once per process."""
    urdf = tmp_path / "robot.urdf"
    urdf.write_text('<robot name="r"><link name="a"/></robot>')
    ending = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(urdf), str(tmp_path / "usd")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ending.returncode == 0, ending.stderr

"""Schemas of Newton, and couplings of joints."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import newton_usd_schemas  # noqa: F401  registers the schemas
from msgspec import structs
from pxr import Usd

from tests.converter.usd.authored import TURN, author, chain
from urdf_usd.converter.robot.model import Dynamics, Joint, Mimic
from urdf_usd.converter.usd.profiles.joint_schemas import AxisJoint, couplings


def test_newton_properties_are_those_of_its_schemas(tmp_path: Path) -> None:
    leader = Joint("leads", "a", "b", TURN)
    follower = Joint("follows", "b", "c", TURN, mimic=Mimic("leads", -2.0, 0.5))
    numbers = {"effort": 12.5, "velocity": 3.5, "dynamics": Dynamics(0.7, 0.3)}
    stage = author(tmp_path, leader, structs.replace(follower, **numbers))

    for path in ("/r/Physics/follows", "/r/Geometry/a/b"):
        prim = stage.GetPrimAtPath(path)
        own = [one for one in prim.GetAuthoredProperties() if one.GetName().startswith("newton:")]
        assert own
        for one in own:
            declared = prim.GetPrimDefinition().GetSchemaPropertySpec(one.GetName())
            assert declared
            assert not one.IsCustom()
            if isinstance(one, Usd.Attribute):
                assert one.GetTypeName() == declared.typeName


def _couplings(joints: Iterable[Joint]) -> dict[str, tuple[object, ...]]:
    """Return leader, offset and factor of each coupling."""
    every = couplings(
        [AxisJoint(None, joint) for joint in joints],
        "Schema",
        lambda _own, _leader, mimic: (mimic.offset, mimic.multiplier),
        [],
    )
    return {own.joint.name: (leader.joint.name, *numbers) for own, leader, numbers in every}


def test_couplings_do_not_depend_on_joint_order() -> None:
    assert _couplings(chain()[::-1]) == _couplings(chain())
    assert _couplings(chain()[1:2]) == {}


def test_loops_and_long_chains_of_couplings_terminate() -> None:
    one = Joint("one", "a", "b", TURN, mimic=Mimic("two", 2.0))
    two = Joint("two", "b", "c", TURN, mimic=Mimic("one", 3.0))
    rest = [
        Joint(str(n), "a", "b", TURN, mimic=Mimic(str(n - 1), 1.0, 0.5)) for n in range(1, 5001)
    ]

    assert set(_couplings((one, two))) == {"one", "two"}
    assert _couplings((Joint("0", "a", "b", TURN), *rest))["5000"] == ("0", 2500.0, 1.0)


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

    subprocess.run([sys.executable, "-c", _SCRIPT, str(urdf), str(tmp_path / "usd")], check=True)

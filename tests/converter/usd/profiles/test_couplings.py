"""Couplings to the first joint of each chain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.converter.usd.profiles.joint_samples import TURN, chain
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.robot.model import Joint, Mimic
from urdf_usd.converter.usd.profiles.joint_attributes import head_couplings


def _always(*_: object) -> bool:
    return True


def test_chain_is_coupled_to_its_first_joint() -> None:
    """Of -0.5 q + 0.1, followed by 0.8 q - 0.2."""
    couplings = head_couplings(chain(), _always)

    assert set(couplings) == {"second", "third"}
    assert couplings["second"] == Mimic("first", -0.5, 0.1)
    assert couplings["third"].joint == "first"
    assert couplings["third"].multiplier == pytest.approx(-0.4)
    assert couplings["third"].offset == pytest.approx(0.8 * 0.1 - 0.2)


def test_couplings_do_not_depend_on_joint_order() -> None:
    """URDF has none."""
    assert head_couplings(chain()[::-1], _always) == head_couplings(chain(), _always)


def test_coupling_starts_at_a_follower_that_cannot_be_coupled() -> None:
    """A joint that is not coupled itself is the leader."""
    couplings = head_couplings(chain(), lambda name, _: name != "second")

    assert couplings == {"third": Mimic("second", 0.8, -0.2)}


def test_coupling_skips_followers_that_cannot_be_coupled() -> None:
    """Two prismatic joints with a revolute one between them in the chain."""
    couplings = head_couplings(
        chain(), lambda name, mimic: name == "third" and mimic.joint == "first"
    )

    assert set(couplings) == {"third"}
    assert couplings["third"].joint == "first"
    assert couplings["third"].multiplier == pytest.approx(-0.4)
    assert couplings["third"].offset == pytest.approx(0.8 * 0.1 - 0.2)


def test_coupling_to_a_missing_leader_is_omitted() -> None:
    """For example to a joint of a type that cannot be coupled."""
    assert head_couplings(chain()[1:2], _always) == {}


def test_loop_of_couplings_terminates() -> None:
    """The parser refuses loops, but models can contain them."""
    one = Joint("one", "a", "b", TURN, mimic=Mimic("two", 2.0))
    two = Joint("two", "b", "c", TURN, mimic=Mimic("one", 3.0))

    assert set(head_couplings((one, two), _always)) == {"one", "two"}


def test_long_chain_causes_no_recursion() -> None:
    """5000 joints."""
    first = Joint("0", "a", "b", TURN)
    rest = [
        Joint(str(n), "a", "b", TURN, mimic=Mimic(str(n - 1), 1.0, 0.5)) for n in range(1, 5001)
    ]

    assert head_couplings((first, *rest), _always)["5000"] == Mimic("0", 1.0, 2500.0)


_LEADER = '<joint name="lead" type="{}"><parent link="a"/><child link="b"/>{}</joint>'
_FOLLOWER = (
    '<joint name="follow" type="{}"><parent link="b"/><child link="c"/>{}'
    '<mimic joint="lead" multiplier="2"/></joint>'
)
_LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


@pytest.mark.parametrize(
    ("profile", "leader", "follower", "lost"),
    [
        (Profile.GENERIC, "revolute", "revolute", False),
        (Profile.GENERIC, "continuous", "continuous", False),
        (Profile.GENERIC, "prismatic", "revolute", True),
        (Profile.PHYSX, "prismatic", "revolute", False),
        (Profile.PHYSX, "revolute", "continuous", True),
        (Profile.USDPHYSICS, "revolute", "revolute", False),
    ],
)
def test_couplings_that_a_schema_cannot_represent_are_reported(
    tmp_path: Path, profile: Profile, leader: str, follower: str, lost: bool
) -> None:
    """Newton's schema has no units, and PhysX couples joints with limits only."""
    limits = {"continuous": "", "revolute": _LIMIT, "prismatic": _LIMIT}
    file = tmp_path / "r.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        + _LEADER.format(leader, limits[leader])
        + _FOLLOWER.format(follower, limits[follower])
        + "</robot>"
    )

    made = convert(file, tmp_path / "usd", ConvertOptions(profile=profile))

    found = [d for d in made.diagnostics if d.rule == "mimic-unrepresentable"]
    assert len(found) == lost
    assert all("'follow' follows 'lead'" in d.message for d in found)

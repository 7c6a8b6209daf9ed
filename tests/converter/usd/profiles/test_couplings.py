"""Couplings lead to joints that follow none."""

from __future__ import annotations

import pytest

from tests.converter.usd.profiles.joints_of_two_kinds import TURN, chain
from urdf_usd.converter.robot.model import Joint, Mimic
from urdf_usd.converter.usd.profiles.couplings import head_couplings


def _always(*_: object) -> bool:
    return True


def test_a_chain_is_coupled_to_its_head() -> None:
    """Of -0.5 q + 0.1, followed by 0.8 q - 0.2."""
    couplings = head_couplings(chain(), _always)

    assert set(couplings) == {"second", "third"}
    assert couplings["second"] == Mimic("first", -0.5, 0.1)
    assert couplings["third"].joint == "first"
    assert couplings["third"].multiplier == pytest.approx(-0.4)
    assert couplings["third"].offset == pytest.approx(0.8 * 0.1 - 0.2)


def test_the_order_of_joints_does_not_matter() -> None:
    """URDF has none."""
    assert head_couplings(chain()[::-1], _always) == head_couplings(chain(), _always)


def test_a_chain_begins_where_a_coupling_cannot_be_said() -> None:
    """What follows a free joint follows that one."""
    couplings = head_couplings(chain(), lambda name, _: name != "second")

    assert couplings == {"third": Mimic("second", 0.8, -0.2)}


def test_a_chain_is_told_across_what_cannot_be_said() -> None:
    """As between slides, past a turn that follows the one and leads the other."""
    couplings = head_couplings(
        chain(), lambda name, mimic: name == "third" and mimic.joint == "first"
    )

    assert set(couplings) == {"third"}
    assert couplings["third"].joint == "first"
    assert couplings["third"].multiplier == pytest.approx(-0.4)
    assert couplings["third"].offset == pytest.approx(0.8 * 0.1 - 0.2)


def test_what_cannot_be_led_is_not_coupled() -> None:
    """As by a joint of another kind, which is not among those asked about."""
    assert head_couplings(chain()[1:2], _always) == {}


def test_a_loop_ends() -> None:
    """No reader lets one through; whoever builds one is not kept waiting."""
    one = Joint("one", "a", "b", TURN, mimic=Mimic("two", 2.0))
    two = Joint("two", "b", "c", TURN, mimic=Mimic("one", 3.0))

    assert set(head_couplings((one, two), _always)) == {"one", "two"}


def test_a_long_chain_needs_no_depth() -> None:
    """Robots of thousands of joints exist."""
    first = Joint("0", "a", "b", TURN)
    rest = [
        Joint(str(n), "a", "b", TURN, mimic=Mimic(str(n - 1), 1.0, 0.5))
        for n in range(1, 5001)
    ]

    assert head_couplings((first, *rest), _always)["5000"] == Mimic("0", 1.0, 2500.0)

"""Couplings of joints to the first joint of their chain."""

from __future__ import annotations

import pytest

from urdf_usd.conformance.observation.robot import MimicObservation, head_coupling

CHAIN = {
    "b": MimicObservation("a", -0.5, 0.1),
    "c": MimicObservation("b", 0.8, -0.2),
    "d": MimicObservation("c", 2.0, 0.3),
}


def test_joint_without_coupling_has_no_head() -> None:
    assert head_coupling("a", CHAIN.get) is None


@pytest.mark.parametrize("position", [-1.25, 0.0, 0.75])
def test_head_coupling_equals_its_chain(position: float) -> None:
    moved = position
    for name in ("b", "c", "d"):
        moved = CHAIN[name].multiplier * moved + CHAIN[name].offset
    head = head_coupling("d", CHAIN.get)

    assert head is not None
    assert (head.leader, head.steps) == ("a", 3)
    assert head.multiplier * position + head.offset == pytest.approx(moved)


def test_offset_bound_includes_cancelled_terms() -> None:
    cancel = {"b": MimicObservation("a", 1.0, 1e3), "c": MimicObservation("b", 1.0, -1e3)}
    head = head_coupling("c", cancel.get)

    assert head is not None
    assert (head.offset, head.terms) == (0.0, 2e3)


@pytest.mark.parametrize("leader", ["a", "b"])
def test_loop_of_couplings_terminates(leader: str) -> None:
    loop = {"a": MimicObservation(leader, 2.0, 0.1), "b": MimicObservation("a", 3.0, 0.2)}
    head = head_coupling("a", loop.get)

    assert head is not None
    assert head.leader == "a"
    assert head.multiplier == (2.0 if leader == "a" else 6.0)

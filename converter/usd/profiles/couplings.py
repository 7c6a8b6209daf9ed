"""Resolution of chains of mimic joints.

A joint that mimics a mimic joint is coupled to the start of the chain, because Newton
refuses mimic joints as leaders. The motion is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Joint, Mimic


def head_couplings(
    joints: Iterable[Joint], can_couple: Callable[[str, Mimic], bool]
) -> dict[str, Mimic]:
    """Couple mimic joints to the starts of their chains.

    Args:
        joints: Joints that can be coupled.
        can_couple: Whether a schema can represent a coupling of a joint, by name. A
            chain starts where it cannot; a joint that cannot be coupled to the start of
            the rest of its chain is coupled to the start of the whole chain.

    Returns:
        Representable couplings, by mimic joint.
    """
    mimics = {joint.name: joint.mimic for joint in joints}
    whole: dict[str, Mimic] = {}
    decided: dict[str, Mimic | None] = {}
    for follower in mimics:
        chain = []
        name = follower
        while name not in decided and (mimic := mimics.get(name)):
            decided[name] = None
            chain.append((name, mimic))
            name = mimic.joint
        for name, mimic in reversed(chain):
            whole[name] = _behind(mimic, whole.get(mimic.joint))
            couplings = (_behind(mimic, decided.get(mimic.joint)), whole[name])
            decided[name] = next(
                (
                    coupling
                    for coupling in couplings
                    if coupling.joint in mimics and can_couple(name, coupling)
                ),
                None,
            )
    return {name: mimic for name, mimic in decided.items() if mimic}


def unrepresented(
    joints: Iterable[Joint], couplings: Mapping[str, Mimic], schema: str
) -> tuple[Diagnostic, ...]:
    """Report mimic joints whose coupling a schema cannot represent.

    Args:
        joints: Joints that can be coupled.
        couplings: Result of :func:`head_couplings`.
        schema: Name of the schema.
    """
    return tuple(
        Diagnostic(
            "mimic-unrepresentable",
            f"{schema} cannot represent that joint {joint.name!r} follows {joint.mimic.joint!r}",
            joint.location,
        )
        for joint in joints
        if joint.mimic and joint.name not in couplings
    )


def _behind(mimic: Mimic, leader: Mimic | None) -> Mimic:
    """Return the coupling to the leader of the leader, if it has one."""
    if leader is None:
        return mimic
    return Mimic(
        leader.joint,
        mimic.multiplier * leader.multiplier,
        mimic.multiplier * leader.offset + mimic.offset,
    )

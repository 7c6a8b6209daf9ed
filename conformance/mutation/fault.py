"""Faults, the places where they can be seeded, and common edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct
from pxr import Sdf, Usd

from urdf_usd.conformance.mutation.good_asset import GoodAsset

# Profile of the good USD whose attributes a fault changes; `described` is the generic
# one with a robot description file, `mujoco` the variant of an asset with variants.
ProfileName: TypeAlias = Literal["generic", "usdphysics", "physx", "mujoco", "isaac", "described"]
# In place of a check, if the USD engine rejects the USD.
REFUSED = "reader.refuses"
# The verdict is at best *incomplete*, because parts of the USD are missing.
PARTS_MISSING = "reader.parts-missing"
# A direction that is parallel to no axis of any robot.
OBLIQUE = np.array([2.0, -3.0, 6.0]) / 7.0
# Name of a prim that no good asset has.
EXTRA_PRIM = "stranger"

StageEdit: TypeAlias = "Callable[[Usd.Stage, float], None]"


class Scale(Struct, frozen=True):
    """The size of a fault with a variable size.

    Attributes:
        quantity: The quantity that is changed.
        unit: Unit of the size; ``1`` for ratios.
        tolerance: Largest size that may pass.
    """

    quantity: str
    unit: str
    tolerance: float

    @property
    def seeded(self) -> float:
        """The seeded size: twice the tolerance."""
        return 2.0 * self.tolerance


class Seed(Struct, frozen=True, eq=False):
    """One place where a fault can be seeded.

    Attributes:
        subject: The changed part, for reports: ``joint elbow``.
        apply: Edits a stage, given the size, which most faults ignore.
        equivalent: Whether the changed USD is equivalent: a conjugated half turn is
            the same half turn.
    """

    subject: str
    apply: StageEdit
    equivalent: bool = False


class Fault(Struct, frozen=True, eq=False):
    """One kind of fault in a USD.

    Attributes:
        id: Stable identifier; the part before the dot is the group.
        title: The error of a converter, in a few words.
        aims: Checks that detect it: one of them must fail.
        seeds: Places in a USD.
        scale: For faults with a variable size.
        profile: Profile of the USDs in which it can be seeded.
        simulated: Whether simulators are expected to compute something else from it,
            so that their observations are compared where they are installed.
    """

    id: str
    title: str
    aims: tuple[str, ...]
    seeds: Callable[[GoodAsset], Iterable[Seed]]
    scale: Scale | None = None
    profile: ProfileName = "generic"
    simulated: bool = False


def on_prim(path: str, edit: Callable[[Usd.Prim], None]) -> StageEdit:
    """Return the edit of a stage that edits the prim at a path."""

    def apply(stage: Usd.Stage, _: float) -> None:
        edit(stage.GetPrimAtPath(path))

    return apply


def relocate(path: str, target: str) -> StageEdit:
    """Return the edit of a stage that moves a prim to another path."""

    def apply(stage: Usd.Stage, _: float) -> None:
        stage.GetRootLayer().relocates = [(Sdf.Path(path), Sdf.Path(target))]

    return apply


def deactivate(prim: Usd.Prim) -> None:
    """Remove a prim from the composed stage."""
    prim.SetActive(False)


def block(*names: str) -> Callable[[Usd.Prim], None]:
    """Return the edit of a prim that blocks attributes, where present."""

    def edit(prim: Usd.Prim) -> None:
        for name in names:
            if attribute := prim.GetAttribute(name):
                attribute.Block()

    return edit


def set_value(name: str, value: object) -> Callable[[Usd.Prim], None]:
    """Return the edit of a prim that sets an existing attribute."""

    def edit(prim: Usd.Prim) -> None:
        prim.GetAttribute(name).Set(value)

    return edit


def remove_schemas(*names: str) -> Callable[[Usd.Prim], None]:
    """Return the edit of a prim that removes applied schemas by name."""

    def edit(prim: Usd.Prim) -> None:
        for name in names:
            prim.RemoveAppliedSchema(name)

    return edit

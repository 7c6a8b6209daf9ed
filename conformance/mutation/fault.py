"""What a fault is, and where it can be seeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pxr import Usd

    from urdf_usd.conformance.mutation.good_asset import GoodAsset

# Whose words a good USD uses, and a fault spoils.
ProfileName: TypeAlias = Literal["generic", "newton", "physx"]
# What is said instead of a check if the reader refuses the USD.
REFUSED = "reader.refuses"


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a fault that comes in any size.

    Attributes:
        quantity: What it is measured on.
        unit: Unit of the size; ``1`` for ratios.
        tolerance: Largest size that may pass.
    """

    quantity: str
    unit: str
    tolerance: float

    @property
    def seeded(self) -> float:
        """The size that is seeded: well above tolerance, and far below a blunder."""
        return 2.0 * self.tolerance


@dataclass(frozen=True, slots=True, eq=False)
class Seed:
    """One place for a fault.

    Attributes:
        subject: What is spoilt, for the reader: ``joint elbow``.
        apply: Spoils a stage; takes the size as well, which most faults ignore.
        equivalent: Whether the spoilt USD means the same: a half turn is its own
            inverse.
    """

    subject: str
    apply: Callable[[Usd.Stage, float], None]
    equivalent: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """One way to spoil a USD.

    Attributes:
        id: Stable identifier; the part before the dot is the group.
        title: What a converter does wrong, in a few words.
        aims: Checks that answer for it: one of them must fail.
        seeds: Places in a USD.
        scale: For faults that come in any size.
        profile: Profile of the USDs in which it can be seeded.
    """

    id: str
    title: str
    aims: tuple[str, ...]
    seeds: Callable[[GoodAsset], Iterable[Seed]]
    scale: Scale | None = None
    profile: ProfileName = "generic"

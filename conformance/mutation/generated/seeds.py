"""One change of one prim, and the edits that changes consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from pxr import Sdf, Usd, UsdShade

# Groups of seeds that concern no schema.
STAGE = "stage metadata"
PRIM = "prim metadata"
# Purpose of the binding of a contact material.
_PHYSICS = "physics"
Edit: TypeAlias = "Callable[[Usd.Prim], None]"


class SchemaSeed(Struct, frozen=True, eq=False):
    """One wrong value, or another change of one prim.

    Attributes:
        schema: Schema that defines what is changed, or another group.
        edit: The change in a few words; with the schema it identifies the same change
            on all robots.
        path: Path of the changed prim.
        apply: Edits a stage.
        values: The changed properties, with ``*`` for an instance, and their values;
            None for a relationship.
        removed: Whether a schema is removed.
    """

    schema: str
    edit: str
    path: str
    apply: Callable[[Usd.Stage], None]
    values: tuple[tuple[str, object], ...] = ()
    removed: bool = False

    @property
    def key(self) -> str:
        """Identifies the change on all robots."""
        return f"{self.schema}: {self.edit}"


class Site(Struct, frozen=True):
    """A prim of the good stage, or one to be added.

    Attributes:
        path: Its path.
        added: Type of the prim if it is added.
        collider: The collider to which it is bound, if it is a material.
    """

    path: str
    added: str | None = None
    collider: str | None = None

    def seed(
        self,
        schema: str,
        title: str,
        edit: Edit,
        values: Iterable[tuple[str, object]] = (),
        *,
        removed: bool = False,
    ) -> SchemaSeed:
        """Return the seed that edits this prim."""
        apply = partial(self._apply, edit)
        return SchemaSeed(schema, title, self.path, apply, tuple(values), removed)

    def _apply(self, edit: Edit, stage: Usd.Stage) -> None:
        if self.added:
            prim = stage.DefinePrim(self.path, self.added)
        else:
            prim = stage.GetPrimAtPath(self.path)
        if self.collider:
            # Without a physics schema the binding makes no difference.
            binding = UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath(self.collider))
            binding.Bind(UsdShade.Material(prim), materialPurpose=_PHYSICS)
        edit(prim)


def no_edit(_: Usd.Prim) -> None:
    """Leave a prim as it is."""


def both(*edits: Edit) -> Edit:
    """Return an edit that makes several edits, in order."""

    def edit(prim: Usd.Prim) -> None:
        for one in edits:
            one(prim)

    return edit


def applying(schema: str) -> Edit:
    """Return an edit that applies an API schema."""
    return lambda prim: prim.AddAppliedSchema(schema)


def removing(schema: str) -> Edit:
    """Return an edit that removes an API schema."""
    return lambda prim: prim.RemoveAppliedSchema(schema)


def typing_as(name: str) -> Edit:
    """Return an edit that changes the type of a prim."""
    return lambda prim: prim.SetTypeName(name)


def author(name: str, kind: Sdf.ValueTypeName, value: object, prim: Usd.Prim) -> None:
    """Author an attribute."""
    prim.CreateAttribute(name, kind, custom=False).Set(value)


def block(name: str, prim: Usd.Prim) -> None:
    """Block an attribute, which then has its fallback."""
    prim.GetAttribute(name).Block()


def retarget(name: str, paths: Sequence[str], prim: Usd.Prim) -> None:
    """Replace the targets of a relationship."""
    prim.CreateRelationship(name, custom=False).SetTargets(paths)


def deactivate(prim: Usd.Prim) -> None:
    """Make a prim inactive."""
    prim.SetActive(False)


def make_instanceable(prim: Usd.Prim) -> None:
    """Make a prim instanceable."""
    prim.SetInstanceable(True)


def set_metadata(name: str, value: object, stage: Usd.Stage) -> None:
    """Set metadata of a stage."""
    stage.SetMetadata(name, value)

"""Variant sets of a stage: selection, sets without selection, combinations.

Selections are authored in the session layer, which is the strongest layer of a stage;
no file is changed. A variant can contain further variant sets, which exist only while
it is selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from msgspec import Struct
from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.messages import truncate_list
from urdf_usd.converter.options import VariantChoice

# Combinations of variants that are checked at most.
MOST_COMBINATIONS = 64
# Name of variants without what their set is about, in Isaac Sim and in our assets.
_NONE = "none"
_PHYSICS, _COLLIDERS = "physics", "colliders"


class VariantSet(Struct, frozen=True):
    """A variant set of a prim.

    Attributes:
        prim: Path of the prim.
        name: Name of the set.
        variants: Names of its variants, sorted.
        selection: Selected variant, which may not exist; empty if there is none.
    """

    prim: str
    name: str
    variants: tuple[str, ...]
    selection: str

    def __str__(self) -> str:
        return f"{self.prim}:{self.name} ({', '.join(self.variants)})"


class Combination(Struct, frozen=True):
    """A combination of variants of a robot.

    Attributes:
        choices: One for each variant set, with prims.
        omission: The choice of a variant with the name ``none`` without which the robot
            has physics or colliders, and these words; None if there is no such choice.
    """

    choices: tuple[VariantChoice, ...]
    omission: tuple[VariantChoice, str] | None = None


def robot_variant_sets(stage: Usd.Stage) -> Iterator[VariantSet]:
    """Yield the variant sets of the default prim and of prims below it.

    Without a default prim, yields those of all prims. Prims in instances are skipped:
    their variants cannot be selected one by one.
    """
    yield from _variant_sets(stage.GetDefaultPrim() or stage.GetPseudoRoot())


def _variant_sets(root: Usd.Prim) -> Iterator[VariantSet]:
    for prim in Usd.PrimRange(root):
        yield from _sets_of(prim)


def _sets_of(prim: Usd.Prim) -> Iterator[VariantSet]:
    if not prim.HasVariantSets():
        return
    sets = prim.GetVariantSets()
    for name in sets.GetNames():
        variants = tuple(sorted(sets.GetVariantSet(name).GetVariantNames()))
        selection = sets.GetVariantSelection(name)
        if variants:
            yield VariantSet(str(prim.GetPath()), name, variants, selection)


def unselected_variant_sets(stage: Usd.Stage) -> Iterator[Diagnostic]:
    """Report the variant sets of the robot without a selection that exists."""
    for each in robot_variant_sets(stage):
        if each.selection in each.variants:
            continue
        problem = "has no selection"
        if each.selection:
            problem = f"selects {each.selection!r}, which does not exist"
        yield Diagnostic(
            "variant-unselected",
            f"variant set {each.name!r} of {each.prim} {problem}; its variants are "
            f"{_quoted(each.variants)}: --variant {each.prim}:{each.name}=NAME selects"
            " one",
        )


def select_variants(
    stage: Usd.Stage, choices: Iterable[VariantChoice], *, optional: bool = False
) -> tuple[tuple[VariantChoice, ...], tuple[Diagnostic, ...]]:
    """Select variants of a stage, in any order that nested sets require.

    Args:
        stage: Its session layer is edited.
        choices: Of several for one set, the last counts.
        optional: Whether the stage may lack a variant set that is named.

    Returns:
        The choices that were applied, each with its prim; and a note for each variant
        set that the stage lacks.

    Raises:
        StageError: A prim, set or variant does not exist, or several prims have the
            set.
    """
    pending = list(choices)
    selected: dict[tuple[str, str], VariantChoice] = {}
    while pending:
        applied = [
            (choice, owner)
            for choice in pending
            if (owner := _owner(stage, choice)) and choice.variant in owner.variants
        ]
        if not applied:
            break
        # One at a time: a variant may contain the next set, or remove it.
        choice, owner = applied[0]
        pending.remove(choice)
        _author(stage, owner, choice.variant)
        selected[owner.prim, owner.name] = VariantChoice(owner.name, choice.variant, owner.prim)
    notes = []
    for choice in pending:
        owner = _owner(stage, choice)
        if optional and owner is None:
            message = f"{_without(stage, choice)}; the USD is read as it is"
            notes.append(Diagnostic("variant-absent", message))
            continue
        problem = _without(stage, choice)
        if owner is not None:
            problem = (
                f"variant set {owner.name!r} of {owner.prim} has no variant "
                f"{choice.variant!r}; its variants are {_quoted(owner.variants)}"
            )
        _refuse(problem)
    for choice in selected.values():
        found = _owner(stage, choice)
        if found is None or found.selection != choice.variant:
            _refuse(
                f"variant set {choice.variant_set!r} of {choice.prim} does not exist "
                "with the other variants that are selected"
            )
    return tuple(selected.values()), tuple(notes)


def _author(stage: Usd.Stage, owner: VariantSet, variant: str) -> None:
    over = Sdf.CreatePrimInLayer(stage.GetSessionLayer(), owner.prim)
    over.variantSelections[owner.name] = variant


def _owner(stage: Usd.Stage, choice: VariantChoice) -> VariantSet | None:
    """Return the variant set of a choice; None if there is none, or several."""
    found = _owners(stage, choice)
    return found[0] if len(found) == 1 else None


def _owners(stage: Usd.Stage, choice: VariantChoice) -> list[VariantSet]:
    name = choice.variant_set
    prim = _prim_of(stage, choice)
    # Nothing can be authored in an instance.
    if prim and not prim.IsInstanceProxy():
        own = [each for each in _sets_of(prim) if each.name == name]
        if own:
            return own
    if choice.prim is not None:
        return []
    return [each for each in _variant_sets(stage.GetPseudoRoot()) if each.name == name]


def _prim_of(stage: Usd.Stage, choice: VariantChoice) -> Usd.Prim | None:
    if choice.prim is None:
        return stage.GetDefaultPrim()
    if not Sdf.Path.IsValidPathString(choice.prim):
        return None
    path = Sdf.Path(choice.prim)
    return stage.GetPrimAtPath(path) if path.IsAbsoluteRootOrPrimPath() else None


def _without(stage: Usd.Stage, choice: VariantChoice) -> str:
    """Describe why no single variant set belongs to a choice."""
    several = _owners(stage, choice)
    if several:
        prims = truncate_list(each.prim for each in several)
        first = several[0].prim
        return (
            f"{len(several)} prims have a variant set {choice.variant_set!r}: "
            f"{', '.join(prims)}; name one of them, as in --variant "
            f"{first}:{choice.variant_set}={choice.variant}"
        )
    subject = "the USD"
    if choice.prim is not None:
        subject = f"prim {choice.prim}"
        prim = _prim_of(stage, choice)
        if not prim:
            subject = f"the USD has no prim {choice.prim}, hence"
        elif prim.IsInstanceProxy():
            subject = f"prim {choice.prim}, which is part of an instance,"
    existing = truncate_list(map(str, _variant_sets(stage.GetPseudoRoot())))
    listed = f"there are {', '.join(existing)}" if existing else "the USD has none"
    return f"{subject} has no variant set {choice.variant_set!r}; {listed}"


def variant_combinations(
    stage: Usd.Stage, choices: Sequence[VariantChoice] = ()
) -> tuple[Combination, ...]:
    """List all combinations of variants of the robot.

    Args:
        stage: Its session layer is edited.
        choices: Variants that all combinations have in common.

    Returns:
        The combinations; ``choices`` come first, then those in the order of prims and
        of the names of variants. Omissions by ``choices`` are not stated.

    Raises:
        StageError: A choice does not exist, or there are more than 64 combinations.
    """
    selected, _ = select_variants(stage, choices)
    found = {}
    for combination in _combinations(stage, selected):
        found[combination] = _kinds_of_physics(stage)
        if len(found) > MOST_COMBINATIONS:
            sets = truncate_list(map(str, robot_variant_sets(stage)))
            message = (
                f"the variant sets {', '.join(sets)} have more than "
                f"{MOST_COMBINATIONS} combinations"
            )
            raise StageError((Diagnostic("variant-combinations", message),))
    return tuple(Combination(each, _omission(each, found, len(selected))) for each in found)


def _kinds_of_physics(stage: Usd.Stage) -> frozenset[str]:
    """Return whether the robot has physics and colliders."""
    found = set()
    root = stage.GetDefaultPrim() or stage.GetPseudoRoot()
    for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()):
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            return frozenset({_PHYSICS, _COLLIDERS})
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.IsA(UsdPhysics.Joint):
            found.add(_PHYSICS)
    return frozenset(found)


def _omission(
    combination: tuple[VariantChoice, ...],
    found: Mapping[tuple[VariantChoice, ...], frozenset[str]],
    given: int,
) -> tuple[VariantChoice, str] | None:
    """Return the omission of a combination, except by one of the given choices."""
    for place, choice in enumerate(combination):
        if choice.variant != _NONE or place < given:
            continue
        before, after = combination[:place], combination[place + 1 :]
        others = [
            kinds
            for other, kinds in found.items()
            if (other[:place], other[place + 1 :]) == (before, after)
        ]
        for kind in (_PHYSICS, _COLLIDERS):
            if kind not in found[combination] and any(kind in one for one in others):
                return choice, kind
    return None


def _combinations(
    stage: Usd.Stage, selected: tuple[VariantChoice, ...]
) -> Iterator[tuple[VariantChoice, ...]]:
    """Yield combinations that begin with some choices, which are selected already."""
    known = {(choice.prim, choice.variant_set) for choice in selected}
    following = next(
        (each for each in robot_variant_sets(stage) if (each.prim, each.name) not in known),
        None,
    )
    if following is None:
        yield selected
        return
    for variant in following.variants:
        _author(stage, following, variant)
        choice = VariantChoice(following.name, variant, following.prim)
        yield from _combinations(stage, (*selected, choice))
    over = stage.GetSessionLayer().GetPrimAtPath(following.prim)
    del over.variantSelections[following.name]


def selecting_layer(root: str, choices: Iterable[VariantChoice], default: str | None = None) -> str:
    """Return the text of a layer over a USD that selects variants.

    Args:
        root: Root layer of the USD; an absolute path.
        choices: With prims.
        default: Path of the default prim, if it is another.
    """
    below = Sdf.Layer.FindOrOpen(root)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    # Stage metadata is read from the root layer alone; relocations of all sublayers.
    for key in below.pseudoRoot.ListInfoKeys():
        if not key.startswith("subLayer") and key != "layerRelocates":
            layer.pseudoRoot.SetInfo(key, below.pseudoRoot.GetInfo(key))
    layer.subLayerPaths.append(below.identifier)
    if default is not None:
        layer.defaultPrim = default
    for choice in choices:
        over = Sdf.CreatePrimInLayer(layer, choice.prim)
        over.variantSelections[choice.variant_set] = choice.variant
    text: str = layer.ExportToString()
    return text


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, truncate_list(names)))


def _refuse(message: str) -> NoReturn:
    raise StageError((Diagnostic("variant-unknown", message),))

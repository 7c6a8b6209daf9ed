"""Faults in the robot schema of Isaac Sim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import structs
from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.conformance.mutation.fault import (
    Fault,
    Seed,
    on_prim,
    remove_schemas,
)
from urdf_usd.conformance.mutation.good_asset import GoodAsset

_AIMS = ("structure.articulation",)
_LINKS = "isaac:physics:robotLinks"
_JOINTS = "isaac:physics:robotJoints"
_OTHER = "other"
_FEW = 2


def _targets(asset: GoodAsset, name: str) -> list[Sdf.Path]:
    relationship = asset.stage.GetDefaultPrim().GetRelationship(name)
    return list(relationship.GetTargets()) if relationship else []


def _on_robot(asset: GoodAsset, edit: Callable[[Usd.Prim], None]) -> Seed:
    return Seed("robot", on_prim(str(asset.stage.GetDefaultPrim().GetPath()), edit))


def _remove(name: str, path: Sdf.Path, prim: Usd.Prim) -> None:
    relationship = prim.GetRelationship(name)
    relationship.SetTargets([one for one in relationship.GetTargets() if one != path])


def _reverse(name: str, prim: Usd.Prim) -> None:
    relationship = prim.GetRelationship(name)
    relationship.SetTargets(list(reversed(relationship.GetTargets())))


def _missing(name: str, schema: str, asset: GoodAsset) -> Iterator[Seed]:
    """Remove parts from a list; equivalent for frames, which need not be listed."""
    for path in _targets(asset, name):
        listed = asset.stage.GetPrimAtPath(path).GetPrimTypeInfo()
        yield Seed(
            path.name,
            on_prim(
                str(asset.stage.GetDefaultPrim().GetPath()),
                partial(_remove, name, path),
            ),
            equivalent=schema not in listed.GetAppliedAPISchemas()
            # An empty list states nothing.
            or len(_targets(asset, name)) < _FEW,
        )


def _unlabelled(name: str, schema: str, asset: GoodAsset) -> Iterator[Seed]:
    """Remove schemas, without which Isaac Sim ignores an entry."""
    for path in _targets(asset, name):
        listed = asset.stage.GetPrimAtPath(path).GetPrimTypeInfo()
        if schema in listed.GetAppliedAPISchemas():
            yield Seed(path.name, on_prim(str(path), remove_schemas(schema)))


def _reversed(name: str, asset: GoodAsset) -> Iterator[Seed]:
    """Reverse a list; equivalent for joints that are all at one link."""
    paths = _targets(asset, name)
    if len(paths) > _FEW:
        seed = _on_robot(asset, partial(_reverse, name))
        yield structs.replace(seed, equivalent=name == _JOINTS and not _has_chain(asset, paths))


def _has_chain(asset: GoodAsset, joints: Iterable[Sdf.Path]) -> bool:
    """Whether one of the joints carries another one."""
    bodies: tuple[set[Sdf.Path], set[Sdf.Path]] = set(), set()
    for path in joints:
        joint = UsdPhysics.Joint(asset.stage.GetPrimAtPath(path))
        for found, ends in zip(bodies, (joint.GetBody0Rel(), joint.GetBody1Rel()), strict=True):
            found.update(ends.GetTargets())
    return not bodies[0].isdisjoint(bodies[1])


def _namespace(asset: GoodAsset) -> Iterator[Seed]:
    def edit(prim: Usd.Prim) -> None:
        prim.CreateAttribute("isaac:namespace", Sdf.ValueTypeNames.String).Set(_OTHER)

    yield _on_robot(asset, edit)


def _renamed(asset: GoodAsset) -> Iterator[Seed]:
    for name, attribute in (
        (_LINKS, "isaac:nameOverride"),
        (_JOINTS, "isaac:NameOverride"),
    ):
        # The first one is a link or joint, not a frame.
        for path in _targets(asset, name)[:1]:
            edit = partial(_override, attribute)
            yield Seed(path.name, on_prim(str(path), edit))


def _override(attribute: str, prim: Usd.Prim) -> None:
    prim.CreateAttribute(attribute, Sdf.ValueTypeNames.String).Set(_OTHER)


ROBOT_SCHEMA_FAULTS = (
    Fault(
        "robot_schema.link_missing",
        "a link is missing in the list of Isaac Sim",
        _AIMS,
        partial(_missing, _LINKS, "IsaacLinkAPI"),
        profile="isaac",
    ),
    Fault(
        "robot_schema.joint_missing",
        "a joint is missing in the list of Isaac Sim",
        _AIMS,
        partial(_missing, _JOINTS, "IsaacJointAPI"),
        profile="isaac",
    ),
    Fault(
        "robot_schema.link_unlabelled",
        "a link in the list of Isaac Sim has no schema",
        _AIMS,
        partial(_unlabelled, _LINKS, "IsaacLinkAPI"),
        profile="isaac",
    ),
    Fault(
        "robot_schema.joint_unlabelled",
        "a joint in the list of Isaac Sim has no schema",
        _AIMS,
        partial(_unlabelled, _JOINTS, "IsaacJointAPI"),
        profile="isaac",
    ),
    Fault(
        "robot_schema.link_order",
        "Isaac Sim lists children before their parents",
        _AIMS,
        partial(_reversed, _LINKS),
        profile="isaac",
    ),
    Fault(
        "robot_schema.joint_order",
        "Isaac Sim lists joints in the wrong order",
        _AIMS,
        partial(_reversed, _JOINTS),
        profile="isaac",
    ),
    Fault(
        "robot_schema.namespace",
        "names have a namespace in Isaac Sim",
        _AIMS,
        _namespace,
        profile="isaac",
    ),
    Fault(
        "robot_schema.name",
        "a part has another name in Isaac Sim",
        _AIMS,
        _renamed,
        profile="isaac",
    ),
)

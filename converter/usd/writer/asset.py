"""The layers of an asset, and the variants of its interface.

``<robot>.usda`` is the interface, with payloads. In ``payload/``, ``Contents.usda`` has
the sublayers ``Physics.usda``, ``Materials.usda`` and ``Geometry.usda``; two libraries
contain meshes and shader networks in crate format. Custom data of the URDF is in
``Extensions.usda``, the strongest sublayer, which can be removed. All references are
relative.

``Physics`` and ``Colliders`` are variant sets of the default prim; the first is named
as in Isaac Sim. The variant ``none`` of ``Physics`` composes no layer with physics;
that of ``Colliders`` adds ``NoColliders.usda``, and bodies keep their authored mass.

In the profile of ROS the interface has references instead of payloads, and meshes and
materials are payloads; schemas of Newton and of ROS are in ``Newton.usda`` and
``Ros.usda``, and all ``urdf:`` attributes in ``Extensions.usda``.

In an asset for several simulators, ``Contents.usda`` has UsdPhysics alone, and variants
of the interface add ``Newton.usda``, ``Physx.usda`` or ``Mujoco.usda``; ``physics`` has
UsdPhysics alone. In the profile of SimReady these are ``newton.usda``, ``physx.usda``
and ``mujoco.usda`` in ``runnables/physics/``, each in a variant set of its own with
``Disabled`` and ``Enabled``; names of layers with physics end in ``physics.usda``, and
``Robot.usda`` has the robot schema of Isaac Sim if the type of the robot is given. That
of the profile of Isaac Sim has it always, and no layer for MuJoCo; :mod:`.layouts`
rearranges it.

What a robot description file states is in ``Simulation.usda``, which is stronger than
all layers but ``Extensions.usda``; in an asset for several simulators, what it states
in their schemas is in their layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache, partial
from pathlib import Path

from pxr import Gf, Sdf, Tf, Usd, Vt

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.options import ConvertOptions, Layout, Profile
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.mass_properties import principal_inertia
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.simulation.sources import Simulation
from urdf_usd.converter.urdf.uris import declared_version
from urdf_usd.converter.usd.profiles import ROBOT_TYPE, author_profile, simready
from urdf_usd.converter.usd.profiles.isaac import UNVERSIONED, author_robot_schema
from urdf_usd.converter.usd.profiles.mujoco import author_mujoco
from urdf_usd.converter.usd.simulation.layer import author_simulation
from urdf_usd.converter.usd.urdf_attributes import LINK_AXES, LINK_MOMENTS, write_numbers
from urdf_usd.converter.usd.writer.bodies import author_bodies
from urdf_usd.converter.usd.writer.extensions import author_extensions, has_extensions
from urdf_usd.converter.usd.writer.geometry import author_geometry, rest_extent
from urdf_usd.converter.usd.writer.joints import articulation_roots, author_joints
from urdf_usd.converter.usd.writer.materials import author_material_library, author_materials
from urdf_usd.converter.usd.writer.meshes import author_mesh_library
from urdf_usd.converter.usd.writer.prims import Prims, legal_name, place_prims
from urdf_usd.converter.usd.writer.specs import (
    applied,
    apply,
    define,
    over,
    prim_specs,
    set_applied,
    show_spec_name,
    write,
    write_new,
)
from urdf_usd.converter.usd.writer.thumbnail import write_thumbnail

PAYLOAD = "payload"
# OpenUSD composes recursively: with the default stack size of Linux, usd-core 26.11
# crashes between 1500 and 2000 nested prims.
DEEPEST = 1000
GEOMETRY_LIBRARY = "GeometryLibrary.usdc"
MATERIALS_LIBRARY = "MaterialsLibrary.usdc"
CONTENTS = "Contents.usda"
EXTENSIONS_LAYER = "Extensions.usda"
GEOMETRY_LAYER = "Geometry.usda"
MATERIALS_LAYER = "Materials.usda"
PHYSICS_LAYER = "Physics.usda"
SIMULATION_LAYER = "Simulation.usda"
NO_COLLIDERS_LAYER = "NoColliders.usda"
NEWTON_LAYER = "Newton.usda"
PHYSX_LAYER = "Physx.usda"
MUJOCO_LAYER = "Mujoco.usda"
ROS_LAYER = "Ros.usda"
ROBOT_LAYER = "Robot.usda"
THUMBNAILS = ".thumbs"
# Folder of the layers of simulators in an asset of SimReady (RV.002 and RV.005), and
# these layers by variant set.
RUNNABLES = "runnables"
RUNNABLE_LAYERS = {
    "PhysX": f"{RUNNABLES}/physics/physx.usda",
    "Newton": f"{RUNNABLES}/physics/newton.usda",
    "MuJoCo": f"{RUNNABLES}/physics/mujoco.usda",
}
# Names of layers with physics in an asset of SimReady, which RC.005 recognises by them.
_SIMREADY_NAMES = {
    PHYSICS_LAYER: "physics.usda",
    SIMULATION_LAYER: "simulation_physics.usda",
}
# Strongest first.
WITHOUT_PHYSICS = (MATERIALS_LAYER, GEOMETRY_LAYER)
_SUBLAYERS = (PHYSICS_LAYER, *WITHOUT_PHYSICS)
PAYLOAD_LAYERS = frozenset(
    {
        *(CONTENTS, EXTENSIONS_LAYER, SIMULATION_LAYER, *_SUBLAYERS, NO_COLLIDERS_LAYER),
        *(NEWTON_LAYER, PHYSX_LAYER, MUJOCO_LAYER, ROS_LAYER, ROBOT_LAYER),
        *(GEOMETRY_LIBRARY, MATERIALS_LIBRARY, *_SIMREADY_NAMES.values()),
    }
)

PHYSICS_SET, COLLIDERS_SET = "Physics", "Colliders"
WITH_PHYSICS = "physics"
WITH_NEWTON, WITH_PHYSX, WITH_MUJOCO = "newton", "physx", "mujoco"
NONE = "none"
_VARIANT_OF = {NEWTON_LAYER: WITH_NEWTON, PHYSX_LAYER: WITH_PHYSX, MUJOCO_LAYER: WITH_MUJOCO}
# Identifies assets that may be replaced.
_CREATOR = "urdf-usd convert"
# Standard gravity, rounded as in simulators and URDF tools [m/s^2].
_GRAVITY = 9.81
_WRITING = "Error occurred writing file: "
_UNWRITTEN = ("Failed to write", "Could not close", "Unable to open file")
# Errors of OpenUSD among which the cause is.
_MOST_ERRORS = 20
_DEFAULTS = ConvertOptions()

Variants = Mapping[str, Sequence[str]]
"""Layers, strongest first, by variant; the default variant is the first."""


class Arc(Enum):
    """Composition arc from the interface to the content."""

    PAYLOAD = "payload"
    REFERENCE = "reference"


def asset_name(robot: Robot, layout: Layout = Layout.LAYERED) -> str:
    """Return the name of the root layer or package of a robot's asset."""
    return f"{legal_name(robot.name)}{layout.suffix}"


def thumbnail_path(asset: Path) -> Path:
    """Return the path of the thumbnail of a root layer (SimReady, SR.002)."""
    return asset.parent / THUMBNAILS / "256x256" / f"{asset.name}.png"


def is_written_here(file: Path) -> bool:
    """Return whether a root layer was written by a conversion."""
    try:
        layer = Sdf.Layer.OpenAsAnonymous(str(file), metadataOnly=True)
    except Tf.ErrorException:
        return False
    return bool(layer and layer.customLayerData.get("creator") == _CREATOR)


@contextmanager
def system_errors() -> Iterator[None]:
    """Raise errors of OpenUSD about files that it cannot write as ``OSError``.

    A full disk leads to an error of OpenUSD per block that is written.

    Raises:
        OSError: A layer could not be written.
    """
    try:
        yield
    except Tf.ErrorException as error:
        for one in error.args[:_MOST_ERRORS]:
            text = " ".join(one.commentary.split())
            if text.startswith((_WRITING, *_UNWRITTEN)):
                raise OSError(text.removeprefix(_WRITING)) from None
        raise


def author_asset(
    robot: Robot,
    tree: Tree,
    bodies: BodyAssignment,
    folder: Path,
    options: ConvertOptions = _DEFAULTS,
    simulation: Simulation | None = None,
) -> tuple[Diagnostic, ...]:
    """Write a robot as a layered asset.

    Args:
        robot: The robot.
        tree: Its links in order.
        bodies: Its bodies.
        folder: Existing empty folder.
        options: Profile, nesting of bodies, shader networks, variants, scene, metadata.
        simulation: Settings of a robot description file, if there is one.

    Returns:
        Diagnostics about omissions and changes.

    Raises:
        AuthoringError: A number is too large for float32, or links are nested too
            deeply.
    """
    profile = options.profile
    payload = folder / PAYLOAD
    payload.mkdir()
    prims = place_prims(robot.name, tree, bodies, options.nesting, scene=options.scene)
    for name, path in prims.link.items():
        if path.pathElementCount > DEEPEST:
            message = f"link {name!r} is nested more than {DEEPEST} prims deep"
            raise AuthoringError((Diagnostic("tree-depth", message, tree.link[name].location),))
    metadata: Mapping[str, str] = dict(options.metadata)
    lacking: tuple[Diagnostic, ...] = ()
    if profile is Profile.SIMREADY:
        metadata, lacking = simready.complete_metadata(robot, metadata)

    shapes = _new_layer(payload / GEOMETRY_LIBRARY)
    meshes = author_mesh_library(robot, shapes)
    appearances = _new_layer(payload / MATERIALS_LIBRARY)
    materials = author_material_library(robot, meshes, appearances, payload, options.materials)

    several = options.physics_variants or profile is Profile.ISAAC
    simulators = _simulator_layers(profile) if several else {}
    # In SimReady the type of the robot decides: without it, the asset is neutral.
    typed = profile is Profile.ISAAC or bool(metadata.get(ROBOT_TYPE))
    files = _sublayers(robot, profile, simulators, simulated=simulation is not None, typed=typed)
    layer = {
        name: _new_layer(folder / path)
        for name, path in (
            {n: f"{PAYLOAD}/{file}" for n, file in files.items()} | simulators
        ).items()
    }
    physics, geometry = layer[PHYSICS_LAYER], layer[GEOMETRY_LAYER]
    found = (*meshes.diagnostics, *materials.diagnostics)
    found += author_geometry(geometry, prims, meshes, f"./{GEOMETRY_LIBRARY}")
    author_materials(layer[MATERIALS_LAYER], geometry, prims, materials, f"./{MATERIALS_LIBRARY}")
    define(physics, prims.physics, "Scope")
    author_bodies(physics, geometry, prims, meshes)
    author_joints(physics, prims)
    extent = rest_extent(geometry, shapes, prims)
    for one in layer.values():
        # A payload of a layer without its default prim would not resolve.
        Sdf.CreatePrimInLayer(one, prims.robot)
        one.defaultPrim = prims.robot.name
    found += author_profile(physics, prims, profile)
    if several:
        other = Profile.GENERIC if profile.is_for_physx else Profile.PHYSX
        found += author_profile(physics, prims, other)
    for path in articulation_roots(prims):
        apply(over(physics, path), "PhysicsArticulationRootAPI")
    if prims.scene is not None:
        # The schema's fallbacks mean the same, but consumers have to interpret them.
        scene = define(physics, prims.scene, "PhysicsScene")
        write(scene, "physics:gravityDirection", Gf.Vec3f(0.0, 0.0, -1.0))
        write(scene, "physics:gravityMagnitude", _GRAVITY)

    sublayers = [layer[name] for name in _SUBLAYERS]
    # For profiles that need a stage; an open one recomposes for every authored prim.
    composed = cache(partial(_composed, sublayers))
    if MUJOCO_LAYER in layer:
        found += author_mujoco(layer[MUJOCO_LAYER], physics, composed(), prims, simulation)
    if simulation is not None:
        found += author_simulation(
            layer[SIMULATION_LAYER],
            composed(),
            simulation,
            prims,
            newton=several or not (profile.is_for_physx or profile is Profile.USDPHYSICS),
            physx=several or profile.is_for_physx,
            selected=not (several and profile is Profile.SIMREADY),
        )
    custom = layer.get(EXTENSIONS_LAYER)
    if custom is not None:
        author_extensions(custom, sublayers, shapes, robot, prims)
    declared = declared_version(Path(robot.location.file)) if robot.location else None
    version = declared or UNVERSIONED
    if typed:
        author_robot_schema(layer[ROBOT_LAYER], composed(), prims, version, metadata, custom)
    if profile is Profile.SIMREADY:
        found += simready.complete(physics, shapes, prims, robot)
    _isolate(layer, profile, several=several)

    contents = _new_layer(payload / CONTENTS)
    contents.subLayerPaths = [f"./{name}" for name in files.values()]
    contents.defaultPrim = prims.robot.name
    for written in (shapes, appearances, contents, *layer.values()):
        written.Save()
    choices = {
        COLLIDERS_SET: {"colliders": (), NONE: _author_no_colliders(geometry, prims, payload)},
        **_physics_choices(profile, simulators),
    }
    interface = _new_layer(folder / asset_name(robot))
    _author_interface(interface, robot, prims, version, extent)
    arc = Arc.REFERENCE if profile is Profile.ROS else Arc.PAYLOAD
    for name, variants in choices.items():
        author_choice(interface.GetPrimAtPath(prims.robot), name, variants, arc)
    if profile is Profile.SIMREADY:
        mass = sum(body.mass for body in bodies.bodies)
        simready.author_metadata(interface, metadata, len(bodies.bodies), mass)
        if simulators:
            simready.author_variants(interface, RUNNABLE_LAYERS, "Enabled")
        write_thumbnail(composed(), thumbnail_path(folder / asset_name(robot)))
    interface.Save()
    return (*found, *lacking)


def _simulator_layers(profile: Profile) -> dict[str, str]:
    """Return the paths of the layers of simulators, relative to the asset.

    That of the profile is the first.
    """
    if profile is Profile.SIMREADY:
        return dict(
            zip((PHYSX_LAYER, NEWTON_LAYER, MUJOCO_LAYER), RUNNABLE_LAYERS.values(), strict=True)
        )
    names = [PHYSX_LAYER, NEWTON_LAYER] if profile.is_for_physx else [NEWTON_LAYER, PHYSX_LAYER]
    if profile is not Profile.ISAAC:
        names.append(MUJOCO_LAYER)
    return {name: f"{PAYLOAD}/{name}" for name in names}


def _sublayers(
    robot: Robot,
    profile: Profile,
    simulators: Mapping[str, str],
    *,
    simulated: bool,
    typed: bool,
) -> dict[str, str]:
    """Return the file names of the sublayers of the content, strongest first."""
    settings = (SIMULATION_LAYER,) if simulated else ()
    if profile is Profile.ROS:
        newton = () if NEWTON_LAYER in simulators else (NEWTON_LAYER,)
        names = (EXTENSIONS_LAYER, *settings, *newton, ROS_LAYER, *_SUBLAYERS)
    else:
        schema = (ROBOT_LAYER,) if typed else ()
        extensions = (EXTENSIONS_LAYER,) if has_extensions(robot) else ()
        names = (*schema, *extensions, *settings, *_SUBLAYERS)
    renamed = _SIMREADY_NAMES if profile is Profile.SIMREADY else {}
    return {name: renamed.get(name, name) for name in names}


def _physics_choices(profile: Profile, simulators: Mapping[str, str]) -> Mapping[str, Variants]:
    """Return the layers of the variants with and without physics."""
    contents = f"./{PAYLOAD}/{CONTENTS}"
    if profile is Profile.SIMREADY and simulators:
        # Newton's schemas include those of UsdPhysics, so that a variant without
        # physics would have some if Newton is enabled. RV.001 and RV.004.
        chosen = {
            name: {"Disabled": (), "Enabled": (f"./{path}",)}
            for name, path in RUNNABLE_LAYERS.items()
        }
        return {**chosen, PHYSICS_SET: {WITH_PHYSICS: (contents,)}}
    variants = {_VARIANT_OF[name]: (f"./{path}", contents) for name, path in simulators.items()}
    without = tuple(f"./{PAYLOAD}/{name}" for name in WITHOUT_PHYSICS)
    return {PHYSICS_SET: {**variants, WITH_PHYSICS: (contents,), NONE: without}}


def _author_interface(
    layer: Sdf.Layer, robot: Robot, prims: Prims, version: str, extent: Gf.Range3d
) -> None:
    """Write the default prim, its metadata and the extent of the robot at rest [m]."""
    layer.customLayerData = {"creator": _CREATOR}
    prim = define(layer, prims.robot, "Xform")
    layer.defaultPrim = prims.robot.name
    show_spec_name(prim, robot.name)
    prim.kind = "component"
    prim.assetInfo = {
        "name": robot.name,
        "version": version,
        "identifier": Sdf.AssetPath(f"./{layer.GetDisplayName()}"),
    }
    if not extent.IsEmpty():
        apply(prim, "GeomModelAPI")
        # One entry, of the default purpose: entries for others would need empty, hence
        # infinite, bounds for the purposes in between.
        ends = Vt.Vec3fArray([Gf.Vec3f(extent.min), Gf.Vec3f(extent.max)])
        write_new(prim, "extentsHint", Sdf.ValueTypeNames.Float3Array, ends)


def author_choice(prim: Sdf.PrimSpec, name: str, variants: Variants, arc: Arc) -> None:
    """Add a variant set, which becomes the weakest, with its first variant selected."""
    prim.variantSetNameList.prependedItems.append(name)
    chosen = Sdf.VariantSetSpec(prim, name)
    for variant, layers in variants.items():
        content = Sdf.VariantSpec(chosen, variant).primSpec
        for layer in layers:
            if arc is Arc.PAYLOAD:
                content.payloadList.prependedItems.append(Sdf.Payload(layer))
            else:
                content.referenceList.prependedItems.append(Sdf.Reference(layer))
    prim.variantSelections[name] = next(iter(variants))


def _author_no_colliders(geometry: Sdf.Layer, prims: Prims, payload: Path) -> tuple[str, ...]:
    """Write the layer that deactivates colliders, if there are any."""
    shapes = (path for paths in prims.collision.values() for path in paths)
    colliders = [path for path in shapes if geometry.GetPrimAtPath(path)]
    if not colliders:
        return ()
    layer = _new_layer(payload / NO_COLLIDERS_LAYER)
    for path in colliders:
        over(layer, path).active = False
    layer.defaultPrim = prims.robot.name
    layer.Save()
    return (f"./{PAYLOAD}/{NO_COLLIDERS_LAYER}",)


def _composed(layers: Sequence[Sdf.Layer]) -> Usd.Stage:
    """Compose layers, strongest first, on an anonymous stage."""
    stack = Sdf.Layer.CreateAnonymous()
    stack.subLayerPaths = [layer.identifier for layer in layers]
    stack.defaultPrim = layers[0].defaultPrim
    return Usd.Stage.Open(stack)


def _new_layer(path: Path) -> Sdf.Layer:
    if path.suffix == ".usdc":
        # Later, the file is extended; written at once, it would have other bytes.
        layer = Sdf.Layer.CreateNew(str(path))
    else:
        layer = Sdf.Layer.New(Sdf.FileFormat.FindByExtension("usda"), str(path))
    layer.pseudoRoot.SetInfo("metersPerUnit", 1.0)
    layer.pseudoRoot.SetInfo("upAxis", "Z")
    layer.pseudoRoot.SetInfo("kilogramsPerUnit", 1.0)
    # Times that users add are in seconds (REP 158, 1.1).
    layer.pseudoRoot.SetInfo("timeCodesPerSecond", 1.0)
    return layer


def _isolate(layer: Mapping[str, Sdf.Layer], profile: Profile, *, several: bool) -> None:
    """Leave core schemas in the physics layer if simulators have layers.

    In the profile of ROS, libraries become payloads (REP 158, 1.2 and 1.4).
    """
    physics = layer[PHYSICS_LAYER]
    if profile is Profile.ROS:
        _decompose_link_tensors(physics)
        _move_opinions(physics, layer[EXTENSIONS_LAYER], "urdf:")
        _move_opinions(physics, layer[ROS_LAYER], "ros:", "Ros")
        _move_opinions(physics, layer[ROS_LAYER], "ext_physics:", "ExtendedPhysics")
        for name in WITHOUT_PHYSICS:
            _load_on_demand(layer[name])
    # Settings of a description override those of the URDF.
    sources = [physics]
    if several and SIMULATION_LAYER in layer:
        sources.append(layer[SIMULATION_LAYER])
    for source in sources:
        if NEWTON_LAYER in layer:
            _move_opinions(source, layer[NEWTON_LAYER], "newton:", "Newton")
        if PHYSX_LAYER in layer:
            _move_opinions(source, layer[PHYSX_LAYER], "physx", "Physx")


def _move_opinions(
    source: Sdf.Layer, target: Sdf.Layer, namespace: str, schemas: str | None = None
) -> None:
    """Move properties and applied schemas, by the beginnings of their names."""
    with Sdf.ChangeBlock():
        for prim in list(prim_specs(source)):
            names = [name for name in list(prim.properties.keys()) if name.startswith(namespace)]
            listed = applied(prim)
            moved = [name for name in listed if schemas and name.startswith(schemas)]
            if not names and not moved:
                continue
            place = Sdf.CreatePrimInLayer(target, prim.path)
            for name in names:
                path = prim.path.AppendProperty(name)
                Sdf.CopySpec(source, path, target, path)
                prim.RemoveProperty(prim.properties[name])
            if moved:
                set_applied(place, list(dict.fromkeys((*applied(place), *moved))))
                set_applied(prim, [name for name in listed if name not in moved])


def _decompose_link_tensors(layer: Sdf.Layer) -> None:
    """Write the inertia of links that are merged into bodies by its principal axes.

    REP 158 forbids inertia as six values (1.3, Inertia Representation). The axes are
    relative to the frame of the inertial.
    """
    with Sdf.ChangeBlock():
        for prim in list(prim_specs(layer)):
            tensor = prim.attributes.get("urdf:inertial:inertia")
            if tensor is None:
                continue
            moments, quat_wxyz = principal_inertia(tuple(tensor.default))
            prim.RemoveProperty(tensor)
            write_numbers(prim, LINK_MOMENTS, moments)
            write_numbers(prim, LINK_AXES, quat_wxyz)


def _load_on_demand(layer: Sdf.Layer) -> None:
    """Replace references of prims to libraries by payloads."""
    with Sdf.ChangeBlock():
        for prim in prim_specs(layer):
            for reference in list(prim.referenceList.prependedItems):
                payload = Sdf.Payload(reference.assetPath, reference.primPath)
                prim.payloadList.prependedItems.append(payload)
            prim.referenceList.ClearEdits()

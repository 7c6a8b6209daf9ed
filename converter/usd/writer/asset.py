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
from functools import cache, partial
from pathlib import Path

from pxr import Gf, Sdf, Tf, Usd, Vt

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.options import ConvertOptions, Layout, Profile
from urdf_usd.converter.robot.bodies import BodyAssignment, principal_inertia
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.simulation.sources import Simulation
from urdf_usd.converter.urdf.uris import declared_version
from urdf_usd.converter.usd.profiles import simready
from urdf_usd.converter.usd.profiles.isaac import ROBOT_TYPE, UNVERSIONED, author_robot_schema
from urdf_usd.converter.usd.profiles.mujoco import author_mujoco
from urdf_usd.converter.usd.profiles.newton import author_inertias, author_newton
from urdf_usd.converter.usd.profiles.physx import author_physx
from urdf_usd.converter.usd.profiles.ros import author_ros
from urdf_usd.converter.usd.urdf_attributes import LINK_AXES, LINK_MOMENTS, write_urdf
from urdf_usd.converter.usd.writer.extensions import author_extensions, has_extensions
from urdf_usd.converter.usd.writer.geometry import author_geometry, rest_extent
from urdf_usd.converter.usd.writer.materials import author_material_library, bind_materials
from urdf_usd.converter.usd.writer.meshes import author_mesh_library
from urdf_usd.converter.usd.writer.physics import articulation_roots, author_bodies, author_joints
from urdf_usd.converter.usd.writer.prims import Prims, legal_name, place_prims
from urdf_usd.converter.usd.writer.simulation import author_simulation
from urdf_usd.converter.usd.writer.specs import (
    KINDS,
    applied,
    apply,
    define,
    over,
    prim_specs,
    set_applied,
    show_spec_name,
    write,
)
from urdf_usd.converter.usd.writer.thumbnail import write_thumbnail

PAYLOAD = "payload"
# OpenUSD composes recursively: with the default stack size of Linux, usd-core 26.11
# crashes between 1500 and 2000 nested prims.
DEEPEST = 1000
GEOMETRY_LIBRARY, MATERIALS_LIBRARY = "GeometryLibrary.usdc", "MaterialsLibrary.usdc"
CONTENTS = "Contents.usda"
EXTENSIONS_LAYER = "Extensions.usda"
GEOMETRY_LAYER, MATERIALS_LAYER = "Geometry.usda", "Materials.usda"
PHYSICS_LAYER, SIMULATION_LAYER = "Physics.usda", "Simulation.usda"
NO_COLLIDERS_LAYER = "NoColliders.usda"
NEWTON_LAYER, PHYSX_LAYER, MUJOCO_LAYER = "Newton.usda", "Physx.usda", "Mujoco.usda"
ROS_LAYER, ROBOT_LAYER = "Ros.usda", "Robot.usda"
# Layers of simulators in an asset of SimReady (RV.002 and RV.005), by variant set.
RUNNABLE_LAYERS = {
    "PhysX": "runnables/physics/physx.usda",
    "Newton": "runnables/physics/newton.usda",
    "MuJoCo": "runnables/physics/mujoco.usda",
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
_UNWRITTEN = (_WRITING, "Failed to write", "Could not close", "Unable to open file")
# Errors of OpenUSD among which the cause is.
_MOST_ERRORS = 20
_DEFAULTS = ConvertOptions()


def asset_name(robot: Robot, layout: Layout = Layout.LAYERED) -> str:
    """Return the name of the root layer or package of a robot's asset."""
    return f"{legal_name(robot.name)}{layout.suffix}"


def thumbnail_path(asset: Path) -> Path:
    """Return the path of the thumbnail of a root layer (SimReady, SR.002)."""
    return asset.parent / ".thumbs" / "256x256" / f"{asset.name}.png"


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
    """
    try:
        yield
    except Tf.ErrorException as error:
        for one in error.args[:_MOST_ERRORS]:
            text = " ".join(one.commentary.split())
            if text.startswith(_UNWRITTEN):
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
    lacking: Sequence[Diagnostic] = ()
    if profile is Profile.SIMREADY:
        metadata, lacking = simready.complete_metadata(robot, metadata)

    several = options.physics_variants or profile is Profile.ISAAC
    simulators = _simulator_layers(profile) if several else {}
    # In SimReady the type of the robot decides: without it, the asset is neutral.
    typed = profile is Profile.ISAAC or bool(metadata.get(ROBOT_TYPE))
    files = _sublayers(robot, profile, simulators, simulated=simulation is not None, typed=typed)
    places = {name: f"{PAYLOAD}/{file}" for name, file in files.items()} | simulators
    library = _new_layer(payload / GEOMETRY_LIBRARY)
    appearances = _new_layer(payload / MATERIALS_LIBRARY)
    layer = {name: _new_layer(folder / place) for name, place in places.items()}
    physics, geometry = layer[PHYSICS_LAYER], layer[GEOMETRY_LAYER]

    meshes = author_mesh_library(robot, library)
    bindings, notes = author_material_library(
        robot, meshes, appearances, payload, options.materials
    )
    found = [*meshes.diagnostics, *notes]
    found += author_geometry(geometry, prims, meshes, f"./{GEOMETRY_LIBRARY}")
    bind_materials(layer[MATERIALS_LAYER], geometry, prims, bindings, f"./{MATERIALS_LIBRARY}")
    define(physics, prims.physics, "Scope")
    author_bodies(physics, geometry, prims, meshes)
    author_joints(physics, prims)
    extent = rest_extent(geometry, library, prims)
    for one in layer.values():
        # A payload of a layer without its default prim would not resolve.
        over(one, prims.robot)
        one.defaultPrim = prims.robot.name
    newton = several or not (profile.is_for_physx or profile is Profile.USDPHYSICS)
    physx = several or profile.is_for_physx
    if newton and profile is not Profile.ROS:
        author_inertias(physics, prims)
    # The simulator of the profile first.
    for author, wanted in sorted(
        ((author_newton, newton), (author_physx, physx)),
        key=lambda pair: (pair[0] is author_newton) == profile.is_for_physx,
    ):
        found += author(physics, prims) if wanted else ()
    if profile is Profile.ROS:
        author_ros(physics, prims)
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
        selected = not (several and profile is Profile.SIMREADY)
        found += author_simulation(
            layer[SIMULATION_LAYER],
            composed(),
            simulation,
            prims,
            newton=newton,
            physx=physx,
            selected=selected,
        )
    custom = layer.get(EXTENSIONS_LAYER)
    if custom is not None:
        author_extensions(custom, sublayers, library, robot, prims)
    version = (robot.location and declared_version(Path(robot.location.file))) or UNVERSIONED
    if typed:
        author_robot_schema(layer[ROBOT_LAYER], composed(), prims, version, metadata, custom)
    if profile is Profile.SIMREADY:
        found += simready.complete(physics, library, prims, robot)
    _isolate(layer, profile, several=several)

    contents = _new_layer(payload / CONTENTS)
    contents.subLayerPaths = [f"./{name}" for name in files.values()]
    contents.defaultPrim = prims.robot.name
    no_colliders = _no_colliders(geometry, prims, payload / NO_COLLIDERS_LAYER)
    interface = _new_layer(folder / asset_name(robot))
    _author_interface(interface, robot, prims, version, extent)
    choices = {
        COLLIDERS_SET: {"colliders": (), NONE: no_colliders},
        **_physics_choices(profile, simulators),
    }
    for name, variants in choices.items():
        author_choice(
            interface.GetPrimAtPath(prims.robot),
            name,
            {variant: [f"./{place}" for place in places] for variant, places in variants.items()},
            references=profile is Profile.ROS,
        )
    if profile is Profile.SIMREADY:
        mass = sum(body.mass for body in bodies.bodies)
        sets = RUNNABLE_LAYERS if simulators else ()
        simready.author_metadata(interface, metadata, len(bodies.bodies), mass, sets)
    for written in (library, appearances, contents, *layer.values(), interface):
        written.Save()
    if profile is Profile.SIMREADY:
        write_thumbnail(composed(), thumbnail_path(folder / asset_name(robot)))
    return (*found, *lacking)


def _simulator_layers(profile: Profile) -> dict[str, str]:
    """Return the paths of the layers of simulators, relative to the asset.

    That of the profile is the first.
    """
    if profile is Profile.SIMREADY:
        names = (PHYSX_LAYER, NEWTON_LAYER, MUJOCO_LAYER)
        return dict(zip(names, RUNNABLE_LAYERS.values(), strict=True))
    names = (NEWTON_LAYER, PHYSX_LAYER, MUJOCO_LAYER)
    if profile.is_for_physx:
        names = (PHYSX_LAYER, NEWTON_LAYER, MUJOCO_LAYER)
    return {
        name: f"{PAYLOAD}/{name}"
        for name in names
        if not (name is MUJOCO_LAYER and profile is Profile.ISAAC)
    }


def _sublayers(
    robot: Robot,
    profile: Profile,
    simulators: Mapping[str, str],
    *,
    simulated: bool,
    typed: bool,
) -> dict[str, str]:
    """Return the file names of the sublayers of the content, strongest first."""
    is_ros = profile is Profile.ROS
    wanted = {
        ROBOT_LAYER: typed,
        EXTENSIONS_LAYER: is_ros or has_extensions(robot),
        SIMULATION_LAYER: simulated,
        NEWTON_LAYER: is_ros and NEWTON_LAYER not in simulators,
        ROS_LAYER: is_ros,
        **dict.fromkeys(_SUBLAYERS, True),
    }
    renamed = _SIMREADY_NAMES if profile is Profile.SIMREADY else {}
    return {name: renamed.get(name, name) for name, is_wanted in wanted.items() if is_wanted}


def _physics_choices(
    profile: Profile, simulators: Mapping[str, str]
) -> dict[str, Mapping[str, Sequence[str]]]:
    """Return the layers of the variants with and without physics, strongest first."""
    contents = f"{PAYLOAD}/{CONTENTS}"
    if profile is Profile.SIMREADY and simulators:
        # Newton's schemas include those of UsdPhysics, so that a variant without
        # physics would have some if Newton is enabled. RV.001 and RV.004.
        enabling = {
            name: {"Disabled": (), "Enabled": (path,)} for name, path in RUNNABLE_LAYERS.items()
        }
        return {**enabling, PHYSICS_SET: {WITH_PHYSICS: (contents,)}}
    variants = {_VARIANT_OF[name]: (path, contents) for name, path in simulators.items()}
    without = tuple(f"{PAYLOAD}/{name}" for name in WITHOUT_PHYSICS)
    return {PHYSICS_SET: {**variants, WITH_PHYSICS: (contents,), NONE: without}}


def author_choice(
    prim: Sdf.PrimSpec,
    name: str,
    variants: Mapping[str, Sequence[str]],
    *,
    references: bool = False,
) -> None:
    """Add a variant set, which becomes the weakest, with its first variant selected.

    Args:
        prim: The prim.
        name: Name of the variant set.
        variants: Layers, strongest first, by variant.
        references: Whether they are references, instead of payloads.
    """
    prim.variantSetNameList.prependedItems.append(name)
    variant_set = Sdf.VariantSetSpec(prim, name)
    for variant, layers in variants.items():
        content = Sdf.VariantSpec(variant_set, variant).primSpec
        for layer in layers:
            if references:
                content.referenceList.prependedItems.append(Sdf.Reference(layer))
            else:
                content.payloadList.prependedItems.append(Sdf.Payload(layer))
    prim.variantSelections[name] = next(iter(variants))


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
        write(prim, "extentsHint", ends, KINDS.Float3Array)


def _no_colliders(geometry: Sdf.Layer, prims: Prims, file: Path) -> tuple[str, ...]:
    """Write the layer that deactivates colliders, if there are any."""
    shapes = (path for paths in prims.collision.values() for path in paths)
    colliders = [path for path in shapes if geometry.GetPrimAtPath(path)]
    if not colliders:
        return ()
    layer = _new_layer(file)
    for path in colliders:
        over(layer, path).active = False
    layer.defaultPrim = prims.robot.name
    layer.Save()
    return (f"{PAYLOAD}/{file.name}",)


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
    write_units(layer)
    return layer


def write_units(layer: Sdf.Layer) -> None:
    """State the units and the up axis of a layer."""
    layer.pseudoRoot.SetInfo("metersPerUnit", 1.0)
    layer.pseudoRoot.SetInfo("upAxis", "Z")
    layer.pseudoRoot.SetInfo("kilogramsPerUnit", 1.0)
    # Times that users add are in seconds (REP 158, 1.1).
    layer.pseudoRoot.SetInfo("timeCodesPerSecond", 1.0)


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
        for prim in (prim for name in WITHOUT_PHYSICS for prim in prim_specs(layer[name])):
            for reference in list(prim.referenceList.prependedItems):
                payload = Sdf.Payload(reference.assetPath, reference.primPath)
                prim.payloadList.prependedItems.append(payload)
            prim.referenceList.ClearEdits()
    # Settings of a description override those of the URDF.
    for source in (PHYSICS_LAYER, SIMULATION_LAYER) if several else (PHYSICS_LAYER,):
        for name, namespace, schemas in (
            (NEWTON_LAYER, "newton:", "Newton"),
            (PHYSX_LAYER, "physx", "Physx"),
        ):
            if source in layer and name in layer:
                _move_opinions(layer[source], layer[name], namespace, schemas)


def _move_opinions(
    source: Sdf.Layer, target: Sdf.Layer, namespace: str, schemas: str = "\0"
) -> None:
    """Move properties and applied schemas, by the beginnings of their names."""
    with Sdf.ChangeBlock():
        for prim in list(prim_specs(source)):
            names = [name for name in list(prim.properties.keys()) if name.startswith(namespace)]
            moved = [name for name in applied(prim) if name.startswith(schemas)]
            if not names and not moved:
                continue
            place = over(target, prim.path)
            for name in names:
                path = prim.path.AppendProperty(name)
                Sdf.CopySpec(source, path, target, path)
                prim.RemoveProperty(prim.properties[name])
            if moved:
                set_applied(place, list(dict.fromkeys((*applied(place), *moved))))
                set_applied(prim, [name for name in applied(prim) if name not in moved])


def _decompose_link_tensors(layer: Sdf.Layer) -> None:
    """Write the inertia of links that are merged into bodies by its principal axes.

    REP 158 forbids inertia as six values (1.3, Inertia Representation). The axes are
    relative to the frame of the inertial.
    """
    for prim in list(prim_specs(layer)):
        if (tensor := prim.attributes.get("urdf:inertial:inertia")) is not None:
            moments, quat_wxyz = principal_inertia(tuple(tensor.default))
            prim.RemoveProperty(tensor)
            write_urdf(prim, LINK_MOMENTS, moments)
            write_urdf(prim, LINK_AXES, quat_wxyz)

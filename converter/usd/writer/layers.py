"""The layers of an asset, and the order in which they are authored.

``<robot>.usda`` is the interface, with payloads. In ``payload/``, ``Contents.usda`` has
the sublayers ``Physics.usda``, ``Materials.usda`` and ``Geometry.usda``; two libraries
contain meshes and shader networks in crate format. Custom data of the URDF is in
``Extensions.usda``, the strongest sublayer, which can be removed. Variants of the
interface load only geometry and materials, or add ``NoColliders.usda``. All references
are relative.

In the profile of ROS the interface has references instead of payloads, and meshes and
materials are payloads; schemas of Newton and of ROS are in ``Newton.usda`` and
``Ros.usda``, and all ``urdf:`` attributes in ``Extensions.usda``.

In an asset for several simulators, ``Contents.usda`` has UsdPhysics alone, and variants
of the interface add ``Newton.usda``, ``Physx.usda`` or ``Mujoco.usda``; in the profile
of SimReady these are ``newton.usda``, ``physx.usda`` and ``mujoco.usda`` in
``runnables/physics/``, names of layers with physics end in ``physics.usda``, and
``Robot.usda`` has the robot schema of Isaac Sim if the type of the robot is given. That
of the profile of Isaac Sim has it always, and no layer for MuJoCo;
:mod:`.isaac_layout` rearranges it.

What a robot description file states is in ``Simulation.usda``, which is stronger than
all layers but ``Extensions.usda``; in an asset for several simulators, what it states
in their schemas is in their layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import structs
from pxr import Gf, Sdf, Tf, Usd

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.options import BodyNesting, Layout, MaterialNetworks, Profile
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Collision, MeshFile, Robot
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.simulation.plan import Simulation
from urdf_usd.converter.usd.profiles import ROBOT_TYPE, author_profile, simready
from urdf_usd.converter.usd.profiles.isaac import author_robot_schema
from urdf_usd.converter.usd.profiles.mujoco import author_mujoco
from urdf_usd.converter.usd.simulation.layer import author_simulation
from urdf_usd.converter.usd.writer.bodies import author_bodies
from urdf_usd.converter.usd.writer.extensions import author_extensions, has_extensions
from urdf_usd.converter.usd.writer.geometry import author_geometry, rest_extent
from urdf_usd.converter.usd.writer.interface import (
    COLLIDERS_SET,
    DISABLED,
    ENABLED,
    NONE,
    PHYSICS_SET,
    UNVERSIONED,
    WITH_COLLIDERS,
    WITH_MUJOCO,
    WITH_NEWTON,
    WITH_PHYSICS,
    WITH_PHYSX,
    Arc,
    author_inactive,
    author_interface,
)
from urdf_usd.converter.usd.writer.isolation import (
    decompose_link_tensors,
    load_on_demand,
    move_opinions,
)
from urdf_usd.converter.usd.writer.joints import author_articulation, author_joints
from urdf_usd.converter.usd.writer.materials.materials import (
    MaterialLibrary,
    author_material_library,
    author_materials,
)
from urdf_usd.converter.usd.writer.meshes.library import (
    LIBRARY_ROOT,
    MeshKey,
    MeshLibrary,
    MeshUse,
    mesh_key,
)
from urdf_usd.converter.usd.writer.meshes.surfaces import write_surfaces
from urdf_usd.converter.usd.writer.names import legal_name
from urdf_usd.converter.usd.writer.prims import Prims, place_prims
from urdf_usd.converter.usd.writer.specs import define, write
from urdf_usd.converter.usd.writer.thumbnail import write_thumbnail

if TYPE_CHECKING:
    from pxr import Usd

PAYLOAD = "payload"
# OpenUSD composes recursively: with the default stack size of Linux, usd-core 26.11
# crashes between 1500 and 2000 nested prims.
DEEPEST = 1000
GEOMETRY_LIBRARY = "GeometryLibrary.usdc"
MATERIALS_LIBRARY = "MaterialsLibrary.usdc"
CONTENTS = "Contents.usda"
EXTENSIONS_LAYER = "Extensions.usda"
GEOMETRY_LAYER = "Geometry.usda"
PHYSICS_LAYER = "Physics.usda"
SIMULATION_LAYER = "Simulation.usda"
NO_COLLIDERS_LAYER = "NoColliders.usda"
NEWTON_LAYER = "Newton.usda"
PHYSX_LAYER = "Physx.usda"
MUJOCO_LAYER = "Mujoco.usda"
ROS_LAYER = "Ros.usda"
ROBOT_LAYER = "Robot.usda"
THUMBNAILS = ".thumbs"
# Folder of the layers in the profile of Isaac Sim, and its files besides textures.
PAYLOADS = "payloads"
ISAAC_BASE = "base.usda"
ISAAC_FILES = frozenset(
    {
        ISAAC_BASE,
        *("robot.usda", "instances.usda", "geometries.usd", "materials.usd"),
        *("Physics/physics.usda", "Physics/physx.usda", "Physics/newton.usda"),
    }
)
# Folder of the layers of simulators in an asset of SimReady (RV.002 and RV.005).
RUNNABLES = "runnables"
# Layers of simulators there, by variant set.
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
WITHOUT_PHYSICS = ("Materials.usda", GEOMETRY_LAYER)
SUBLAYERS = (PHYSICS_LAYER, *WITHOUT_PHYSICS)
PAYLOAD_LAYERS = (
    CONTENTS,
    EXTENSIONS_LAYER,
    SIMULATION_LAYER,
    *SUBLAYERS,
    *_SIMREADY_NAMES.values(),
    NEWTON_LAYER,
    PHYSX_LAYER,
    MUJOCO_LAYER,
    ROS_LAYER,
    ROBOT_LAYER,
    NO_COLLIDERS_LAYER,
    GEOMETRY_LIBRARY,
    MATERIALS_LIBRARY,
)


def asset_name(robot: Robot, layout: Layout = Layout.LAYERED) -> str:
    """Return the name of the root layer or package of a robot's asset."""
    return f"{legal_name(robot.name)}{layout.suffix}"


def thumbnail_path(asset: Path) -> Path:
    """Return the place of the thumbnail of a root layer (SimReady, SR.002)."""
    return asset.parent / THUMBNAILS / "256x256" / f"{asset.name}.png"


_WRITING = "Error occurred writing file: "
_UNWRITTEN = ("Failed to write", "Could not close", "Unable to open file")
# Errors of OpenUSD among which the cause is.
_MOST_ERRORS = 20


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


def author_asset(  # one parameter per choice
    robot: Robot,
    tree: Tree,
    body_assignment: BodyAssignment,
    nesting: BodyNesting,
    folder: Path,
    *,
    networks: MaterialNetworks = MaterialNetworks.PREVIEW,
    profile: Profile = Profile.GENERIC,
    physics_variants: bool = False,
    scene: bool = False,
    version: str = UNVERSIONED,
    metadata: Mapping[str, str] = MappingProxyType({}),
    simulation: Simulation | None = None,
) -> tuple[Diagnostic, ...]:
    """Write a robot as a layered asset.

    Args:
        robot: The robot.
        tree: Its links in order.
        body_assignment: Its bodies.
        nesting: How body prims are nested.
        folder: Existing empty folder.
        networks: Shader networks of materials.
        profile: Simulator whose schemas are used in addition to UsdPhysics.
        physics_variants: Whether Newton, PhysX and MuJoCo have a variant each.
        scene: Whether to add a physics scene.
        version: Version of the asset.
        metadata: Metadata of SimReady or Isaac Sim, by name.
        simulation: Settings of a robot description file, if there is one.

    Returns:
        Diagnostics about omissions and changes.

    Raises:
        AuthoringError: A number is too large for float32, or links are nested too
            deeply.
    """
    payload = folder / PAYLOAD
    payload.mkdir()
    prims = place_prims(robot.name, tree, body_assignment, nesting, scene=scene)
    _refuse_depth(prims, tree)

    shapes = _new_layer(payload / GEOMETRY_LIBRARY)
    meshes = author_mesh_library(robot, shapes)
    appearances = _new_layer(payload / MATERIALS_LIBRARY)
    materials = author_material_library(robot, meshes, appearances, payload, networks)

    several = physics_variants or profile is Profile.ISAAC
    simulators = _simulator_layers(profile) if several else {}
    # In SimReady the type of the robot decides: without it, the asset is neutral.
    typed = profile is Profile.ISAAC or bool(metadata.get(ROBOT_TYPE))
    simulated = simulation is not None
    files = _sublayers(robot, profile, simulators, simulated=simulated, typed=typed)
    paths = {name: f"{PAYLOAD}/{file}" for name, file in files.items()} | simulators
    layer = {name: _new_layer(folder / path) for name, path in paths.items()}
    physics = layer[PHYSICS_LAYER]
    omissions = _author_parts(layer, tree, body_assignment, prims, (meshes, materials))
    extent = rest_extent(layer[GEOMETRY_LAYER], shapes, tree, prims)
    _set_default_prim(layer.values(), prims.robot)
    lost = _author_schemas(physics, tree, body_assignment, prims, profile, several=several)
    sublayers = [layer[name] for name in SUBLAYERS]
    # For profiles that need a stage; an open one recomposes for every authored prim.
    composed = cache(partial(_composed, sublayers))
    if MUJOCO_LAYER in layer:
        mujoco = layer[MUJOCO_LAYER]
        lost += author_mujoco(mujoco, physics, composed(), tree, prims, simulation)
    if simulation is not None:
        settings = author_simulation(
            layer[SIMULATION_LAYER],
            composed(),
            simulation,
            tree,
            body_assignment,
            prims,
            newton=several or not (profile.is_for_physx or profile is Profile.USDPHYSICS),
            physx=several or profile.is_for_physx,
            selected=not (several and profile is Profile.SIMREADY),
        )
        lost = (*lost, *settings)
    custom = layer.get(EXTENSIONS_LAYER)
    if custom is not None:
        author_extensions(custom, sublayers, shapes, robot, prims)
    if typed:
        author_robot_schema(
            layer[ROBOT_LAYER],
            composed(),
            tree,
            body_assignment,
            prims,
            version,
            metadata,
            custom,
        )
    if profile is Profile.SIMREADY:
        # Imports numpy, which other profiles of robots without meshes do not need.

        lost += simready.complete(
            physics,
            shapes,
            prims,
            robot,
            bodies=len(body_assignment.bodies),
        )
    _isolate(layer, profile, several=several)
    contents = _author_contents(payload, files.values(), prims)
    for written in (shapes, appearances, contents, *layer.values()):
        written.Save()
    arc = Arc.REFERENCE if profile is Profile.ROS else Arc.PAYLOAD
    without = _author_no_colliders(layer[GEOMETRY_LAYER], prims, payload)
    choices = {
        COLLIDERS_SET: {WITH_COLLIDERS: (), NONE: without},
        **_physics_choices(profile, simulators),
    }
    asset = _author_interface(folder, robot, version, prims, extent, choices, arc)
    if profile is Profile.SIMREADY:
        variants = RUNNABLE_LAYERS if simulators else {}
        _complete_interface(asset, composed(), body_assignment, metadata, variants)
    return (*meshes.diagnostics, *materials.diagnostics, *omissions, *lost)


def _complete_interface(
    asset: Path,
    stage: Usd.Stage,
    body_assignment: BodyAssignment,
    metadata: Mapping[str, str],
    variants: Mapping[str, str],
) -> None:
    """Add what SimReady requires of the interface, and write the thumbnail."""
    # These import numpy.

    interface = Sdf.Layer.FindOrOpen(str(asset))
    bodies = body_assignment.bodies
    mass = sum(body.mass for body in bodies)
    simready.author_metadata(interface, metadata, len(bodies), mass)
    if variants:
        simready.author_variants(interface, variants, ENABLED)
    interface.Save()
    write_thumbnail(stage, thumbnail_path(asset))


def _author_schemas(
    physics: Sdf.Layer,
    tree: Tree,
    body_assignment: BodyAssignment,
    prims: Prims,
    profile: Profile,
    *,
    several: bool,
) -> tuple[Diagnostic, ...]:
    """Author schemas of one or several simulators, articulation roots and the scene."""
    lost = author_profile(physics, tree, body_assignment, prims, profile)
    if several:
        other = Profile.GENERIC if profile.is_for_physx else Profile.PHYSX
        lost += author_profile(physics, tree, body_assignment, prims, other)
    author_articulation(physics, tree, body_assignment, prims)
    if prims.scene is not None:
        author_scene(physics, prims.scene)
    return lost


def _author_contents(payload: Path, sublayers: Iterable[str], prims: Prims) -> Sdf.Layer:
    """Return the layer that has the others as sublayers."""
    contents = _new_layer(payload / CONTENTS)
    contents.subLayerPaths = [f"./{name}" for name in sublayers]
    contents.defaultPrim = prims.robot.name
    return contents


def _simulator_layers(profile: Profile) -> dict[str, str]:
    """Return the paths of the layers of simulators, relative to the asset.

    That of the profile is the first.
    """
    if profile is Profile.SIMREADY:
        return {
            PHYSX_LAYER: RUNNABLE_LAYERS["PhysX"],
            NEWTON_LAYER: RUNNABLE_LAYERS["Newton"],
            MUJOCO_LAYER: RUNNABLE_LAYERS["MuJoCo"],
        }
    names = [NEWTON_LAYER, PHYSX_LAYER]
    if profile.is_for_physx:
        names.reverse()
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
) -> Mapping[str, str]:
    """Return the file names of the sublayers of the content, strongest first.

    Args:
        robot: The robot.
        profile: The profile.
        simulators: Layers of simulators.
        simulated: Whether there are settings of a description file.
        typed: Whether there is the robot schema of Isaac Sim.
    """
    settings = (SIMULATION_LAYER,) if simulated else ()
    if profile is Profile.ROS:
        newton = () if NEWTON_LAYER in simulators else (NEWTON_LAYER,)
        names = (EXTENSIONS_LAYER, *settings, *newton, ROS_LAYER, *SUBLAYERS)
    else:
        schema = (ROBOT_LAYER,) if typed else ()
        extensions = (EXTENSIONS_LAYER,) if has_extensions(robot) else ()
        names = (*schema, *extensions, *settings, *SUBLAYERS)
    renamed = _SIMREADY_NAMES if profile is Profile.SIMREADY else {}
    return {name: renamed.get(name, name) for name in names}


def _physics_choices(
    profile: Profile, simulators: Mapping[str, str]
) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the layers of the variants with and without physics."""
    contents = f"./{PAYLOAD}/{CONTENTS}"
    if profile is Profile.SIMREADY and simulators:
        chosen = {
            name: {DISABLED: (), ENABLED: (f"./{path}",)} for name, path in RUNNABLE_LAYERS.items()
        }
        # Newton's schemas include those of UsdPhysics, so that a variant without
        # physics would have some if Newton is enabled.
        return {**chosen, PHYSICS_SET: {WITH_PHYSICS: (contents,)}}
    variants: dict[str, tuple[str, ...]] = {
        _VARIANT_OF[name]: (f"./{path}", contents) for name, path in simulators.items()
    }
    variants[WITH_PHYSICS] = (contents,)
    variants[NONE] = tuple(f"./{PAYLOAD}/{name}" for name in WITHOUT_PHYSICS)
    return {PHYSICS_SET: variants}


_VARIANT_OF = {
    NEWTON_LAYER: WITH_NEWTON,
    PHYSX_LAYER: WITH_PHYSX,
    MUJOCO_LAYER: WITH_MUJOCO,
}


def _isolate(layer: Mapping[str, Sdf.Layer], profile: Profile, *, several: bool) -> None:
    """Leave core schemas in the physics layer if simulators have layers.

    In the profile of ROS, libraries become payloads.
    """
    physics = layer[PHYSICS_LAYER]
    if profile is Profile.ROS:
        decompose_link_tensors(physics)
        move_opinions(physics, layer[EXTENSIONS_LAYER], ("urdf:",))
        move_opinions(physics, layer[ROS_LAYER], ("ros:",), "Ros")
        move_opinions(physics, layer[ROS_LAYER], ("ext_physics:",), "ExtendedPhysics")
        for name in WITHOUT_PHYSICS:
            load_on_demand(layer[name])
    # Settings of a description override those of the URDF.
    sources = [physics]
    if several and SIMULATION_LAYER in layer:
        sources.append(layer[SIMULATION_LAYER])
    for source in sources:
        if NEWTON_LAYER in layer:
            move_opinions(source, layer[NEWTON_LAYER], ("newton:",), "Newton")
        if PHYSX_LAYER in layer:
            move_opinions(source, layer[PHYSX_LAYER], ("physx",), "Physx")


def author_mesh_library(robot: Robot, layer: Sdf.Layer) -> MeshLibrary:
    """Read every mesh that the robot uses and write it to a library.

    One mesh is in memory at a time.

    Args:
        robot: The robot; meshes without a file are left out.
        layer: Empty layer of the library.
    """
    define(layer, LIBRARY_ROOT, "Scope").specifier = Sdf.SpecifierClass
    layer.defaultPrim = LIBRARY_ROOT.name
    uses: dict[MeshKey, MeshUse] = {}
    for link in robot.links:
        for shape in link.shapes:
            if isinstance(shape.geometry, MeshFile) and shape.geometry.path is not None:
                key = mesh_key(shape.geometry)
                use = uses.get(key, MeshUse(link.location, visual=False, collider=False))
                in_groups = isinstance(shape, Collision) and shape.approximation is None
                uses[key] = structs.replace(
                    use,
                    visual=use.visual or not in_groups,
                    collider=use.collider or in_groups,
                )
    if not uses:
        return MeshLibrary({}, {}, {}, {}, ())
    # Loads numpy, which takes longer than to convert a small robot.

    return write_surfaces(uses, layer, LIBRARY_ROOT)


def _author_parts(
    layer: Mapping[str, Sdf.Layer],
    tree: Tree,
    body_assignment: BodyAssignment,
    prims: Prims,
    libraries: tuple[MeshLibrary, MaterialLibrary],
) -> tuple[Diagnostic, ...]:
    """Write the layers that need no composed stage; return diagnostics."""
    materials_layer, geometry = (layer[name] for name in WITHOUT_PHYSICS)
    physics = layer[PHYSICS_LAYER]
    meshes, materials = libraries
    omissions = author_geometry(geometry, tree, prims, meshes, f"./{GEOMETRY_LIBRARY}")
    library_asset = f"./{MATERIALS_LIBRARY}"
    author_materials(materials_layer, geometry, prims, materials, library_asset)
    define(physics, prims.physics, "Scope")
    author_bodies(physics, geometry, tree, body_assignment, prims, meshes)
    author_joints(physics, tree, body_assignment, prims)
    return omissions


def _composed(layers: Sequence[Sdf.Layer]) -> Usd.Stage:
    """Compose layers, strongest first, on an anonymous stage."""
    stack = Sdf.Layer.CreateAnonymous()
    stack.subLayerPaths = [layer.identifier for layer in layers]
    stack.defaultPrim = layers[0].defaultPrim
    return Usd.Stage.Open(stack)


def _set_default_prim(layers: Iterable[Sdf.Layer], path: Sdf.Path) -> None:
    for layer in layers:
        # A payload of a layer without its default prim would not resolve.
        Sdf.CreatePrimInLayer(layer, path)
        layer.defaultPrim = path.name


def _refuse_depth(prims: Prims, tree: Tree) -> None:
    for name, path in prims.link.items():
        if path.pathElementCount > DEEPEST:
            message = f"link {name!r} is nested more than {DEEPEST} prims deep"
            raise AuthoringError((Diagnostic("tree-depth", message, tree.link[name].location),))


def _author_interface(  # one parameter per input
    folder: Path,
    robot: Robot,
    version: str,
    prims: Prims,
    extent: Gf.Range3d,
    choices: Mapping[str, Mapping[str, Sequence[str]]],
    arc: Arc,
) -> Path:
    """Write the interface layer and return its path."""
    asset = folder / asset_name(robot)
    layer = _new_layer(asset)
    author_interface(layer, prims.robot, robot, version, extent, choices, arc)
    layer.Save()
    return asset


def _author_no_colliders(geometry: Sdf.Layer, prims: Prims, payload: Path) -> tuple[str, ...]:
    """Write the layer that deactivates colliders, if there are any."""
    shapes = (path for paths in prims.collision.values() for path in paths)
    colliders = [path for path in shapes if geometry.GetPrimAtPath(path)]
    if not colliders:
        return ()
    layer = _new_layer(payload / NO_COLLIDERS_LAYER)
    author_inactive(layer, colliders)
    layer.defaultPrim = prims.robot.name
    layer.Save()
    return (f"./{PAYLOAD}/{NO_COLLIDERS_LAYER}",)


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


# Standard gravity, rounded as in simulators and URDF tools [m/s^2].
_GRAVITY = 9.81


def author_scene(physics: Sdf.Layer, path: Sdf.Path) -> None:
    """Define a physics scene with gravity along -Z.

    The schema's fallbacks mean the same, but consumers have to interpret them.
    """
    scene = define(physics, path, "PhysicsScene")
    write(scene, "physics:gravityDirection", Gf.Vec3f(0.0, 0.0, -1.0))
    write(scene, "physics:gravityMagnitude", _GRAVITY)

"""The layers of an asset, and the variants of its interface.

``<robot>.usda`` is the interface, with payloads. In ``payload/``, ``Contents.usda`` has
sublayers; two libraries contain meshes and shader networks in crate format. Custom data of
the URDF is in ``Extensions.usda``, which can be removed; what a simulation settings file
states is in ``Simulation.usda``. All references are relative.

The first variant of ``Physics`` and of ``Colliders`` is selected; ``none`` composes no layer
with physics, or adds ``NoColliders.usda``, with which bodies keep their authored mass. In an
asset for several simulators, variants add ``Newton.usda``, ``Physx.usda`` or ``Mujoco.usda``.

ROS has references instead of payloads, but payloads of meshes and materials. In SimReady,
layers of simulators are in ``runnables/physics/``. In that of Isaac Sim, several share a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from itertools import chain
from pathlib import Path

from pxr import Gf, Sdf, Tf, Usd, UsdUtils, Vt

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.options import ConvertOptions, Layout, Profile
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.simulation.resolution import Simulation
from urdf_usd.converter.urdf.uris import declared_version
from urdf_usd.converter.usd.profiles import joint_schemas, standards
from urdf_usd.converter.usd.profiles.isaac import ROBOT_TYPE, UNVERSIONED, author_robot_schema
from urdf_usd.converter.usd.writer import specs
from urdf_usd.converter.usd.writer.extensions import author_extensions, has_extensions
from urdf_usd.converter.usd.writer.geometry import author_geometry, author_mesh_library, rest_extent
from urdf_usd.converter.usd.writer.materials import author_materials
from urdf_usd.converter.usd.writer.physics import articulation_roots, author_bodies, author_joints
from urdf_usd.converter.usd.writer.simulation import author_simulation
from urdf_usd.converter.usd.writer.textures import write_thumbnail

PAYLOAD = "payload"


class Layer(StrEnum):
    """Names of files in the payload folder; of sublayers, the strongest is first."""

    ROBOT = "Robot.usda"
    EXTENSIONS = "Extensions.usda"
    SIMULATION = "Simulation.usda"
    NEWTON = "Newton.usda"
    ROS = "Ros.usda"
    PHYSICS = "Physics.usda"
    MATERIALS = "Materials.usda"
    GEOMETRY = "Geometry.usda"
    CONTENTS = "Contents.usda"
    PHYSX = "Physx.usda"
    MUJOCO = "Mujoco.usda"
    NO_COLLIDERS = "NoColliders.usda"
    GEOMETRY_LIBRARY = "GeometryLibrary.usdc"
    MATERIALS_LIBRARY = "MaterialsLibrary.usdc"
    # Names of layers with physics in an asset of SimReady, which RC.005 recognises by them.
    SIMREADY_PHYSICS = "physics.usda"
    SIMREADY_SIMULATION = "simulation_physics.usda"


# Strongest first.
WITHOUT_PHYSICS = (Layer.MATERIALS, Layer.GEOMETRY)
_SIMREADY_NAMES = {
    Layer.PHYSICS: Layer.SIMREADY_PHYSICS,
    Layer.SIMULATION: Layer.SIMREADY_SIMULATION,
}
# Variant sets of SimReady (RV.005); in lower case, names of variants and of runnables.
_SIMULATORS = {Layer.NEWTON: "Newton", Layer.PHYSX: "PhysX", Layer.MUJOCO: "MuJoCo"}
RUNNABLE_LAYERS = {n: f"runnables/physics/{n.lower()}.usda" for n in _SIMULATORS.values()}
PHYSICS_SET, COLLIDERS_SET = "Physics", "Colliders"
WITH_PHYSICS, NONE = "physics", "none"
# Files of the layers in the profile of Isaac Sim, which has one for several.
ISAAC_PLACES = {
    Layer.PHYSX: "payloads/Physics/physx.usda",
    Layer.NEWTON: "payloads/Physics/newton.usda",
    Layer.PHYSICS: "payloads/Physics/physics.usda",
    **dict.fromkeys(WITHOUT_PHYSICS, "payloads/base.usda"),
    Layer.ROBOT: "payloads/robot.usda",
    Layer.GEOMETRY_LIBRARY: "payloads/geometries.usd",
    Layer.MATERIALS_LIBRARY: "payloads/materials.usd",
}

# OpenUSD composes recursively: with the default stack size of Linux, usd-core 26.11
# crashes between 1500 and 2000 nested prims.
DEEPEST = 1000
# Identifies assets that may be replaced.
_CREATOR = "urdf-usd convert"
# Standard gravity, rounded as in simulators and URDF tools [m/s^2].
_GRAVITY = 9.81
_WRITING = "Error occurred writing file: "
_UNWRITTEN = (_WRITING, "Failed to write", "Could not close", "Unable to open file")


def asset_name(robot: Robot, layout: Layout = Layout.LAYERED) -> str:
    return f"{specs.legal_name(robot.name)}{layout.suffix}"


def thumbnail_path(asset: Path) -> Path:
    """Return the path of the thumbnail of a root layer (SimReady, SR.002)."""
    return asset.parent / ".thumbs" / "256x256" / f"{asset.name}.png"


def is_written_here(file: Path) -> bool:
    try:
        layer = Sdf.Layer.OpenAsAnonymous(str(file), metadataOnly=True)
    except Tf.ErrorException:
        return False
    return bool(layer and layer.customLayerData.get("creator") == _CREATOR)


@contextmanager
def system_errors() -> Iterator[None]:
    """Raise errors of OpenUSD about files that it cannot write as ``OSError``."""
    try:
        yield
    except Tf.ErrorException as error:
        # A full disk leads to an error per block that is written; the cause is among the first.
        for one in error.args[:20]:
            text = " ".join(one.commentary.split())
            if text.startswith(_UNWRITTEN):
                raise OSError(text.removeprefix(_WRITING)) from None
        raise


def author_asset(
    robot: Robot,
    tree: Tree,
    bodies: BodyAssignment,
    folder: Path,
    options: ConvertOptions,
    simulation: Simulation | None,
) -> tuple[Diagnostic, ...]:
    """Write a robot as a layered asset; return diagnostics about omissions and changes."""
    profile = options.profile
    is_ros, is_simready = profile is Profile.ROS, profile is Profile.SIMREADY
    is_isaac = profile is Profile.ISAAC
    prims = specs.place_prims(robot.name, tree, bodies, options.nesting, scene=options.scene)
    for name, path in prims.link.items():
        if path.pathElementCount > DEEPEST:
            message = f"link {name!r} is nested more than {DEEPEST} prims deep"
            raise AuthoringError((Diagnostic("tree-depth", message, tree.link[name].location),))
    metadata: Mapping[str, str] = dict(options.metadata)
    lacking: Sequence[Diagnostic] = ()
    if is_simready:
        metadata, lacking = standards.complete_metadata(robot, metadata)
    # In SimReady the type of the robot decides: without it, the asset is neutral.
    typed = is_isaac or bool(metadata.get(ROBOT_TYPE))
    several = options.physics_variants or is_isaac
    newton = several or not (profile.is_for_physx or profile is Profile.USDPHYSICS)
    physx = several or profile.is_for_physx

    # The simulator of the profile first.
    physx_first = is_simready or profile.is_for_physx
    simulators = sorted(_SIMULATORS, key=lambda one: physx_first and one is not Layer.PHYSX)
    simulators = [one for one in simulators if several and not (one is Layer.MUJOCO and is_isaac)]
    wanted = {
        Layer.ROBOT: typed,
        Layer.EXTENSIONS: is_ros or has_extensions(robot),
        Layer.SIMULATION: simulation is not None,
        Layer.NEWTON: is_ros and not several,
        Layer.ROS: is_ros,
        **dict.fromkeys((Layer.PHYSICS, *WITHOUT_PHYSICS), True),
    }
    renamed = _SIMREADY_NAMES if is_simready else {}
    sublayers = {name: renamed.get(name, name) for name, is_wanted in wanted.items() if is_wanted}
    places = {name: f"{PAYLOAD}/{file}" for name, file in sublayers.items()}
    for name in simulators:
        places[name] = RUNNABLE_LAYERS[_SIMULATORS[name]] if is_simready else f"{PAYLOAD}/{name}"
    for name in (Layer.GEOMETRY_LIBRARY, Layer.MATERIALS_LIBRARY):
        places[name] = f"{PAYLOAD}/{name}"
    if is_isaac:
        places |= {name: ISAAC_PLACES[name] for name in places if name in ISAAC_PLACES}
    files = {place: _new_layer(folder / place) for place in dict.fromkeys(places.values())}
    layer = {name: files[place] for name, place in places.items()}
    library, appearances = layer[Layer.GEOMETRY_LIBRARY], layer[Layer.MATERIALS_LIBRARY]
    physics, looks, geometry = (layer[name] for name in (Layer.PHYSICS, *WITHOUT_PHYSICS))
    core = [physics, looks] if looks is geometry else [physics, looks, geometry]
    # For profiles that need a stage; an open one recomposes for every authored prim.
    composed = cache(lambda: _composed(core))

    meshes = author_mesh_library(robot, library)
    omitted = author_geometry(geometry, prims, meshes, f"./{library.GetDisplayName()}")
    asset = f"./{appearances.GetDisplayName()}"
    found = [*meshes.diagnostics]
    found += author_materials(
        appearances, looks, geometry, robot, prims, meshes, asset, options.materials
    )
    found += omitted
    specs.define(physics, prims.physics, "Scope")
    author_bodies(physics, geometry, prims, meshes)
    author_joints(physics, prims)
    extent = rest_extent(geometry, library, prims)
    for one in (layer[name] for name in (*sublayers, *simulators)):
        # A payload of a layer without its default prim would not resolve.
        specs.over(one, prims.robot)
        one.defaultPrim = prims.robot.name
    # The simulator of the profile first.
    for is_physx in (profile.is_for_physx, not profile.is_for_physx):
        if is_physx and physx:
            found += joint_schemas.author_physx(physics, prims)
        if newton and not is_physx:
            found += joint_schemas.author_newton(physics, prims, inertias=not is_ros)
    if is_ros:
        standards.author_ros(physics, prims)
    for path in articulation_roots(prims):
        specs.apply(specs.over(physics, path), "PhysicsArticulationRootAPI")
    if prims.scene is not None:
        # The schema's fallbacks mean the same, but consumers have to interpret them.
        scene = specs.define(physics, prims.scene, "PhysicsScene")
        specs.write(scene, "physics:gravityDirection", Gf.Vec3f(0.0, 0.0, -1.0))
        specs.write(scene, "physics:gravityMagnitude", _GRAVITY)
    if Layer.MUJOCO in layer:
        found += joint_schemas.author_mujoco(
            layer[Layer.MUJOCO], physics, composed(), prims, simulation
        )
    if simulation is not None:
        is_selected = not (several and is_simready)
        stated = layer[Layer.SIMULATION]
        found += author_simulation(
            stated, composed(), simulation, prims, newton=newton, physx=physx, selected=is_selected
        )
    custom = layer.get(Layer.EXTENSIONS)
    if custom is not None:
        author_extensions(custom, core, library, robot, prims)
    version = (robot.location and declared_version(Path(robot.location.file))) or UNVERSIONED
    if typed:
        author_robot_schema(layer[Layer.ROBOT], composed(), prims, version, metadata, custom)
    if is_simready:
        found += standards.complete(physics, library, prims, robot)
    routes: list[tuple[str, str, Layer]] = []
    if is_ros:
        routes = [("urdf:", "", Layer.EXTENSIONS), ("ros:", "Ros", Layer.ROS)]
        routes.append(("ext_physics:", "ExtendedPhysics", Layer.ROS))
        for prim in chain.from_iterable(specs.prim_specs(layer[name]) for name in WITHOUT_PHYSICS):
            # Libraries are payloads (REP 158, 1.2 and 1.4).
            for reference in prim.referenceList.prependedItems:
                payload = Sdf.Payload(reference.assetPath, reference.primPath)
                prim.payloadList.prependedItems.append(payload)
            prim.referenceList.ClearEdits()
    routes += [("newton:", "Newton", Layer.NEWTON), ("physx", "Physx", Layer.PHYSX)]
    # Settings of a description override those of the URDF.
    for name in (Layer.PHYSICS, Layer.SIMULATION) if several else (Layer.PHYSICS,):
        for namespace, schemas, target in routes:
            if name in layer and target in layer:
                specs.move_opinions(layer[name], layer[target], namespace, schemas)

    interface = _new_layer(folder / asset_name(robot))
    _author_interface(interface, robot, prims, version, extent)
    root = interface.GetPrimAtPath(prims.robot)
    physics_variants: dict[str, Sequence[str]] = {}
    choices: dict[str, dict[str, Sequence[str]]] = {}
    if is_isaac:
        root.referenceList.prependedItems = [Sdf.Reference(f"./{places[Layer.GEOMETRY]}")]
        geometry.subLayerPaths = ["./robot.usda"]
        stack = (Layer.EXTENSIONS, Layer.SIMULATION, Layer.PHYSICS)
        physics.TransferContent(flattened([layer.pop(name) for name in stack if name in layer]))
        write_units(physics)
        physics.defaultPrim = prims.robot.name
        layer[Layer.PHYSICS] = physics
        for name in simulators:
            physics_variants[_SIMULATORS[name].lower()] = (places[name],)
            layer[name].subLayerPaths = ["./physics.usda"]
        physics_variants |= {WITH_PHYSICS: (places[Layer.PHYSICS],), NONE: ()}
    else:
        contents = layer[Layer.CONTENTS] = _new_layer(folder / PAYLOAD / Layer.CONTENTS)
        contents.subLayerPaths = [f"./{name}" for name in sublayers.values()]
        contents.defaultPrim = prims.robot.name
        whole = f"{PAYLOAD}/{Layer.CONTENTS}"
        # Colliders of unreadable meshes have no prim.
        colliders = [path for path in prims.colliders if geometry.GetPrimAtPath(path)]
        if colliders:
            layer[Layer.NO_COLLIDERS] = _new_layer(folder / PAYLOAD / Layer.NO_COLLIDERS)
            for path in colliders:
                specs.over(layer[Layer.NO_COLLIDERS], path).active = False
            layer[Layer.NO_COLLIDERS].defaultPrim = prims.robot.name
        no_colliders = [f"{PAYLOAD}/{Layer.NO_COLLIDERS}"] if colliders else []
        choices[COLLIDERS_SET] = {"colliders": (), NONE: no_colliders}
        for name in simulators:
            if is_simready:
                choices[_SIMULATORS[name]] = {"Disabled": (), "Enabled": (places[name],)}
            else:
                physics_variants[_SIMULATORS[name].lower()] = (places[name], whole)
        physics_variants[WITH_PHYSICS] = (whole,)
        # Newton's schemas include those of UsdPhysics, so that a variant without
        # physics would have some if Newton is enabled. RV.001 and RV.004.
        if not (is_simready and simulators):
            physics_variants[NONE] = [f"{PAYLOAD}/{name}" for name in WITHOUT_PHYSICS]
    choices[PHYSICS_SET] = physics_variants
    for name, variants in choices.items():
        _author_choice(root, name, variants, references=is_ros)
    if is_simready:
        mass = sum(body.mass for body in bodies.bodies)
        sets = RUNNABLE_LAYERS if several else ()
        standards.author_metadata(interface, metadata, len(bodies.bodies), mass, sets)
    for written in (*layer.values(), interface):
        written.Save()
    if is_simready:
        write_thumbnail(composed(), thumbnail_path(folder / asset_name(robot)))
    return (*found, *lacking)


def _author_choice(
    prim: Sdf.PrimSpec, name: str, variants: Mapping[str, Sequence[str]], *, references: bool
) -> None:
    """Add a variant set of layers, strongest first, with its first variant selected."""
    prim.variantSetNameList.prependedItems.append(name)
    variant_set = Sdf.VariantSetSpec(prim, name)
    for variant, layers in variants.items():
        content = Sdf.VariantSpec(variant_set, variant).primSpec
        arcs = content.referenceList if references else content.payloadList
        for layer in layers:
            arc = Sdf.Reference if references else Sdf.Payload
            arcs.prependedItems.append(arc(f"./{layer}"))
    prim.variantSelections[name] = next(iter(variants))


def _author_interface(
    layer: Sdf.Layer, robot: Robot, prims: specs.Prims, version: str, extent: Gf.Range3d
) -> None:
    """Write the default prim, its metadata and the extent of the robot at rest [m]."""
    layer.customLayerData = {"creator": _CREATOR}
    prim = specs.define(layer, prims.robot, "Xform")
    layer.defaultPrim = prims.robot.name
    specs.show_spec_name(prim, robot.name)
    prim.kind = "component"
    identifier = Sdf.AssetPath(f"./{layer.GetDisplayName()}")
    prim.assetInfo = {"name": robot.name, "version": version, "identifier": identifier}
    if not extent.IsEmpty():
        specs.apply(prim, "GeomModelAPI")
        # One entry, of the default purpose: entries for others would need empty, hence
        # infinite, bounds for the purposes in between.
        ends = Vt.Vec3fArray([Gf.Vec3f(extent.min), Gf.Vec3f(extent.max)])
        specs.write(prim, "extentsHint", ends, specs.KINDS.Float3Array)


def _composed(layers: Sequence[Sdf.Layer]) -> Usd.Stage:
    stack = Sdf.Layer.CreateAnonymous()
    stack.subLayerPaths = [layer.identifier for layer in layers]
    stack.defaultPrim = layers[0].defaultPrim
    return Usd.Stage.Open(stack)


def flattened(layers: Sequence[Sdf.Layer]) -> Sdf.Layer:
    """Return an anonymous layer of several, strongest first; asset paths stay as they are."""
    return UsdUtils.FlattenLayerStack(_composed(layers), lambda _, path: path)


def _new_layer(path: Path) -> Sdf.Layer:
    if path.suffix != ".usda":
        # Later, the file is extended; written at once, it would have other bytes.
        layer = Sdf.Layer.CreateNew(str(path))
    else:
        layer = Sdf.Layer.New(Sdf.FileFormat.FindByExtension("usda"), str(path))
    write_units(layer)
    return layer


def write_units(layer: Sdf.Layer) -> None:
    # Times that users add are in seconds (REP 158, 1.1). Crate files have fields in this order.
    units = {
        "metersPerUnit": 1.0,
        "upAxis": "Z",
        "kilogramsPerUnit": 1.0,
        "timeCodesPerSecond": 1.0,
    }
    for key, value in units.items():
        layer.pseudoRoot.SetInfo(key, value)

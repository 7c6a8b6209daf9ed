"""The scene of a COLLADA document: instances of geometries and their transforms.

References that cannot be resolved are skipped and reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes.collada.number_lists import read_floats, text_of
from urdf_usd.converter.meshes.polygon_mesh import MeshError

Matrix: TypeAlias = NDArray[np.float64]
Single: TypeAlias = NDArray[np.float32]

# Number of values of each transform; float32, as the points.
_NUMBERS = {"matrix": 16, "rotate": 4, "scale": 3, "translate": 3}
# Not supported: one is for cameras, the other is not written by exporters.
_UNKNOWN = frozenset({"lookat", "skew"})
# Element that each kind of instance refers to.
_INSTANCED = {
    "instance_controller": "controller",
    "instance_geometry": "geometry",
    "instance_node": "node",
}
# Limit of nested instances, which can multiply or be cyclic.
_MOST_NODES = 100_000


class Instance(NamedTuple):
    """An instance of a geometry.

    Attributes:
        geometry: Its element.
        transform: (4, 4) from the geometry to the scene.
        element: The instance; None without a scene.
    """

    geometry: Element
    transform: Matrix
    element: Element | None


def read_scene(root: Element) -> tuple[list[Instance], tuple[str, ...]]:
    """Return the instances of geometries, and texts about omissions.

    For a document without a scene, each geometry is returned once.

    Raises:
        MeshError: The instances multiply without bounds.
    """
    document = _Document(root)
    scene = document.scene()
    if scene is None:
        shown = [
            Instance(geometry, np.eye(4), None)
            for geometry in root.iterfind("library_geometries/geometry")
            if geometry.find("mesh") is not None
        ]
    else:
        # Overflow is reported when the mesh is built.
        with np.errstate(all="ignore"):
            shown = list(document.shown(scene))
    return shown, tuple(dict.fromkeys(document.skipped))


class _Document:
    """Resolves the nodes of a document.

    Attributes:
        skipped: Omitted content, one text each.
    """

    def __init__(self, root: Element) -> None:
        self.skipped: list[str] = []
        self._root = root
        self._matrices: dict[Element, Single] = {}
        # Of elements with the same id, the first is used.
        self._targets = {
            tag: {one.get("id", ""): one for one in reversed(list(root.iter(tag)))}
            for tag in _INSTANCED.values()
        }

    def scene(self) -> Element | None:
        """Return the instantiated scene, otherwise the first."""
        root = self._root
        scenes = root.findall("library_visual_scenes/visual_scene")
        instance_element = root.find("scene/instance_visual_scene")
        if instance_element is not None:
            url = instance_element.get("url", "")
            named = (one for one in scenes if f"#{one.get('id')}" == url)
            found = next(named, None)
            if found is not None:
                return found
            self._miss(instance_element)
        return scenes[0] if scenes else None

    def shown(self, scene: Element) -> Iterator[Instance]:
        """Yield the instances of geometries, in the order of the document."""
        nodes = scene.findall("node")
        pending = [(node, np.eye(4)) for node in reversed(nodes)]
        for _ in range(_MOST_NODES):
            if not pending:
                return
            element, above = pending.pop()
            if element.tag == "node":
                transform = above @ self._matrix(element).astype(np.float64)
                pending += [
                    (child, transform)
                    for child in reversed(element)
                    if child.tag == "node" or child.tag in _INSTANCED
                ]
                continue
            target = self._target(element)
            if target is not None and target.tag == "node":
                pending.append((target, above))
            elif target is not None and target.tag == "controller":
                yield from self._skinned(element, target, above)
            elif target is not None and target.find("mesh") is not None:
                yield Instance(target, above, element)
        raise MeshError("its instances exceed the limit")

    def _skinned(
        self, instance: Element, controller: Element, transform: Matrix
    ) -> Iterator[Instance]:
        """Yield the geometry of a skin, in its bind pose."""
        skin = controller.find("skin")
        source = "" if skin is None else skin.get("source", "").removeprefix("#")
        geometry = self._targets["geometry"].get(source)
        if skin is None or geometry is None:
            what = controller.get("id")
            self.skipped.append(f"controller {what!r} is no skin of a geometry")
            return
        bound = skin.find("bind_shape_matrix")
        if bound is not None:
            numbers = self._numbers(bound, _NUMBERS["matrix"])
            if numbers is not None:
                transform = transform @ _single(numbers).reshape(4, 4)
        if geometry.find("mesh") is not None:
            yield Instance(geometry, transform, instance)

    def _target(self, instance: Element) -> Element | None:
        name = instance.get("url", "")
        known = self._targets[_INSTANCED[instance.tag]]
        found = known.get(name[1:]) if name.startswith("#") else None
        if found is None:
            self._miss(instance)
        return found

    def _miss(self, instance: Element) -> None:
        url = instance.get("url", "")
        message = f"<{instance.tag}> refers to {url!r}, which is not there"
        self.skipped.append(message)

    def _matrix(self, node: Element) -> Single:
        """Return the product of a node's transforms."""
        if node not in self._matrices:
            product = np.eye(4, dtype=np.float32)
            for element in node:
                matrix = self._transform(element)
                if matrix is not None:
                    product = product @ matrix
            self._matrices[node] = product
        return self._matrices[node]

    def _transform(self, element: Element) -> Single | None:
        if element.tag in _UNKNOWN:
            message = f"<{element.tag}> is not supported; it is ignored"
            self.skipped.append(message)
        if element.tag not in _NUMBERS:
            return None
        numbers = self._numbers(element, _NUMBERS[element.tag])
        if numbers is None:
            return None
        if element.tag == "matrix":
            return _single(numbers).reshape(4, 4)
        if element.tag == "rotate":
            return self._rotation(numbers)
        matrix = np.eye(4, dtype=np.float32)
        if element.tag == "translate":
            matrix[:3, 3] = _single(numbers)
        else:
            matrix[range(3), range(3)] = _single(numbers)
        return matrix

    def _rotation(self, numbers: Matrix) -> Single | None:
        """Return the rotation by an angle [deg] about an axis, as in OpenGL."""
        length = math.hypot(*numbers[:3].tolist())
        if not length:
            if numbers[3]:
                self.skipped.append("<rotate> has no axis; it is ignored")
            return None
        x, y, z = _single(numbers[:3] / length)
        angle = _single(numbers[3:]) * np.float32(math.pi) / np.float32(180.0)
        cosine, sine = np.cos(angle)[0], np.sin(angle)[0]
        rest = np.float32(1.0) - cosine
        matrix = np.eye(4, dtype=np.float32)
        # Rodrigues' formula.
        matrix[:3, :3] = (
            (
                rest * x * x + cosine,
                rest * x * y - sine * z,
                rest * x * z + sine * y,
            ),
            (
                rest * x * y + sine * z,
                rest * y * y + cosine,
                rest * y * z - sine * x,
            ),
            (
                rest * x * z - sine * y,
                rest * y * z + sine * x,
                rest * z * z + cosine,
            ),
        )
        return matrix

    def _numbers(self, element: Element, count: int) -> Matrix | None:
        """Parse the numbers of a transform; None if their number is wrong."""
        try:
            numbers = read_floats(text_of(element))
        except ValueError:
            numbers = np.zeros(0)
        if len(numbers) != count:
            message = f"<{element.tag}> does not have {count} numbers; it is ignored"
            self.skipped.append(message)
            return None
        return numbers


def _single(numbers: Matrix) -> Single:
    return numbers.astype(np.float32)

"""Pictures of a robot from one camera, by VTK and by PyBullet.

Both use the same lighting: a surface shows its colour times 0.6, plus 0.4 times the
cosine between its normal and the light.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pybullet
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

from tests.tools.renders.stage_surfaces import Surface, bounds

Array = np.ndarray

_ANGLE = 30.0
_AMBIENT, _DIFFUSE = 0.6, 0.4
_LIGHT = np.array([2.0, -1.0, 3.0])
_FROM = np.array([2.0, -1.5, 1.0])
_NEAR, _FAR = 0.01, 100.0
_WRAPS = {
    "repeat": vtk.vtkTexture.Repeat,
    "mirror": vtk.vtkTexture.MirroredRepeat,
    "clamp": vtk.vtkTexture.ClampToEdge,
    "black": vtk.vtkTexture.ClampToBorder,
}


@dataclass(frozen=True)
class Camera:
    """Position and direction of a camera.

    Attributes:
        eye: Position [m].
        target: Centre of the picture [m].
        size: Width and height [pixels].
    """

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    size: int


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        pixels: (size, size, 3) bytes.
        covered: (size, size) true where there is a surface.
    """

    pixels: Array
    covered: Array


def camera_for(surfaces: list[Surface], size: int) -> Camera:
    """Return a camera that shows all surfaces."""
    low, high = bounds(surfaces)
    target = (low + high) / 2
    distance = np.linalg.norm(high - low) / 2 / np.sin(np.radians(_ANGLE / 2))
    eye = target + _FROM / np.linalg.norm(_FROM) * distance
    return Camera(tuple(eye.tolist()), tuple(target.tolist()), size)


def picture_of_surfaces(surfaces: list[Surface], camera: Camera) -> Picture:
    """Render surfaces with VTK."""
    renderer = vtk.vtkRenderer()
    renderer.SetBackground(1, 1, 1)
    renderer.SetBackgroundAlpha(0)
    renderer.AutomaticLightCreationOff()
    light = vtk.vtkLight()
    light.SetLightTypeToSceneLight()
    light.PositionalOff()
    light.SetFocalPoint(0, 0, 0)
    light.SetPosition(*_LIGHT.tolist())
    renderer.AddLight(light)
    for surface in surfaces:
        renderer.AddActor(_actor(surface))
    view = renderer.GetActiveCamera()
    view.SetPosition(*camera.eye)
    view.SetFocalPoint(*camera.target)
    view.SetViewUp(0, 0, 1)
    view.SetViewAngle(_ANGLE)
    view.SetClippingRange(_NEAR, _FAR)
    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetAlphaBitPlanes(1)
    window.SetMultiSamples(0)
    window.SetSize(camera.size, camera.size)
    window.AddRenderer(renderer)
    window.Render()
    grab = vtk.vtkWindowToImageFilter()
    grab.SetInput(window)
    grab.SetInputBufferTypeToRGBA()
    grab.ReadFrontBufferOff()
    grab.Update()
    flat = vtk_to_numpy(grab.GetOutput().GetPointData().GetScalars())
    rgba = flat.reshape(camera.size, camera.size, 4)[::-1]
    covered = rgba[..., 3] > 0
    return Picture(np.where(covered[..., None], rgba[..., :3], 255), covered)


def picture_by_bullet(file: str, camera: Camera) -> Picture:
    """Render a URDF with PyBullet's software renderer."""
    client = pybullet.connect(pybullet.DIRECT)
    flags = pybullet.URDF_USE_MATERIAL_COLORS_FROM_MTL
    pybullet.loadURDF(file, useFixedBase=True, flags=flags)
    view = pybullet.computeViewMatrix(camera.eye, camera.target, (0, 0, 1))
    projection = pybullet.computeProjectionMatrixFOV(_ANGLE, 1.0, _NEAR, _FAR)
    _, _, rgba, _, segments = pybullet.getCameraImage(
        camera.size,
        camera.size,
        view,
        projection,
        lightDirection=_LIGHT.tolist(),
        lightColor=(1, 1, 1),
        lightAmbientCoeff=_AMBIENT,
        lightDiffuseCoeff=_DIFFUSE,
        lightSpecularCoeff=0.0,
        shadow=0,
        renderer=pybullet.ER_TINY_RENDERER,
    )
    pybullet.disconnect(client)
    pixels = np.array(rgba, dtype=np.uint8).reshape(camera.size, camera.size, 4)
    covered = np.array(segments).reshape(camera.size, camera.size) >= 0
    return Picture(np.where(covered[..., None], pixels[..., :3], 255), covered)


def _actor(surface: Surface) -> vtk.vtkActor:
    data = vtk.vtkPolyData()
    points = vtk.vtkPoints()
    points.SetData(numpy_to_vtk(surface.points, deep=True))
    data.SetPoints(points)
    count = len(surface.points) // 3
    cells = np.insert(np.arange(3 * count).reshape(-1, 3), 0, 3, axis=1)
    triangles = vtk.vtkCellArray()
    ids = numpy_to_vtk(cells.ravel(), deep=True, array_type=vtk.VTK_ID_TYPE)
    triangles.SetCells(count, ids)
    data.SetPolys(triangles)
    normals = numpy_to_vtk(surface.normals, deep=True)
    normals.SetName("Normals")
    data.GetPointData().SetNormals(normals)
    if surface.colors is not None:
        colors = numpy_to_vtk((_encoded(surface.colors) * 255).astype(np.uint8), deep=True)
        data.GetPointData().SetScalars(colors)
    actor = vtk.vtkActor()
    if surface.image is not None and surface.coordinates is not None:
        data.GetPointData().SetTCoords(numpy_to_vtk(surface.coordinates, deep=True))
        actor.SetTexture(_texture(surface.image, surface.wrap))
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputData(data)
    actor.SetMapper(mapper)
    actor.ForceOpaqueOn()
    look = actor.GetProperty()
    look.SetColor(*_encoded(np.array(surface.color)).tolist())
    look.SetAmbient(_AMBIENT)
    look.SetDiffuse(_DIFFUSE)
    look.SetSpecular(0.0)
    return actor


def _texture(image: Array, wrap: str) -> vtk.vtkTexture:
    texture = vtk.vtkTexture()
    texture.SetInputData(_image(image))
    texture.InterpolateOn()
    texture.MipmapOn()
    texture.SetWrap(_WRAPS[wrap])
    return texture


def _image(pixels: Array) -> vtk.vtkImageData:
    height, width, _ = pixels.shape
    image = vtk.vtkImageData()
    image.SetDimensions(width, height, 1)
    flat = np.ascontiguousarray(pixels[::-1].reshape(-1, 3), dtype=np.uint8)
    image.GetPointData().SetScalars(numpy_to_vtk(flat, deep=True))
    return image


def _encoded(linear: Array) -> Array:
    """Return sRGB components (IEC 61966-2-1)."""
    low = linear * 12.92
    high = 1.055 * np.maximum(linear, 0) ** (1 / 2.4) - 0.055
    encoded: Array = np.where(linear <= 0.0031308, low, high).clip(0, 1)
    return encoded

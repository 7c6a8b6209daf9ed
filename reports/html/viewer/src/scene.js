// Decoding of the scene, and geometry of its shapes.

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  CylinderGeometry,
  Matrix4,
  SphereGeometry,
} from "three";

/** Parse the page's scene: base64 of gzipped JSON. */
export async function readScene(text) {
  const stream = new Blob([bytes(text.trim())]).stream();
  const plain = stream.pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(plain).text());
}

/** Decode the meshes, whose buffers both models share. */
export function meshGeometries(scene) {
  return scene.meshes.map(({ positions, origin, step, indices, wide }) => {
    const quantised = new Uint16Array(bytes(positions).buffer);
    const points = Float32Array.from(
      quantised,
      (value, index) => origin[index % 3] + value * step[index % 3],
    );
    const buffer = bytes(indices).buffer;
    const corners = wide ? new Uint32Array(buffer) : new Uint16Array(buffer);
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(points, 3));
    geometry.setIndex(new BufferAttribute(corners, 1));
    // Without normals: decimated meshes are shaded flat.
    return geometry;
  });
}

/** Geometry of one shape in its own frame; cylinders and the like are along Z. */
export function shapeGeometry(shape, meshes) {
  const [first, second, third] = shape.size;
  const upright = new Matrix4().makeRotationX(Math.PI / 2);
  switch (shape.kind) {
    case "mesh":
      return meshes[shape.mesh];
    case "box":
      return new BoxGeometry(first, second, third);
    case "sphere":
      return new SphereGeometry(first, 24, 16);
    case "cylinder":
      return new CylinderGeometry(first, first, second, 32).applyMatrix4(upright);
    case "cone":
      return new CylinderGeometry(0, first, second, 32).applyMatrix4(upright);
    case "capsule":
      return new CapsuleGeometry(first, second, 8, 24).applyMatrix4(upright);
    default:
      throw new Error(`unknown kind of shape: ${shape.kind}`);
  }
}

/** Matrix of twelve numbers, three rows of four. */
export function affine(numbers) {
  return new Matrix4().set(...numbers, 0, 0, 0, 1);
}

function bytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

// Rendering of both models: the USD as solids, the URDF as lines.

import {
  AmbientLight,
  ArrowHelper,
  AxesHelper,
  Box3,
  BufferGeometry,
  Color,
  DirectionalLight,
  EdgesGeometry,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  PerspectiveCamera,
  Scene,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { exaggerated, linkPoses, poseDifference } from "./kinematics.js";
import { affine, meshGeometries, shapeGeometry } from "./scene.js";

export const SIDES = ["urdf", "usd"];
const TONES = { urdf: 0x2f81f7, usd: 0xe8702a };
const PLAIN = [0.62, 0.66, 0.72, 1];
// Coarse meshes have sharp edges everywhere; solids have few.
const SHARP_EDGE_DEGREES = { mesh: 50, solid: 25 };

/** The overlays, and which are visible initially. */
export const OVERLAYS = {
  visual: true,
  collision: false,
  frames: false,
  axes: false,
  centers: false,
  ellipsoids: false,
};

export class RobotView {
  constructor(canvas, scene) {
    this.scene = scene;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.world = new Scene();
    this.camera = new PerspectiveCamera(40, 1, 0.001, 1000);
    this.camera.up.set(0, 0, 1);
    this.world.add(new AmbientLight(0xffffff, 1.4), this.camera);
    const light = new DirectionalLight(0xffffff, 2.2);
    light.position.set(0.5, 1, 1.5);
    this.camera.add(light);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => this.request());

    this.meshes = meshGeometries(scene);
    this.models = Object.fromEntries(
      scene.models.map((model) => [model.side, this.#build(model)]),
    );
    this.overlays = { ...OVERLAYS };
    this.looks = { urdf: "lines", usd: "solid" };
    this.times = 1;
    this.chosen = new Map();
    this.pose();
    this.reach = this.bounds().getSize(new Vector3()).length() || 1;
    this.lookFrom(new Vector3(1, -1.4, 0.8));
    new ResizeObserver(() => this.#resize()).observe(canvas.parentElement);
    this.#resize();
  }

  /** Render at the next animation frame. */
  request() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      this.renderer.render(this.world, this.camera);
    });
  }

  /** Pose both models at the chosen joint positions, and compute the differences. */
  pose() {
    const { urdf, usd } = this.models;
    const expected = urdf && linkPoses(urdf.model, this.chosen);
    const actual = usd && linkPoses(usd.model, this.chosen);
    this.differences = new Map();
    for (const [link, group] of urdf?.links ?? []) {
      place(group, expected.get(link));
    }
    for (const [link, group] of usd?.links ?? []) {
      const [from, to] = [expected?.get(link), actual.get(link)];
      place(group, from && to ? exaggerated(from, to, this.times, this.reach / 4) : to);
      if (from && to) this.differences.set(link, poseDifference(from, to));
    }
    this.request();
  }

  /** Apply the display options. */
  refresh() {
    for (const side of SIDES) {
      const model = this.models[side];
      if (!model) continue;
      const look = this.looks[side];
      model.root.visible = look !== "hidden";
      for (const part of model.parts) {
        const drawn = part.look === undefined || part.look === look;
        part.object.visible = this.overlays[part.overlay] && drawn;
      }
    }
    this.request();
  }

  /** Highlight one link in both models; null for none. */
  highlight(link) {
    for (const model of Object.values(this.models)) {
      for (const [name, group] of model.links) {
        for (const mesh of group.userData.solids) {
          mesh.material.emissive.set(name === link ? 0x7a5a00 : 0x000000);
        }
      }
    }
    this.request();
  }

  /** Fit the whole robot into the view, from a direction. */
  lookFrom(direction) {
    const box = this.bounds();
    const center = box.getCenter(new Vector3());
    const radius = Math.max(box.getSize(new Vector3()).length() / 2, 1e-3);
    const distance = radius / Math.sin((this.camera.fov * Math.PI) / 360);
    this.camera.position
      .copy(direction)
      .normalize()
      .multiplyScalar(distance)
      .add(center);
    this.camera.near = distance / 100;
    this.camera.far = distance * 100;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(center);
    this.controls.update();
    this.request();
  }

  bounds() {
    const box = new Box3();
    for (const model of Object.values(this.models)) {
      model.root.updateMatrixWorld(true);
      for (const group of model.links.values()) {
        for (const mesh of group.userData.solids) {
          if (mesh.userData.role === "visual") box.expandByObject(mesh);
        }
      }
    }
    if (box.isEmpty()) {
      for (const model of Object.values(this.models)) box.expandByObject(model.root);
    }
    return box.isEmpty()
      ? new Box3(new Vector3(-0.5, -0.5, -0.5), new Vector3(0.5, 0.5, 0.5))
      : box;
  }

  #resize() {
    const { clientWidth, clientHeight } = this.renderer.domElement.parentElement;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.camera.aspect = clientWidth / Math.max(clientHeight, 1);
    this.camera.updateProjectionMatrix();
    this.request();
  }

  #build(model) {
    const root = new Group();
    const links = new Map();
    const parts = [];
    const size = this.scene.mark;
    for (const link of model.links) {
      const group = new Group();
      group.matrixAutoUpdate = false;
      group.userData.solids = [];
      const add = (overlay, object, look) => {
        group.add(object);
        parts.push({ overlay, object, look });
      };
      for (const shape of link.shapes) this.#shape(shape, model.side, group, add);
      add("frames", inFront(new AxesHelper(size * 1.5)));
      this.#inertial(link, model.side, size, add);
      root.add(group);
      links.set(link.name, group);
    }
    for (const joint of model.joints) {
      for (const motion of joint.motions) {
        const arrow = new ArrowHelper(
          new Vector3(...motion.axis),
          new Vector3(...joint.anchor),
          size * 3,
          TONES[model.side],
        );
        inFront(arrow.line);
        inFront(arrow.cone);
        links.get(joint.child)?.add(arrow);
        parts.push({ overlay: "axes", object: arrow });
      }
    }
    this.world.add(root);
    return { model, root, links, parts };
  }

  #shape(shape, side, group, add) {
    const geometry = shapeGeometry(shape, this.meshes);
    const visual = shape.role === "visual";
    const [red, green, blue, alpha] = shape.color ?? PLAIN;
    const material = new MeshStandardMaterial({
      color: new Color(red, green, blue),
      roughness: 0.75,
      flatShading: true,
      opacity: visual ? alpha : 0.35,
      transparent: !visual || alpha < 1,
      depthWrite: visual && alpha === 1,
      polygonOffset: true,
      polygonOffsetFactor: 1,
      polygonOffsetUnits: 1,
    });
    if (!visual) material.color.set(TONES[side]);
    const solid = new Mesh(geometry, material);
    solid.userData = { role: shape.role };
    const sharp = SHARP_EDGE_DEGREES[shape.kind === "mesh" ? "mesh" : "solid"];
    geometry.userData.edges ??= new EdgesGeometry(geometry, sharp);
    const lines = new LineSegments(
      geometry.userData.edges,
      new LineBasicMaterial({ color: TONES[side] }),
    );
    for (const object of [solid, lines]) {
      object.matrixAutoUpdate = false;
      object.matrix.copy(affine(shape.matrix));
    }
    group.userData.solids.push(solid);
    add(shape.role, solid, "solid");
    add(shape.role, lines, "lines");
  }

  #inertial(link, side, size, add) {
    const seen = { color: TONES[side], transparent: true, depthTest: false };
    if (link.center) {
      const point = new Mesh(
        new SphereGeometry(size / 8, 16, 12),
        new MeshBasicMaterial({ ...seen, opacity: 0.9 }),
      );
      point.position.set(...link.center);
      add("centers", point);
    }
    if (link.ellipsoid) {
      // As rings: surfaces of large inertia would hide the robot.
      const ellipsoid = new LineSegments(
        ringsOfSphere(),
        new LineBasicMaterial({ ...seen, opacity: 0.8 }),
      );
      ellipsoid.matrixAutoUpdate = false;
      ellipsoid.matrix.copy(affine(link.ellipsoid));
      add("ellipsoids", ellipsoid);
    }
  }
}

/** Draw an object on top of shapes that hide it. */
function inFront(object) {
  object.material.depthTest = false;
  object.material.transparent = true;
  object.renderOrder = 1;
  return object;
}

/** The circles of the unit sphere in the coordinate planes. */
function ringsOfSphere() {
  const steps = 64;
  const points = [];
  for (const axis of [0, 1, 2]) {
    for (let step = 0; step < steps; step += 1) {
      for (const angle of [step, step + 1].map((at) => (2 * Math.PI * at) / steps)) {
        const [u, v] = [Math.cos(angle), Math.sin(angle)];
        points.push(new Vector3(...[[0, u, v], [u, 0, v], [u, v, 0]][axis]));
      }
    }
  }
  return new BufferGeometry().setFromPoints(points);
}

function place(group, pose) {
  group.visible = Boolean(pose);
  if (pose) group.matrix.copy(pose);
  group.matrixWorldNeedsUpdate = true;
}

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
  GridHelper,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  PerspectiveCamera,
  Raycaster,
  Scene,
  SphereGeometry,
  Spherical,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { exaggerated, linkPoses, poseDifference } from "./kinematics.js";
import { affine, meshGeometries, shapeGeometry } from "./scene.js";

export const SIDES = ["urdf", "usd"];
const TONES = { urdf: 0x2f81f7, usd: 0xe8702a };
const PLAIN = [0.62, 0.66, 0.72, 1];
const [SELECTED, WRONG] = [0x7a5a00, 0xd02020];
// Cells of the ground grid across the robot, and how far the pointer may move in a click.
const CELLS = 10;
const CLICK_PIXELS = 4;
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
  ground: true,
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
    this.selected = null;
    this.wrong = new Set();
    this.picked = () => {};
    this.overlays = { ...OVERLAYS };
    this.looks = { urdf: "lines", usd: "solid" };
    this.times = 1;
    this.chosen = new Map();
    this.pose();
    this.reach = this.bounds().getSize(new Vector3()).length() || 1;
    this.ground = this.#ground();
    this.lookFrom(new Vector3(1, -1.4, 0.8));
    this.#pickByClick(canvas);
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
    this.ground.visible = this.overlays.ground;
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
    this.selected = link;
    this.#paint();
  }

  /** Draw links in red; those that the USD lacks as red lines. */
  markWrong(links) {
    this.wrong = new Set(links);
    this.#paint();
  }

  #paint() {
    for (const [side, model] of Object.entries(this.models)) {
      for (const [name, group] of model.links) {
        const wrong = this.wrong.has(name);
        for (const { material, userData } of group.userData.solids) {
          material.emissive.set(name === this.selected ? SELECTED : 0x000000);
          material.color.set(wrong ? WRONG : userData.color);
        }
        const alone = wrong && !this.models.usd?.links.has(name);
        for (const lines of group.userData.lines) {
          lines.material.color.set(alone ? WRONG : TONES[side]);
        }
      }
    }
    this.request();
  }

  /** The nearest visible link at a point of the canvas, in pixels; null if none. */
  linkAt(x, y) {
    const { clientWidth, clientHeight } = this.renderer.domElement;
    const place = new Vector2((2 * x) / clientWidth - 1, 1 - (2 * y) / clientHeight);
    const ray = new Raycaster();
    ray.setFromCamera(place, this.camera);
    const names = new Map();
    for (const model of Object.values(this.models)) {
      if (!model.root.visible) continue;
      model.root.updateMatrixWorld(true);
      for (const [name, group] of model.links) {
        if (!group.visible) continue;
        for (const mesh of group.userData.solids) {
          if (this.overlays[mesh.userData.role]) names.set(mesh, name);
        }
      }
    }
    const [hit] = ray.intersectObjects([...names.keys()], false);
    return hit ? names.get(hit.object) : null;
  }

  /** Rotate the camera about its target: right and up [rad]. */
  turn(right, up) {
    const { target } = this.controls;
    const { x, y, z } = this.camera.position.clone().sub(target);
    // Spherical coordinates have their pole along Y.
    const angles = new Spherical().setFromCartesianCoords(y, z, x);
    angles.theta += right;
    angles.phi -= up;
    const turned = new Vector3().setFromSpherical(angles.makeSafe());
    this.camera.position.set(turned.z, turned.x, turned.y).add(target);
    this.controls.update();
  }

  /** Move the camera to this many times its distance from the target. */
  zoom(times) {
    const { target } = this.controls;
    this.camera.position.sub(target).multiplyScalar(times).add(target);
    this.controls.update();
  }

  #pickByClick(canvas) {
    let start;
    canvas.addEventListener("pointerdown", ({ offsetX, offsetY }) => {
      start = [offsetX, offsetY];
    });
    canvas.addEventListener("pointerup", ({ offsetX, offsetY, button }) => {
      if (!start || button !== 0) return;
      const moved = Math.hypot(offsetX - start[0], offsetY - start[1]);
      if (moved <= CLICK_PIXELS) this.picked(this.linkAt(offsetX, offsetY));
    });
  }

  /** A grid below the robot; its cells are a power of ten of a metre wide. */
  #ground() {
    const box = this.bounds();
    this.cell = 10 ** Math.round(Math.log10(this.reach / CELLS));
    const count = 2 * Math.ceil(this.reach / this.cell);
    const grid = new GridHelper(count * this.cell, count, 0x808890, 0x808890);
    grid.rotation.x = Math.PI / 2;
    grid.position.z = box.min.z;
    grid.material.transparent = true;
    grid.material.opacity = 0.35;
    this.world.add(grid);
    return grid;
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
      group.userData.lines = [];
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
    solid.userData = { role: shape.role, color: material.color.clone() };
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
    group.userData.lines.push(lines);
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

import assert from "node:assert/strict";
import { test } from "node:test";
import { Matrix4, Vector3 } from "three";
import {
  exaggerated,
  jointPositions,
  linkPoses,
  poseDifference,
} from "../src/kinematics.js";

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];
const hinge = (name, parent, child, extra = {}) => ({
  name,
  parent,
  child,
  rest: IDENTITY,
  anchor: [0, 0, 0],
  motions: [{ kind: "turn", axis: [0, 0, 1] }],
  mimic: null,
  ...extra,
});
const origin = (pose) => new Vector3().setFromMatrixPosition(pose).toArray();
const near = (actual, expected, tolerance = 1e-9) =>
  actual.forEach((value, index) =>
    assert.ok(
      Math.abs(value - expected[index]) <= tolerance,
      `${actual} is not ${expected}`,
    ),
  );

test("a quarter turn about Z moves what lies along X to Y", () => {
  const model = {
    root: "a",
    joints: [
      hinge("first", "a", "b"),
      hinge("second", "b", "c", { rest: [1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, 0.5] }),
    ],
  };
  const poses = linkPoses(model, new Map([["first", [Math.PI / 2]]]));
  near(origin(poses.get("c")), [0, 2, 0.5]);
});

test("a hinge turns about its anchor", () => {
  const model = { root: "a", joints: [hinge("j", "a", "b", { anchor: [1, 0, 0] })] };
  const poses = linkPoses(model, new Map([["j", [Math.PI]]]));
  near(origin(poses.get("b")), [2, 0, 0]);
});

test("a slide moves along its axis in the child's frame", () => {
  const quarter = [0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0];
  const slide = { rest: quarter, motions: [{ kind: "slide", axis: [1, 0, 0] }] };
  const model = { root: "a", joints: [hinge("j", "a", "b", slide)] };
  near(origin(linkPoses(model, new Map([["j", [0.3]]])).get("b")), [0, 0.3, 0]);
});

test("couplings are followed along chains, whatever the order", () => {
  const model = {
    joints: [
      hinge("c", "y", "z", { mimic: { leader: "b", multiplier: 3, offset: 0.1 } }),
      hinge("b", "x", "y", { mimic: { leader: "a", multiplier: -2, offset: 0.5 } }),
      hinge("a", "w", "x"),
    ],
  };
  const values = jointPositions(model, new Map([["a", [0.2]]]));
  near(values.get("b"), [0.1]);
  near(values.get("c"), [0.4]);
});

test("couplings in a circle end", () => {
  const model = {
    joints: [
      hinge("a", "w", "x", { mimic: { leader: "b", multiplier: 1, offset: 0 } }),
      hinge("b", "x", "y", { mimic: { leader: "a", multiplier: 1, offset: 0 } }),
    ],
  };
  assert.equal(jointPositions(model, new Map()).size, 2);
});

test("small differences are told from none, and grow by the factor", () => {
  const expected = new Matrix4().makeRotationX(0.3).setPosition(1, 2, 3);
  const step = new Matrix4().makeRotationZ(1e-6).setPosition(1e-6, 0, 0);
  const actual = expected.clone().multiply(step);
  const small = poseDifference(expected, actual);
  near([small.position, small.rotation], [1e-6, 1e-6], 1e-12);
  const large = poseDifference(expected, exaggerated(expected, actual, 1e5, 10));
  near([large.position, large.rotation], [0.1, 0.1], 1e-6);
});

test("an exaggerated displacement stays within reach", () => {
  const actual = new Matrix4().makeTranslation(1, 0, 0);
  const shown = exaggerated(new Matrix4(), actual, 1000, 0.25);
  near(origin(shown), [0.25, 0, 0]);
});

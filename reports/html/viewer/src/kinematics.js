// Forward kinematics, independent of page and renderer.

import { Matrix4, Quaternion, Vector3 } from "three";
import { affine } from "./scene.js";

/**
 * Positions of all joints, including mimic joints.
 *
 * @param model One model of the scene.
 * @param chosen Joint name to an array of positions [rad or m].
 * @returns Joint name to an array of positions, for every joint of the model.
 */
export function jointPositions(model, chosen) {
  const byName = new Map(model.joints.map((joint) => [joint.name, joint]));
  const known = new Map();
  const position = (joint, seen) => {
    if (known.has(joint.name)) return known.get(joint.name);
    const leader = joint.mimic && byName.get(joint.mimic.leader);
    let values = chosen.get(joint.name) ?? joint.motions.map(() => 0);
    // Circular couplings are ignored.
    if (leader && !seen.has(leader.name)) {
      const [value] = position(leader, new Set([...seen, joint.name]));
      if (value !== undefined) {
        values = [joint.mimic.multiplier * value + joint.mimic.offset];
      }
    }
    known.set(joint.name, values);
    return values;
  };
  for (const joint of model.joints) position(joint, new Set([joint.name]));
  return known;
}

/**
 * Poses of all links in the root link's frame.
 *
 * The pose of a child is parent * rest * motions. Motions are applied in turn, about or
 * along axes through the joint's anchor, both in the child's frame.
 */
export function linkPoses(model, chosen) {
  const values = jointPositions(model, chosen);
  const poses = new Map([[model.root, new Matrix4()]]);
  for (const joint of model.joints) {
    const parent = poses.get(joint.parent);
    if (!parent) continue;
    const pose = parent.clone().multiply(affine(joint.rest));
    joint.motions.forEach((motion, index) => {
      pose.multiply(motionMatrix(motion, joint.anchor, values.get(joint.name)[index]));
    });
    poses.set(joint.child, pose);
  }
  return poses;
}

function motionMatrix(motion, anchor, value) {
  const axis = new Vector3(...motion.axis);
  if (motion.kind === "slide") {
    return new Matrix4().makeTranslation(axis.multiplyScalar(value));
  }
  const [x, y, z] = anchor;
  return new Matrix4()
    .makeTranslation(x, y, z)
    .multiply(new Matrix4().makeRotationAxis(axis, value))
    .multiply(new Matrix4().makeTranslation(-x, -y, -z));
}

/** Difference of two poses: distance [m] and angle [rad]. */
export function poseDifference(expected, actual) {
  const { offset, turn } = displacement(expected, actual);
  return { position: offset.length(), rotation: angle(turn) };
}

/**
 * The actual pose with its difference from the expected one scaled up.
 *
 * @param times Factor; 1 gives the actual pose.
 * @param reach Limit of the scaled displacement [m].
 */
export function exaggerated(expected, actual, times, reach) {
  if (times === 1) return actual;
  const { offset, turn } = displacement(expected, actual);
  offset.multiplyScalar(times).clampLength(0, reach);
  const axis = new Vector3(turn.x, turn.y, turn.z);
  const turned = Math.min(angle(turn) * times, Math.PI / 2);
  const rotation =
    axis.lengthSq() > 0
      ? new Quaternion().setFromAxisAngle(axis.normalize(), turned)
      : new Quaternion();
  const difference = new Matrix4().compose(offset, rotation, new Vector3(1, 1, 1));
  return expected.clone().multiply(difference);
}

function displacement(expected, actual) {
  const difference = expected.clone().invert().multiply(actual);
  const offset = new Vector3().setFromMatrixPosition(difference);
  const turn = new Quaternion().setFromRotationMatrix(difference);
  if (turn.w < 0) turn.set(-turn.x, -turn.y, -turn.z, -turn.w);
  return { offset, turn };
}

// By the sine of the half angle: the cosine has no precision at small angles.
function angle(turn) {
  return 2 * Math.atan2(Math.hypot(turn.x, turn.y, turn.z), turn.w);
}

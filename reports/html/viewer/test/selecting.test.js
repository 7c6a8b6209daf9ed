import assert from "node:assert/strict";
import { test } from "node:test";
import { wireFindings, wrongLinks } from "../src/selecting.js";

// base - (shoulder) - arm - (elbow) - hand, and base - (neck) - head; the USD lacks hand.
const JOINTS = [
  { name: "shoulder", parent: "base", child: "arm" },
  { name: "neck", parent: "base", child: "head" },
];
const ELBOW = { name: "elbow", parent: "arm", child: "hand" };
const MODELS = [{ joints: [...JOINTS, ELBOW] }, { joints: JOINTS }];

test("a joint stands for its child", () => {
  assert.deepEqual(wrongLinks(MODELS, "joint elbow", null), new Set(["hand"]));
});

test("a group stands for its first link", () => {
  assert.deepEqual(wrongLinks(MODELS, "group arm", null), new Set(["arm"]));
});

test("names may contain spaces", () => {
  assert.deepEqual(wrongLinks(MODELS, "link left arm", null), new Set(["left arm"]));
});

test("of a wrong pose, the failing links below are shown", () => {
  const failing = new Set(["arm", "hand", "head"]);
  const found = wrongLinks(MODELS, "joint shoulder", failing);
  assert.deepEqual(found, new Set(["arm", "hand"]));
});

test("a link within the tolerance is selected, not drawn as wrong", () => {
  const clicks = [];
  const dataset = { show: "link hand", tolerated: "" };
  const button = { dataset, addEventListener: (_, act) => clicks.push(act) };
  const found = { "button[data-show]": [button] };
  globalThis.document = { querySelectorAll: (selector) => found[selector] ?? [] };
  const [wrong, selected] = [[], []];
  const scene = { configurations: [], models: MODELS };
  const view = { scene, markWrong: (links) => wrong.push([...links]) };
  const element = { scrollIntoView: () => {} };
  const panel = { writeAddress: () => {} };
  wireFindings(element, view, panel, (link) => selected.push(link));
  assert.deepEqual(wrong, []);
  clicks[0]();
  assert.deepEqual([wrong, selected], [[[]], ["hand"]]);
});

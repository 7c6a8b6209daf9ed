import assert from "node:assert/strict";
import { test } from "node:test";
import { readReport } from "../src/report.js";
import { readAddress, select, writeAddress } from "../src/selection.js";

const GRADES = [
  { letter: "e", name: "exact", look: "exact", sign: "✓", rank: 3 },
  { letter: "f", name: "fails", look: "fails", sign: "✗", rank: 0 },
];
const VERDICTS = [
  { name: "exact", look: "exact", rank: 7, conforms: true },
  { name: "fails", look: "fails", rank: 0, conforms: false },
];

function robot(title, reference, maker, verdict, grades, worst, engines, rules) {
  const page = `robots/${title}.html`;
  return { title, reference, page, maker, verdict, reason: "", grades, worst, engines, rules };
}

const report = readReport(
  JSON.stringify({
    checks: [
      { id: "a.b", title: "positions", group: "a", unit: "m" },
      { id: "a.c", title: "names", group: "a", unit: "" },
    ],
    grades: GRADES,
    verdicts: VERDICTS,
    engines: ["reference", "engine"],
    rules: ["joint-limit-missing"],
    makers: ["", "Acme"],
    robots: [
      robot("zeta", "rd:zeta", 1, 0, "ee", [1e-8, null], "oo", []),
      robot("alpha", "dir:alpha", 0, 1, "fe", [0.5, null], "oa", [0]),
      robot("mid", "dir:mid", 0, 1, ".f", ["Infinity", null], "o.", [0]),
    ],
  }),
);

const titles = (selection) => select(report, selection).map(({ title }) => title);

test("nothing chosen shows all, in the order of the page", () => {
  assert.deepEqual(titles({}), ["zeta", "alpha", "mid"]);
});

for (const [selection, expected] of [
  [{ text: "ALPHA dir" }, ["alpha"]],
  [{ text: "joint-limit" }, ["alpha", "mid"]],
  [{ corpus: "dir" }, ["alpha", "mid"]],
  [{ maker: "Acme" }, ["zeta"]],
  [{ verdict: "fails" }, ["alpha", "mid"]],
  [{ verdict: "nonconforming" }, ["alpha", "mid"]],
  [{ check: "a.b" }, ["zeta", "alpha"]],
  [{ check: "a.b", grade: "fails" }, ["alpha"]],
  [{ grade: "fails" }, ["alpha", "mid"]],
  [{ engine: "engine" }, ["zeta", "alpha"]],
  [{ engine: "engine", status: "unsupported" }, ["alpha"]],
  [{ status: "crashed" }, []],
  [{ rule: "joint-limit-missing" }, ["alpha", "mid"]],
  [{ sort: "robot" }, ["alpha", "mid", "zeta"]],
  [{ sort: "-robot" }, ["zeta", "mid", "alpha"]],
  [{ sort: "verdict" }, ["alpha", "mid", "zeta"]],
  [{ sort: "group a" }, ["alpha", "mid", "zeta"]],
  [{ sort: "a.b" }, ["alpha", "zeta", "mid"]],
]) {
  test(`${JSON.stringify(selection)} shows ${expected}`, () => {
    assert.deepEqual(titles(selection), expected);
  });
}

test("an address brings a selection back", () => {
  const selection = { text: "a&b=c #é", verdict: "fails", sort: "-a.b" };
  assert.deepEqual(readAddress(writeAddress(selection)), selection);
});

test("other addresses are no selection", () => {
  assert.equal(readAddress("#robots"), null);
  assert.equal(readAddress("#view?q=1"), null);
  assert.deepEqual(readAddress("#robots?evil=1"), {});
  assert.equal(writeAddress({ text: "" }), "");
});

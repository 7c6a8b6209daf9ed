import assert from "node:assert/strict";
import { test } from "node:test";
import { counted, quantity } from "../src/quantity.js";

// The same values as in the tests of reports/text.py.
const CASES = [
  [0, "m", "0"],
  [3.1e-6, "m", "3.1\u00a0µm"],
  [0.0031, "m", "3.1\u00a0mm"],
  [1e-4, "m", "0.1\u00a0mm"],
  [7.2e-8, "rad", "72\u00a0nrad"],
  [0.5, "1", "50 %"],
  [5e-7, "1", "5×10⁻⁷"],
  [13, "1", "1,300 %"],
  [39, "1", "3,900 %"],
  [4000, "1", "400,000 %"],
  [2e5, "1", "2×10⁷\u00a0%"],
  [2.1e-7, "rad or m", "0.21\u00a0µrad or µm"],
  [Infinity, "m", "inf"],
];

for (const [value, unit, expected] of CASES) {
  test(`${value} ${unit} is ${expected}`, () => {
    assert.equal(quantity(value, unit), expected);
  });
}

test("counts have room beside a plot, however many robots there are", () => {
  assert.deepEqual([0, 7, 500, 1000, 1500, 20000].map(counted), ["0", "7", "500", "1K", "1.5K", "20K"]);
  assert.equal(counted(0.5), "");
});

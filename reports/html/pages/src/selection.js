// Filters and order of robots, as a value that the URL can store.

import { graver } from "./report.js";

export const FIELDS = [
  "text",
  "corpus",
  "maker",
  "verdict",
  "check",
  "grade",
  "engine",
  "status",
  "rule",
  "columns",
  "sort",
];
export const GROUP = "group ";
const NAME = "#robots";

/** Parse a selection from the URL hash; null if there is none. */
export function readAddress(hash) {
  const [name, words] = [hash.split("?")[0], hash.slice(hash.indexOf("?") + 1)];
  if (name !== NAME || !hash.includes("?")) return null;
  const given = new URLSearchParams(words);
  const known = FIELDS.filter((field) => given.get(field));
  return Object.fromEntries(known.map((field) => [field, given.get(field)]));
}

/** Format a selection as URL hash; empty for an empty selection. */
export function writeAddress(selection) {
  const chosen = FIELDS.filter((field) => selection[field]);
  const words = new URLSearchParams(chosen.map((field) => [field, selection[field]]));
  return chosen.length ? `${NAME}?${words}` : "";
}

/** Filter and sort robots. */
export function select(report, selection) {
  const tests = conditions(report, selection);
  const shown = report.robots.filter((robot) => tests.every((test) => test(robot)));
  return selection.sort ? ordered(report, shown, selection.sort) : shown;
}

function conditions(report, selection) {
  const { text, corpus, maker, verdict, check, grade, engine, status, rule } = selection;
  const tests = [];
  const words = (text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) {
    tests.push((robot) => words.every((word) => robot.words.includes(word)));
  }
  if (corpus) tests.push((robot) => robot.corpus === corpus);
  if (maker) tests.push((robot) => robot.maker === maker);
  if (verdict === "nonconforming") tests.push((robot) => !robot.verdict.conforms);
  else if (verdict) tests.push((robot) => robot.verdict.look === verdict);
  const column = report.checks.findIndex(({ id }) => id === check);
  if (column >= 0) {
    tests.push((robot) => robot.grades[column] && matches(robot.grades[column], grade));
  } else if (grade) {
    tests.push((robot) => robot.grades.some((one) => one && matches(one, grade)));
  }
  const place = report.engines.indexOf(engine);
  if (place >= 0) {
    tests.push((robot) => robot.statuses[place] && matches(robot.statuses[place], status));
  } else if (status) {
    tests.push((robot) => robot.statuses.includes(status));
  }
  if (rule) tests.push((robot) => robot.rules.includes(rule));
  return tests;
}

function matches(found, wanted) {
  return !wanted || (found.look ?? found) === wanted;
}

function ordered(report, robots, sort) {
  const backwards = sort.startsWith("-");
  const key = backwards ? sort.slice(1) : sort;
  const group = key.startsWith(GROUP) ? key.slice(GROUP.length) : null;
  const columns = report.checks.flatMap((check, index) =>
    check.id === key || check.group === group ? [index] : [],
  );
  const [column] = columns;
  const grade = (robot) => rank(columns.map((at) => robot.grades[at]).reduce(graver, undefined));
  const measured = (robot) => (group === null ? robot.worst[column] ?? -1 : 0);
  const compare =
    {
      robot: (a, b) => a.reference.localeCompare(b.reference) || a.place - b.place,
      verdict: (a, b) => a.verdict.rank - b.verdict.rank || a.place - b.place,
    }[key] ??
    ((a, b) =>
      grade(a) - grade(b) || measured(b) - measured(a) || a.place - b.place);
  const sorted = robots.toSorted(compare);
  return backwards ? sorted.reverse() : sorted;
}

function rank(grade) {
  return grade ? grade.rank : 99;
}

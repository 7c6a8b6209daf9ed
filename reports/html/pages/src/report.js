// Decoding of the data about all robots that the page contains.

const LETTERS = { o: "observed", a: "unsupported", c: "crashed", u: "unavailable" };

/** Decode the report from JSON. */
export function readReport(text) {
  const report = JSON.parse(text);
  const grades = new Map(report.grades.map((grade) => [grade.letter, grade]));
  const robots = report.robots.map((robot, place) => ({
    ...robot,
    place,
    corpus: robot.reference.split(":")[0],
    maker: report.makers[robot.maker] ?? "",
    verdict: report.verdicts[robot.verdict],
    grades: Array.from(robot.grades, (letter) => grades.get(letter)),
    worst: robot.worst.map((value) => (value === null ? null : Number(value))),
    statuses: Array.from(robot.engines, (letter) => LETTERS[letter]),
    rules: robot.rules.map((index) => report.rules[index]),
  }));
  for (const robot of robots) {
    const said = [robot.title, robot.reference, robot.maker, robot.verdict.name];
    robot.words = [...said, robot.reason, ...robot.rules].join("\n").toLowerCase();
  }
  return { ...report, robots };
}

/** The more urgent of two grades; undefined is none. */
export function graver(first, second) {
  if (!first || !second) return first ?? second;
  return second.rank < first.rank ? second : first;
}

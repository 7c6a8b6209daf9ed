// Histograms of differences, one per check, on a logarithmic scale.

import { axisX, dot, plot, rectX, rectY, ruleX, text } from "@observablehq/plot";
import { element, labelled } from "./matrix.js";
import { counted, quantity } from "./quantity.js";

const PER_DECADE = 3;
const [WIDTH, HEIGHT] = [320, 132];
const MOST_DOTS = 60;
const NARROW = "(max-width: 45rem)";
const CALM = new Set(["exact", "close"]);

/** Draw a figure per measured check, each when it becomes visible. */
export function drawDistributions(holder, report, robots) {
  if (!holder) return;
  holder.closest("section").hidden = false;
  const state = holder.state ?? (holder.state = prepare(holder, report));
  state.robots = robots;
  for (const figure of state.figures.values()) figure.stale = true;
  for (const node of state.visible) state.draw(node);
}

function prepare(holder, report) {
  const state = { figures: new Map(), visible: new Set() };
  const folded = window.matchMedia(NARROW).matches;
  let group;
  let figures;
  report.checks.forEach((check, index) => {
    if (!check.unit || !report.robots.some(({ worst }) => worst[index] !== null)) return;
    if (check.group !== group) {
      group = check.group;
      figures = element("div", { class: "figures" });
      const details = element("details", folded ? {} : { open: "" });
      const summary = element("summary");
      summary.append(element("h3", {}, group));
      details.append(summary, figures);
      holder.append(details);
    }
    const figure = element("figure", { class: "distribution" });
    figure.append(element("figcaption", {}, check.title), element("div"));
    figures.append(figure);
    state.figures.set(figure, { check, index, stale: true });
  });
  state.draw = (node) => {
    const entry = state.figures.get(node);
    if (!entry.stale) return;
    entry.stale = false;
    node.lastChild.replaceChildren(histogram(entry.check, entry.index, state.robots));
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) state.visible.add(target);
      else state.visible.delete(target);
      if (isIntersecting) state.draw(target);
    }
  });
  for (const node of state.figures.keys()) observer.observe(node);
  window.addEventListener("beforeprint", () => {
    for (const details of holder.querySelectorAll("details")) details.open = true;
    for (const node of state.figures.keys()) state.draw(node);
  });
  return state;
}

function histogram(check, index, robots) {
  const measured = robots
    .map((robot) => ({ robot, value: robot.worst[index], grade: robot.grades[index] }))
    .filter(({ value, grade }) => value !== null && !Number.isNaN(value) && grade);
  if (!measured.length) return element("p", { class: "muted small" }, "No measurements.");
  const scale = scaleOf(check, measured);
  const bars = stacked(measured, scale);
  const outliers = measured.filter(({ grade }) => !CALM.has(grade.look)).slice(0, MOST_DOTS);
  const worst = measured.reduce((a, b) => (b.value > a.value ? b : a));
  const [bound, tolerance] = [check.bound, check.tolerance].map((range) =>
    range?.map((value) => scale.place(value)),
  );
  const svg = plot({
    width: WIDTH,
    height: HEIGHT,
    marginTop: 18,
    marginBottom: 26,
    marginLeft: 28,
    marginRight: 34,
    ariaLabel: summary(check, measured, worst),
    x: { domain: [scale.least - 0.5, scale.most], label: null },
    y: { label: null, ticks: 3, tickFormat: counted, nice: true },
    marks: [
      bound && rectX([0], { x1: bound[0], x2: bound[1], fill: "var(--exact-tint)" }),
      tolerance && ruleX([...new Set(tolerance)], { stroke: "var(--fails)", strokeDasharray: "4 3" }),
      bound && ruleX([bound[1]], { stroke: "var(--exact)", strokeDasharray: "1 2" }),
      rectY(bars, {
        x1: "left", x2: "right", y1: "from", y2: "to", fill: "color", insetLeft: 0.5,
        insetRight: 0.5, title: "words", tip: true,
      }),
      dot(outliers, {
        x: ({ value }) => scale.place(value), y: 0, r: 3.5, fill: ({ grade }) => `var(--${grade.look})`,
        href: ({ robot }) => `${robot.page}#check-${check.id}`,
        title: ({ robot, value }) => `${robot.title}: ${quantity(value, check.unit)}`,
        clip: false,
      }),
      bound && text(["float32"], { x: bound[1], frameAnchor: "top", textAnchor: "end", dx: -2, dy: -12, fontSize: 9, fill: "var(--exact)" }),
      tolerance && text(["tolerance"], { x: tolerance[0], frameAnchor: "top", textAnchor: "start", dx: 2, dy: -12, fontSize: 9, fill: "var(--fails)" }),
      axisX(scale.ticks, { label: null, tickFormat: (place) => scale.word(place, check.unit), fontSize: 9 }),
    ].filter(Boolean),
  });
  return labelled(svg, "group");
}

/** Positions on the axis are powers of ten; zero has a position below all others. */
function scaleOf(check, measured) {
  const known = [...measured.map(({ value }) => value), ...(check.bound ?? []), ...(check.tolerance ?? [])]
    .filter((value) => value > 0 && Number.isFinite(value))
    .map(Math.log10);
  const low = Math.max(-20, Math.floor(Math.min(...known, 0) - 0.01));
  const high = Math.ceil(Math.max(...known, low + 1) + 0.01);
  const [least, most] = [low - 1, high + 1];
  const place = (value) => {
    if (!(value > 0)) return least;
    return Math.min(Math.max(Math.log10(value), low), most - 0.5);
  };
  const stride = Math.max(1, Math.ceil((high - low) / 4));
  const ticks = [least];
  for (let power = low + 1; power <= high; power += stride) ticks.push(power);
  // Below nano there is no prefix, and no space for the unit.
  const word = (at, unit) =>
    at === least ? "0" : quantity(10 ** at, at < -9 ? "" : unit).replace("1×", "");
  return { low, least, most, place, ticks, word };
}

function stacked(measured, scale) {
  const bins = new Map();
  for (const { value, grade } of measured) {
    const place = scale.place(value);
    const bin = place === scale.least ? null : Math.floor(place * PER_DECADE);
    if (!bins.has(bin)) bins.set(bin, new Map());
    const counts = bins.get(bin);
    counts.set(grade, (counts.get(grade) ?? 0) + 1);
  }
  return [...bins].flatMap(([bin, counts]) => {
    let from = 0;
    const [left, right] =
      bin === null
        ? [scale.least - 0.3, scale.least + 0.3]
        : [bin / PER_DECADE, (bin + 1) / PER_DECADE];
    return [...counts]
      .sort(([a], [b]) => b.rank - a.rank)
      .map(([grade, count]) => {
        const bar = { left, right, from, to: from + count };
        from += count;
        const noun = count === 1 ? "robot" : "robots";
        return { ...bar, color: `var(--${grade.look})`, words: `${count} ${noun}: ${grade.name}` };
      });
  });
}

function summary(check, measured, worst) {
  const parts = [
    `${check.title} of ${measured.length} robots`,
    `largest ${quantity(worst.value, check.unit)}`,
  ];
  if (check.bound) parts.push(`float32 bound up to ${quantity(check.bound[1], check.unit)}`);
  if (check.tolerance) parts.push(`tolerance ${quantity(check.tolerance[0], check.unit)}`);
  return parts.join(", ");
}

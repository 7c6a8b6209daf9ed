// Plots of pose errors over the compared configurations.

import { axisX, axisY, dot, gridY, line, plot, ruleY } from "@observablehq/plot";
import { element, labelled } from "./matrix.js";
import { quantity } from "./quantity.js";

const LEAST = 1e-17;
const [WIDE, NARROW] = [640, 360];

export function drawConfigurations(holder, island) {
  const errors = JSON.parse(island.textContent);
  holder.closest("section").hidden = false;
  for (const [quantityName, rows, check] of [
    ["position", errors.positions, errors.position],
    ["rotation", errors.rotations, errors.rotation],
  ]) {
    const figure = element("figure", { class: "over-configurations" });
    const caption = `Error of ${quantityName} over configurations`;
    figure.append(element("figcaption", {}, caption), chart(errors, rows, check));
    holder.append(figure);
  }
}

function chart(errors, rows, { unit, bound, tolerance }) {
  const points = rows.flatMap((row, at) =>
    row.flatMap((value, link) =>
      value === null
        ? []
        : [{ at: errors.configurations[at], link: errors.links[link], value, shown: Math.max(value, LEAST) }],
    ),
  );
  const worst = errors.configurations.map((at, index) => {
    const values = rows[index].map((value) => value ?? 0);
    return { at, shown: Math.max(LEAST, ...values) };
  });
  const color = ({ value }) =>
    value > tolerance ? "var(--fails)" : value > bound ? "var(--close)" : "var(--exact)";
  const limits = [tolerance, bound].filter((value) => value > 0);
  const highest = Math.max(...limits, ...worst.map(({ shown }) => shown)) * 10;
  const crowded = errors.configurations.length > 12;
  // Text keeps its size on narrow screens, so only every fourth label is shown there.
  const width = window.innerWidth < WIDE ? NARROW : WIDE;
  const step = crowded && width === NARROW ? 4 : 1;
  const svg = plot({
    width,
    height: 260,
    marginLeft: 74,
    marginBottom: crowded ? 74 : 40,
    ariaLabel: `Largest error ${quantity(Math.max(...worst.map(({ shown }) => shown)), unit)}`,
    x: { domain: errors.configurations, type: "point", label: null },
    y: { type: "log", domain: [LEAST, highest], label: null },
    marks: [
      gridY({ ticks: 5, stroke: "var(--line)", strokeOpacity: 1 }),
      axisY({ ticks: 5, tickFormat: (value) => (value <= LEAST ? "0" : quantity(value, unit)), label: null }),
      axisX(errors.configurations.filter((_, index) => index % step === 0), {
        tickRotate: crowded ? -60 : 0, label: null,
      }),
      tolerance && ruleY([tolerance], { stroke: "var(--fails)", strokeDasharray: "4 3" }),
      bound && ruleY([bound], { stroke: "var(--exact)", strokeDasharray: "1 2" }),
      line(worst, { x: "at", y: "shown", stroke: "var(--muted)", strokeWidth: 1 }),
      dot(points, {
        x: "at", y: "shown", r: 2.5, fill: color, fillOpacity: 0.75, tip: true,
        title: ({ at, link, value }) => `${link}\n${at}: ${quantity(value, unit)}`,
      }),
    ].filter(Boolean),
  });
  return labelled(svg, "img");
}

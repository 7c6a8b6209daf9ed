// The table of robots and checks. Only visible rows are in the document.

import { quantity } from "./quantity.js";
import { graver } from "./report.js";
import { GROUP } from "./selection.js";

const ROW = 34;
const BEYOND = 12;
const NARROW = "(max-width: 45rem)";
const FAILING = new Set(["fails", "disputed"]);
const ROUND_TRIP = "round-trip.";

export class Matrix {
  constructor(region, report, sorted) {
    this.region = region;
    this.table = region.querySelector("table");
    this.report = report;
    this.sorted = sorted;
    this.rows = new Map();
    this.body = this.table.createTBody();
    this.above = spacer();
    this.below = spacer();
    region.addEventListener("scroll", () => this.#request(), { passive: true });
    new ResizeObserver(() => this.#request()).observe(region);
    // In print, all rows are visible, and only columns of groups fit.
    window.addEventListener("beforeprint", () => {
      this.#columns("groups");
      this.#fill(0, this.robots.length);
    });
    window.addEventListener("afterprint", () => {
      this.#columns(this.mode);
      this.#draw();
    });
  }

  /** Show these robots, with these columns. */
  show(robots, mode, sort) {
    this.robots = robots;
    this.mode = mode;
    this.sort = sort;
    this.#columns(mode);
    this.table.setAttribute("aria-rowcount", robots.length + 2);
    this.region.scrollTop = 0;
    this.#draw();
  }

  #columns(mode) {
    const columns = columnsOf(this.report, this.robots, mode);
    this.narrow = window.matchMedia(NARROW).matches;
    const key = JSON.stringify([columns.map(({ id }) => id), this.sort, this.narrow]);
    if (key !== this.key) this.#head(columns, this.sort);
    this.key = key;
    this.columns = columns;
    this.rows.clear();
    this.body.replaceChildren(this.above, this.below);
  }

  #request() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      this.#draw();
    });
  }

  #draw() {
    const first = Math.floor(this.region.scrollTop / ROW) - BEYOND;
    const count = Math.ceil(this.region.clientHeight / ROW) + 2 * BEYOND;
    this.#fill(Math.max(0, first), Math.min(this.robots.length, first + count));
  }

  /** Rows that stay are kept as they are, with the focus that they may have. */
  #fill(start, end) {
    for (const [index, row] of this.rows) {
      if (index < start || index >= end) {
        row.remove();
        this.rows.delete(index);
      }
    }
    let next = this.below;
    for (let index = end - 1; index >= start; index -= 1) {
      let row = this.rows.get(index);
      if (!row) {
        row = this.#row(this.robots[index], index);
        this.rows.set(index, row);
        this.body.insertBefore(row, next);
      }
      next = row;
    }
    this.above.firstChild.style.height = `${start * ROW}px`;
    this.below.firstChild.style.height = `${(this.robots.length - end) * ROW}px`;
    for (const space of [this.above, this.below]) {
      space.hidden = space.firstChild.style.height === "0px";
      space.firstChild.colSpan = this.columns.length + 3;
    }
  }

  #row(robot, index) {
    const row = element("tr", { "aria-rowindex": index + 3 });
    // Several robots may have one name.
    const both = `${robot.reference} ${robot.title}`;
    const name = element("th", { scope: "row", title: both });
    const link = element("a", { href: robot.page });
    const bold = element("bdi", {}, robot.reference);
    const note = element("bdi", { class: "where" }, robot.title);
    link.append(bold);
    name.append(link, " ", note);
    const verdict = element("td", { class: "verdict-cell" });
    const { look, sign, name: word } = robot.verdict;
    const chip = element("span", { class: `chip ${look}` });
    chip.append(
      element("span", { "aria-hidden": "true" }, sign),
      " ",
      element("span", { class: "word" }, word),
    );
    verdict.append(chip);
    const reason = element("td", { class: "reason", title: robot.reason });
    reason.append(element("bdi", {}, robot.reason));
    const grades = this.columns.map((column) => cell(robot, column));
    row.append(name, verdict, ...this.#ordered(reason, grades));
    return row;
  }

  /** The reason is beside the verdict; on narrow screens, where grades need the space, last. */
  #ordered(reason, grades) {
    return this.narrow ? [...grades, reason] : [reason, ...grades];
  }

  #head(columns, sort) {
    this.table.tHead?.remove();
    this.table.querySelector("colgroup")?.remove();
    const head = this.table.createTHead();
    const [groups, names] = [element("tr"), element("tr")];
    groups.append(element("td", { colspan: 2, class: "first" }));
    const headings = [];
    for (const [group, count] of runs(columns.map((column) => column.group))) {
      // Columns of groups have no heading above them.
      headings.push(
        group
          ? element("th", { colspan: count, class: "group", scope: "colgroup" }, group)
          : element("td", { colspan: count }),
      );
    }
    groups.append(...this.#ordered(element("td"), headings));
    names.append(
      this.#heading("robot", "Robot", sort, "first"),
      this.#heading("verdict", "Verdict", sort, ""),
      ...this.#ordered(
        element("th", { scope: "col", class: "reason" }, "Reason"),
        columns.map(({ id, title }) => this.#heading(id, title, sort, "slanted")),
      ),
    );
    head.append(groups, names);
    const widths = element("colgroup");
    const kinds = ["name", "chip", ...this.#ordered("reason", columns.map(() => "one"))];
    widths.append(...kinds.map((kind) => element("col", { class: `col-${kind}` })));
    // The reason gets the space that grades leave.
    this.table.style.setProperty("--grades", columns.length);
    this.table.prepend(widths);
    const caption = this.table.caption;
    if (caption) this.table.prepend(caption);
  }

  #heading(id, title, sort, look) {
    const direction = { [id]: "ascending", [`-${id}`]: "descending" }[sort];
    const heading = element("th", { scope: "col", class: look });
    if (direction) heading.setAttribute("aria-sort", direction);
    // The group heading names the round trip, so its checks have short titles.
    const first = this.report.checks.find((check) => ROUND_TRIP + check.id === id);
    const shown = first?.title ?? title;
    const button = element("button", { type: "button", title: `Sort by: ${title}` });
    button.append(element("span", {}, shown));
    button.addEventListener("click", () => {
      this.sorted(direction === "ascending" ? `-${id}` : id);
      this.table.tHead.querySelector(`[data-column="${CSS.escape(id)}"]`)?.focus();
    });
    button.dataset.column = id;
    heading.append(button);
    return heading;
  }
}

/**
 * The columns of a mode: every check, checks that are not exact, groups, or checks that
 * fail before all groups.
 */
function columnsOf(report, robots, mode) {
  const checks = report.checks.map((check, index) => ({ ...check, indices: [index] }));
  if (mode === "failing") {
    // Differences after the round trip follow from those before it.
    const failing = checks.filter(
      ({ id }, index) =>
        !id.startsWith(ROUND_TRIP) &&
        robots.some(({ grades }) => FAILING.has(grades[index]?.look)),
    );
    return [...failing, ...columnsOf(report, robots, "groups")];
  }
  if (mode === "groups") {
    return [...new Set(checks.map(({ group }) => group))].map((group) => ({
      id: GROUP + group,
      title: group,
      group: "",
      indices: checks.flatMap((check, index) => (check.group === group ? [index] : [])),
    }));
  }
  if (mode !== "notable") return checks;
  const quiet = new Set(["exact", "not-comparable", "not-applicable"]);
  return checks.filter((_, index) =>
    robots.some(({ grades }) => grades[index] && !quiet.has(grades[index].look)),
  );
}

function cell(robot, { indices, title, unit, id, group }) {
  const grade = indices.map((index) => robot.grades[index]).reduce(graver, undefined);
  if (!grade) return element("td", { class: "grade" });
  const worst = unit ? robot.worst[indices[0]] : null;
  const amount = worst === null ? "" : `, ${quantity(worst, unit)}`;
  const words = `${title}: ${grade.name}${amount}`;
  const made = element("td", { class: `grade ${grade.look}`, title: words });
  const sign = element("span", { class: "mark", "aria-hidden": "true" }, grade.sign);
  const word = element("span", { class: "visually-hidden" }, grade.name);
  if (["exact", "not-comparable", "not-applicable"].includes(grade.look)) {
    made.append(sign, word);
    return made;
  }
  const target = group ? `${robot.page}#check-${id}` : robot.page;
  const link = element("a", { href: target, class: "mark" });
  link.append(sign, word);
  made.append(link);
  return made;
}

function runs(values) {
  const found = [];
  for (const value of values) {
    if (found.at(-1)?.[0] === value) found.at(-1)[1] += 1;
    else found.push([value, 1]);
  }
  return found;
}

function spacer() {
  const row = element("tr", { class: "spacer", "aria-hidden": "true" });
  row.append(element("td"));
  return row;
}

/** Make an element with plain text. */
export function element(name, attributes = {}, text = undefined) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Label a plot as a whole; its parts have no role that allows a label. */
export function labelled(svg, role) {
  svg.setAttribute("role", role);
  for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  return svg;
}

// The matrix of robots with its filters; the URL stores the selection.

import { drawDistributions } from "./distributions.js";
import { element, Matrix } from "./matrix.js";
import { readReport } from "./report.js";
import { readAddress, select, writeAddress } from "./selection.js";

const NARROW = "(max-width: 45rem)";
const PAUSE_MS = 120;

export function startExplorer(holder, island) {
  const report = readReport(island.textContent);
  const form = holder.querySelector("form");
  const shown = form.querySelector("output");
  const plots = document.getElementById("distributions");
  offerChoices(form, report);

  let selection = readAddress(window.location.hash) ?? {};
  const matrix = new Matrix(holder.querySelector("[role=region]"), report, (sort) => {
    selection = { ...selection, sort };
    apply();
  });

  const apply = () => {
    const robots = select(report, selection);
    const columns = selection.columns || (matchMedia(NARROW).matches ? "groups" : "failing");
    matrix.show(robots, columns, selection.sort);
    shown.textContent = `${robots.length} of ${report.robots.length} robots shown`;
    const { pathname, search } = window.location;
    const address = writeAddress(selection) || `${pathname}${search}`;
    window.history.replaceState(null, "", address);
    drawDistributions(plots, report, robots);
  };
  const restore = () => {
    for (const field of form.querySelectorAll("[name]")) {
      field.value = selection[field.name] ?? "";
    }
    const more = form.querySelector("details");
    more.open ||= [...more.querySelectorAll("select")].some(({ value }) => value);
  };
  const read = () => {
    const fields = Object.fromEntries(new FormData(form));
    selection = { ...fields, sort: selection.sort };
    apply();
  };

  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(read, PAUSE_MS);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    selection = {};
    setTimeout(apply);
  });
  window.addEventListener("hashchange", () => {
    const chosen = readAddress(window.location.hash);
    if (!chosen) return;
    selection = chosen;
    restore();
    apply();
    holder.closest("section").scrollIntoView();
  });

  holder.hidden = false;
  for (const link of document.querySelectorAll("[data-needs-script]")) link.hidden = false;
  restore();
  const linked = Object.keys(selection).length > 0;
  if (linked || window.location.hash === "") apply();
  else {
    const { hash } = window.location;
    apply();
    window.history.replaceState(null, "", hash);
  }
  if (linked) holder.closest("section").scrollIntoView();
  holder.dataset.ready = "yes";
}

function offerChoices(form, report) {
  // A value that all robots share is no useful filter.
  const several = (values) => {
    const found = [...new Set(values)];
    return found.length > 1 ? found.filter(Boolean).sort() : [];
  };
  const same = (values) => values.map((value) => [value, value]);
  const used = new Set(report.robots.map(({ verdict }) => verdict));
  const verdicts = report.verdicts.filter((verdict) => used.has(verdict));
  offer(form, "corpus", same(several(report.robots.map(({ corpus }) => corpus))));
  offer(form, "maker", same(several(report.robots.map(({ maker }) => maker))));
  offer(form, "verdict", [
    ["nonconforming", "not conforming"],
    ...verdicts.map(({ look, name }) => [look, name]),
  ]);
  offer(form, "check", report.checks.map(({ id, title }) => [id, title]));
  offer(form, "grade", report.grades.map(({ look, name }) => [look, name]));
  offer(form, "engine", same(report.engines));
  offer(form, "status", same(["observed", "unsupported", "crashed", "unavailable"]));
  offer(form, "rule", same(report.rules));
}

function offer(form, name, choices) {
  const field = form.elements.namedItem(name);
  for (const [value, word] of choices) {
    field.append(element("option", { value }, word));
  }
  // Without choices, the filter is hidden.
  field.closest("label").hidden = choices.length === 0;
}

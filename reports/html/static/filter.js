"use strict";
(() => {
  const form = document.getElementById("filter");
  const text = document.getElementById("filter-text");
  const verdict = document.getElementById("filter-verdict");
  const shown = document.getElementById("filter-shown");
  const rows = Array.from(document.querySelectorAll("#results tbody tr"), (row) => ({
    row,
    text: row.textContent.toLowerCase(),
    verdict: row.dataset.verdict,
  }));
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of rows) {
      const match =
        (!verdict.value ||
          entry.verdict === verdict.value ||
          (verdict.value === "nonconforming" && "nonconforming" in entry.row.dataset)) &&
        words.every((word) => entry.text.includes(word));
      entry.row.hidden = !match;
      count += match;
    }
    shown.textContent = `${count} of ${rows.length} ${shown.dataset.noun || "robots"} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
})();

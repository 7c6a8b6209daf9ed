// Selection of links in the view, in the tree of links and by findings.

/**
 * Select the same link in the view and in the tree.
 *
 * @returns A function that selects a link; null for none.
 */
export function wireTree(element, view) {
  const buttons = [...document.querySelectorAll("button[data-link]")];
  const output = element.querySelector("[data-selected]");
  const select = (link) => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.link === link));
    }
    output.textContent = link === null ? "" : `Selected: ${link}`;
    view.highlight(link);
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") === "true";
      select(pressed ? null : button.dataset.link);
    });
  }
  view.picked = select;
  return select;
}

/**
 * Show findings in the view: the first failing one at once, others by their buttons.
 *
 * Values within the tolerance are not wrong: their link is selected.
 */
export function wireFindings(element, view, panel, select) {
  const buttons = [...document.querySelectorAll("button[data-show]")];
  const failing = new Set(
    Array.from(document.querySelectorAll(".tree .fails [data-link]"), ({ dataset }) => dataset.link),
  );
  const show = ({ show: subject, configuration, posed, tolerated }) => {
    const { configurations, models } = view.scene;
    const chosen = configurations.findIndex(({ label }) => label === configuration);
    if (chosen >= 0) panel.chooseConfiguration(chosen);
    if (tolerated !== undefined) {
      view.markWrong([]);
      select([...wrongLinks(models, subject, null)][0] ?? null);
      return;
    }
    view.markWrong(wrongLinks(models, subject, posed === undefined ? null : failing));
  };
  for (const button of buttons) {
    button.hidden = false;
    button.addEventListener("click", () => {
      show(button.dataset);
      panel.writeAddress();
      element.scrollIntoView({ block: "nearest" });
    });
  }
  const first = buttons.find(({ dataset }) => dataset.tolerated === undefined);
  if (first && !panel.linked) show(first.dataset);
}

/**
 * Names of the links that a finding concerns.
 *
 * @param models Models of the scene.
 * @param subject Such as "joint elbow" or "link hand".
 * @param failing Links at wrong poses, if the finding is about poses: then all of them
 *     below the subject.
 */
export function wrongLinks(models, subject, failing) {
  const space = subject.indexOf(" ");
  const [kind, name] = [subject.slice(0, space), subject.slice(space + 1)];
  const joints = models.flatMap((model) => model.joints);
  const ends = joints.filter((joint) => joint.name === name).map(({ child }) => child);
  const start = kind === "joint" ? ends : [name];
  if (!failing) return new Set(start);
  const below = new Set(start);
  // A set visits what is added to it.
  for (const link of below) {
    for (const { parent, child } of joints) if (parent === link) below.add(child);
  }
  return new Set([...below].filter((link) => failing.has(link)));
}

// Starts the 3D view if the page has a scene and the browser supports WebGL.

import { ControlPanel } from "./panel.js";
import { readScene } from "./scene.js";
import { RobotView } from "./view.js";

async function start(element) {
  const data = document.getElementById("scene");
  if (!element || !data) return;
  const note = element.querySelector("[data-note]");
  let scene;
  try {
    scene = await readScene(data.textContent);
  } catch (error) {
    note.textContent = `The model cannot be read: ${error.message}`;
    return;
  }
  let view;
  try {
    view = new RobotView(element.querySelector("canvas"), scene);
  } catch {
    note.textContent = "This browser cannot draw in 3D (WebGL is off or missing).";
    return;
  }
  new ControlPanel(element, view);
  wireTree(view);
  note.hidden = true;
  element.dataset.ready = "yes";
  // For tests and developer tools.
  window.robotView = view;
}

/** Buttons that name a link highlight it in the view. */
function wireTree(view) {
  for (const button of document.querySelectorAll("button[data-link]")) {
    const { link } = button.dataset;
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") !== "true";
      for (const other of document.querySelectorAll("button[data-link]")) {
        const same = other.dataset.link === link;
        other.setAttribute("aria-pressed", String(pressed && same));
      }
      view.highlight(pressed ? link : null);
    });
  }
}

start(document.getElementById("viewer"));

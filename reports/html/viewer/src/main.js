// Starts the 3D view if the page has a scene and the browser supports WebGL.

import { handleKeys } from "./keys.js";
import { ControlPanel } from "./panel.js";
import { readScene } from "./scene.js";
import { wireFindings, wireTree } from "./selecting.js";
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
  const panel = new ControlPanel(element, view);
  const select = wireTree(element, view);
  wireFindings(element, view, panel, select);
  handleKeys(element, view, panel, select);
  note.hidden = true;
  element.dataset.ready = "yes";
  // For tests and developer tools.
  window.robotView = view;
}

start(document.getElementById("viewer"));

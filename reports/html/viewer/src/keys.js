// Keys of the 3D view, listed on the page.

const TURN = Math.PI / 24;
const ZOOM = 1.15;
const DIRECTIONS = { 0: "fit", 1: "front", 2: "side", 3: "top" };

/** Handle keys while the canvas has the focus, and the button for full screen. */
export function handleKeys(element, view, panel, select) {
  const full = () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else element.requestFullscreen();
  };
  const keys = {
    ArrowLeft: () => view.turn(-TURN, 0),
    ArrowRight: () => view.turn(TURN, 0),
    ArrowUp: () => view.turn(0, TURN),
    ArrowDown: () => view.turn(0, -TURN),
    "+": () => view.zoom(1 / ZOOM),
    "-": () => view.zoom(ZOOM),
    f: full,
    g: () => panel.toggle("ground"),
    c: () => panel.toggle("collision"),
    n: () => panel.stepConfiguration(1),
    p: () => panel.stepConfiguration(-1),
    Escape: () => select(null),
  };
  for (const [key, direction] of Object.entries(DIRECTIONS)) {
    keys[key] = () => panel.look(direction);
  }
  element.querySelector("canvas").addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  const button = element.querySelector("[data-full]");
  button.hidden = !element.requestFullscreen;
  button.addEventListener("click", full);
}

// Connects the page's controls with the view.

import { Vector3 } from "three";
import { quantity } from "../../pages/src/quantity.js";
import { jointPositions } from "./kinematics.js";
import { SIDES } from "./view.js";

const DIRECTIONS = {
  fit: [1, -1.4, 0.8],
  front: [1, 0, 0],
  side: [0, -1, 0],
  top: [0, -1e-3, 1],
};
const STEPS = 1000;

/** Make the sliders and wire all controls below an element. */
export class ControlPanel {
  constructor(element, view) {
    this.element = element;
    this.view = view;
    this.sliders = [];
    const find = (selector) => element.querySelector(selector);
    this.output = find("[data-difference]");
    this.#makeSliders(find("[data-joints]"));
    this.#onAll("[data-overlay]", "change", (input) => {
      view.overlays[input.dataset.overlay] = input.checked;
      view.refresh();
    });
    this.#onAll("[data-look]", "change", (input) => {
      view.looks[input.dataset.look] = input.value;
      view.refresh();
    });
    this.#onAll("[data-direction]", "click", (button) => {
      this.look(button.dataset.direction);
    });
    this.configuration = find("[data-configuration]");
    this.configuration.addEventListener("change", () => {
      const { value } = this.configuration;
      if (value) this.chooseConfiguration(Number(value));
      this.writeAddress();
    });
    find("[data-cell]").textContent = `ground (${quantity(view.cell, "m")})`;
    this.exaggeration = find("[data-exaggeration]");
    this.exaggeration?.addEventListener("input", () => this.#exaggerate());
    this.linked = this.#readAddress();
    for (const input of element.querySelectorAll("[data-overlay]")) {
      input.checked = view.overlays[input.dataset.overlay];
    }
    view.refresh();
    this.#update();
  }

  /** Set joints to positions [rad or m]; the others go to zero. */
  choose(positions) {
    for (const slider of this.sliders) {
      slider.set(positions.get(slider.joint)?.[slider.index] ?? 0);
    }
    this.#update();
  }

  /** Pose the robot as in one of the compared configurations. */
  chooseConfiguration(index) {
    const { positions } = this.view.scene.configurations[index];
    this.choose(new Map(Object.entries(positions)));
    this.configuration.value = String(index);
  }

  /** Pose the robot as in the next or the previous configuration. */
  stepConfiguration(by) {
    const count = this.view.scene.configurations.length;
    if (!count) return;
    const { value } = this.configuration;
    const from = value ? Number(value) : by > 0 ? -1 : count;
    this.chooseConfiguration((from + by + count) % count);
    this.writeAddress();
  }

  /** Fit the robot into the view, from a named direction. */
  look(direction) {
    this.view.lookFrom(new Vector3(...DIRECTIONS[direction]));
  }

  /** Turn an overlay on or off. */
  toggle(overlay) {
    this.element.querySelector(`[data-overlay="${overlay}"]`).click();
  }

  #onAll(selector, event, act) {
    for (const item of this.element.querySelectorAll(selector)) {
      item.addEventListener(event, () => act(item));
    }
  }

  #makeSliders(place) {
    const model = this.view.models.urdf?.model ?? this.view.models.usd.model;
    for (const joint of model.joints) {
      joint.motions.forEach((motion, index) => {
        const slider = makeSlider(joint, motion, index, () => {
          this.configuration.value = "";
          this.#update();
          this.writeAddress();
        });
        this.sliders.push(slider);
        place.append(slider.row);
      });
    }
    if (!this.sliders.length) place.textContent = "This robot has no movable joint.";
  }

  #exaggerate() {
    this.view.times = 10 ** Number(this.exaggeration.value);
    const shown = this.view.times === 1 ? "off" : `× ${quantity(this.view.times, "")}`;
    this.exaggeration.setAttribute("aria-valuetext", shown);
    this.element.querySelector("[data-times]").textContent = shown;
    this.view.pose();
    this.writeAddress();
  }

  #update() {
    const chosen = new Map();
    for (const { joint, index, value, driven } of this.sliders) {
      if (driven) continue;
      if (!chosen.has(joint)) chosen.set(joint, []);
      chosen.get(joint)[index] = value();
    }
    this.view.chosen = chosen;
    this.view.pose();
    const model = this.view.models.urdf?.model ?? this.view.models.usd.model;
    const followed = jointPositions(model, chosen);
    for (const slider of this.sliders) {
      if (slider.driven) slider.set(followed.get(slider.joint)[slider.index]);
    }
    this.#report();
  }

  #report() {
    const worst = { position: ["", 0], rotation: ["", 0] };
    for (const [link, difference] of this.view.differences) {
      for (const kind of Object.keys(worst)) {
        if (difference[kind] > worst[kind][1]) worst[kind] = [link, difference[kind]];
      }
    }
    const parts = Object.entries(worst).map(([kind, [link, value]]) => {
      const amount = quantity(value, kind === "position" ? "m" : "rad");
      return `${kind} ${amount}${link ? ` at ${link}` : ""}`;
    });
    this.output.textContent = SIDES.every((side) => this.view.models[side])
      ? `Largest differences in this pose: ${parts.join(", ")}`
      : "Only one of URDF and USD could be read.";
  }

  /** Store the pose in the URL, so that a view can be linked. */
  writeAddress() {
    const fields = new URLSearchParams();
    for (const { joint, index, value, driven } of this.sliders) {
      if (!driven && value() !== 0) fields.append("q", `${value()},${index},${joint}`);
    }
    if (this.view.times !== 1) fields.set("times", this.exaggeration.value);
    const words = fields.toString();
    if (words === this.words) return;
    this.words = words;
    const { pathname, search } = window.location;
    const address = words ? `#view?${words}` : `${pathname}${search}`;
    if (words || window.location.hash.startsWith("#view")) {
      window.history.replaceState(null, "", address);
    }
  }

  /** Restore the pose of the URL; return whether there is one. */
  #readAddress() {
    const [name, words] = window.location.hash.split("?");
    if (name !== "#view" || !words) return false;
    const fields = new URLSearchParams(words);
    const positions = new Map();
    for (const field of fields.getAll("q")) {
      const [value, index, ...rest] = field.split(",");
      const joint = rest.join(",");
      if (!positions.has(joint)) positions.set(joint, []);
      positions.get(joint)[Number(index)] = Number(value) || 0;
    }
    for (const slider of this.sliders) {
      const value = positions.get(slider.joint)?.[slider.index];
      if (value !== undefined) slider.set(value);
    }
    if (fields.has("times")) {
      this.exaggeration.value = fields.get("times");
      this.#exaggerate();
    }
    this.element.scrollIntoView();
    return true;
  }
}

function makeSlider(joint, motion, index, changed) {
  const driven = Boolean(joint.mimic);
  const unit = motion.kind === "turn" ? "rad" : "m";
  const row = document.createElement("label");
  const name = document.createElement("span");
  const several = joint.motions.length > 1;
  name.textContent = several ? `${joint.name} (${motion.label})` : joint.name;
  const input = document.createElement("input");
  input.type = "range";
  input.min = motion.lower;
  input.max = motion.upper;
  input.step = (motion.upper - motion.lower) / STEPS || 1;
  input.disabled = driven;
  const shown = document.createElement("output");
  row.append(name, input, shown);
  row.title = driven ? `${joint.name} follows ${joint.mimic.leader}` : joint.name;
  // The input rounds to its steps, so the exact position is stored separately.
  let exact = 0;
  const show = () => {
    shown.textContent = `${exact.toFixed(3)} ${unit}`;
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  const set = (value) => {
    exact = value;
    input.value = value;
    show();
  };
  input.addEventListener("input", () => {
    exact = Number(input.value);
    show();
    changed();
  });
  set(0);
  return { joint: joint.name, index, driven, row, set, value: () => exact };
}

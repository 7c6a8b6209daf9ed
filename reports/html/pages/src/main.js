// Starts the parts that a page contains.

import { drawConfigurations } from "./configurations.js";
import { startCopying } from "./copying.js";
import { startExplorer } from "./explorer.js";

function start(holder, island, begin) {
  const [element, data] = [holder, island].map((id) => document.getElementById(id));
  if (element && data) begin(element, data);
}

start("explorer", "report", startExplorer);
start("configurations", "errors", drawConfigurations);
startCopying();

// Bundles the scripts of the pages into one file, to embed or to link.

import { createHash } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const OUTPUT = new URL("../static/pages.js", import.meta.url);
const SOURCES = new URL("src/", import.meta.url);

/** Hash of the sources, by which a test checks that the bundle is current. */
async function digest() {
  const hash = createHash("sha256");
  hash.update(await readFile(new URL("package.json", import.meta.url)));
  for (const name of (await readdir(SOURCES)).sort()) {
    hash.update(await readFile(new URL(name, SOURCES)));
  }
  return hash.digest("hex");
}

/** The licence of every bundled package. */
async function licenses(inputs) {
  const folders = new Set();
  for (const path of Object.keys(inputs)) {
    const found = path.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//);
    if (found) folders.add(found[1]);
  }
  const texts = new Map();
  for (const folder of [...folders].sort()) {
    const { name, version } = JSON.parse(await readFile(join(folder, "package.json")));
    const text = (await readFile(join(folder, "LICENSE"), "utf8")).trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}`]);
  }
  return [...texts].map(([text, names]) => `${names.join(", ")}:\n\n${text}`).join("\n\n");
}

const { outputFiles, metafile } = await build({
  absWorkingDir: dirname(new URL(import.meta.url).pathname),
  entryPoints: [new URL("main.js", SOURCES).pathname],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  metafile: true,
  write: false,
});
const held = (await licenses(metafile.inputs)).replaceAll("*/", "* /");
// XML namespaces, which are not loaded.
const banner = `/* sources: sha256 ${await digest()}\n\nIncludes ${held}\n*/\n`;
// Escapes end tags, which would end an inline script element.
const script = outputFiles[0].text.replaceAll("</script", "<\\/script");
await writeFile(OUTPUT, banner + script);

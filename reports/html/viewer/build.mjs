// Bundles the viewer into one file, to embed or to link.

import { createHash } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const OUTPUT = new URL("../static/viewer.js", import.meta.url);
const SOURCES = new URL("src/", import.meta.url);
const BORROWED = new URL("../pages/src/quantity.js", import.meta.url);

/** Hash of the sources, by which a test checks that the bundle is current. */
async function digest() {
  const hash = createHash("sha256");
  hash.update(await readFile(new URL("package.json", import.meta.url)));
  for (const name of (await readdir(SOURCES)).sort()) {
    hash.update(await readFile(new URL(name, SOURCES)));
  }
  hash.update(await readFile(BORROWED));
  return hash.digest("hex");
}

const { outputFiles } = await build({
  entryPoints: [new URL("main.js", SOURCES).pathname],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "inline",
  write: false,
});
const license = await readFile(
  new URL("node_modules/three/LICENSE", import.meta.url),
  "utf8",
);
const banner = `/* sources: sha256 ${await digest()}\n\nIncludes three.js:\n${license}*/\n`;
// Escapes end tags, which would end an inline script element.
const script = outputFiles[0].text.replaceAll("</script", "<\\/script");
await writeFile(OUTPUT, banner + script);

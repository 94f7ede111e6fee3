// Builds assets/editor.js from src/: `make editor`, or `npm ci && npm run build` in this folder.
// The bundle is under version control, so only somebody who changes src/ needs Node.
import {build} from "esbuild";
import {createHash} from "node:crypto";
import {readdirSync, readFileSync} from "node:fs";
import {fileURLToPath} from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// A test compares this with the sources, so that nobody forgets to build.
const sources = readdirSync(here("src")).sort().map((name) => `src/${name}`);
const digest = createHash("sha256");
for (const path of [...sources, "build.mjs", "package-lock.json"]) digest.update(readFileSync(here(path)));

await build({
  entryPoints: [here("src/index.js")],
  outfile: here("assets/editor.js"),
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  charset: "utf8",
  banner: {
    js: `// Built by \`make editor\` from sources with SHA-256 ${digest.digest("hex")}
// Contains CodeMirror 6 and Lezer, (C) Marijn Haverbeke and others, MIT licence`,
  },
});

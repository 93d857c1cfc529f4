// Pictures of every page of a sample, in both themes, at the width of a phone and of a desk:
//   UNSTUCK_BIN=target/debug/unstuck node tests/browser/screenshots.mjs FOLDER
// Those of the documentation, only what is seen at once:
//   UNSTUCK_BIN=target/debug/unstuck node tests/browser/screenshots.mjs docs/pictures --docs
// They look as the fonts of the machine do; the ones in the documentation were made with Noto.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { empty, sample } from "./sample.mjs";
import { Stage } from "./stage.mjs";

const [folder = "screenshots", which] = process.argv.slice(2);
const DOCS = which === "--docs" && ["inbox-light-1280", "inbox-dark-390", "build-light-1280", "problems-dark-1280"];
const SIZES = [[390, 844], [1280, 900]];
const cleaners = [];
const test = { after: (clean) => cleaners.push(clean) };

async function shoot(stage, server, views) {
  const token = await stage.token("Olga", "operator");
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of SIZES) {
      const visitor = await stage.visitor({ colorScheme, viewport: { width, height }, allows: [/./] });
      const page = await visitor.signIn(server, token);
      await page.getByRole("navigation").waitFor();
      for (const [name, path] of views) {
        const file = `${name}-${colorScheme}-${width}`;
        if (DOCS && !DOCS.includes(file)) continue;
        await page.goto(server.url + path);
        await page.screenshot({ path: join(folder, `${file}.png`), fullPage: !DOCS });
      }
    }
  }
}

mkdirSync(folder, { recursive: true });
try {
  const stage = new Stage(test);
  const { server, pages } = await sample(stage, 1_000);
  await shoot(stage, server, pages);
  const bare = new Stage(test, "garden");
  await shoot(bare, await bare.serve(), empty);
} finally {
  for (const clean of cleaners) await clean();
}

// Pictures of every page, in both themes, at the width of a phone and of a desk:
//   UNSTUCK_BIN=target/debug/unstuck node tests/browser/screenshots.mjs FOLDER [part of a name]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { empty, sample } from "./sample.mjs";
import { Stage } from "./stage.mjs";

const [folder = "screenshots", wanted = ""] = process.argv.slice(2);
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
      for (const [name, path, prepare] of views) {
        const file = `${name}-${colorScheme}-${width}.png`;
        if (!file.includes(wanted)) continue;
        await page.goto(server.url + path);
        await prepare?.(page);
        await page.screenshot({ path: join(folder, file), fullPage: true });
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
  const bareServer = await bare.serve();
  await shoot(bare, bareServer, empty);
} finally {
  for (const clean of cleaners) await clean();
}

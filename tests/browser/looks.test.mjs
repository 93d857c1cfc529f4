// The looks and the weight of the pages: any theme, any width, any way of using them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { barriers } from "./chromium.mjs";
import { empty, sample } from "./sample.mjs";
import { Stage } from "./stage.mjs";

const THEMES = ["light", "dark"];

/** Widths at which nothing may stick out to the right. */
const WIDTHS = [320, 390, 768, 1280];

const sticksOut = (page) => page.evaluate(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const wide = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > width + 1);
  return wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 120));
});

async function looksRight(page, { path, opens }) {
  const found = (await barriers(page)).filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(found, [], `${path}: hard to use`);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await sticksOut(page), [], `${path} at ${width} px`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  if (!opens) return;
  // The same with all that is folded away.
  await page.evaluate(() => { for (const one of document.querySelectorAll("details")) one.open = true; });
  await looksRight(page, { path: `${path}, unfolded` });
}

test("every page is for all users, in both themes and at every width", async (t) => {
  const stage = new Stage(t);
  const { server, pages } = await sample(stage);
  for (const colorScheme of THEMES) {
    const token = await stage.token(`Olga ${colorScheme}`, "operator");
    const visitor = await stage.visitor({ colorScheme, allows: [/status of 40\d/] });
    const page = await visitor.signIn(server, token);
    await page.getByRole("navigation").waitFor();
    for (const [, path] of pages) {
      await page.goto(server.url + path);
      await looksRight(page, { path: `${colorScheme} ${path}`, opens: true });
    }
    const stranger = await stage.visitor({ colorScheme, allows: [/status of 40\d/] });
    const door = await stranger.tab(server, "/login");
    await looksRight(door, { path: `${colorScheme} /login` });
    await door.getByLabel("Token").fill("nonsense");
    await door.getByRole("button", { name: "Sign in" }).click();
    await door.getByRole("alert").waitFor();
    await looksRight(door, { path: `${colorScheme} /login, refused` });
  }
});

test("a project where nothing has happened yet says what to do", async (t) => {
  const stage = new Stage(t);
  const server = await stage.serve();
  for (const colorScheme of THEMES) {
    const token = await stage.token(`Olga ${colorScheme}`, "operator");
    const page = await (await stage.visitor({ colorScheme })).signIn(server, token);
    for (const [, path] of empty) {
      await page.goto(server.url + path);
      await page.locator(".calm").waitFor();
      await looksRight(page, { path: `${colorScheme} ${path}, empty` });
    }
  }
});

test("the inbox weighs 60 KB at most and shows itself without a script", async (t) => {
  const stage = new Stage(t);
  const { server } = await sample(stage);
  const visitor = await stage.visitor({ javaScriptEnabled: false });
  const page = await visitor.context.newPage();
  await page.goto(server.entry);
  const client = await visitor.context.newCDPSession(page);
  await client.send("Network.enable");
  await client.send("Network.setCacheDisabled", { cacheDisabled: true });
  const weights = new Map();
  const addresses = new Map();
  client.on("Network.responseReceived", ({ requestId, response }) => addresses.set(requestId, new URL(response.url).pathname));
  client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    weights.set(addresses.get(requestId), encodedDataLength);
  });
  await page.goto(server.url, { waitUntil: "networkidle" });
  await page.locator("[data-card]").nth(2).waitFor();
  const all = [...weights.values()].reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(weights.size >= 3, `the page, its style and its script: ${[...weights.keys()]}`);
  assert.ok(all <= 60 * 1024, `${all} bytes: ${JSON.stringify([...weights])}`);
});

test("nothing moves for those who do not want it", async (t) => {
  const stage = new Stage(t);
  const { server, pages } = await sample(stage);
  const page = await (await stage.visitor({ reducedMotion: "reduce", allows: [/status of 404/] })).enter(server);
  for (const [, path] of pages) {
    await page.goto(server.url + path);
    const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => {
      const style = getComputedStyle(one);
      return style.animationName !== "none" || parseFloat(style.transitionDuration) > 0;
    }).map((one) => one.outerHTML.slice(0, 80)));
    assert.deepEqual(moving, [], path);
  }
});

// Pages that keep themselves fresh.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./chromium.mjs";
import { GREEN, RED, Stage } from "./stage.mjs";

/** Proves afterwards that a page was not loaded again. */
const marked = (page) => page.evaluate(() => { window.marked = true; });
const isMarked = (page) => page.evaluate(() => window.marked === true);
const column = (page, title) => page.locator(".column", { has: page.getByRole("heading", { name: title }) });

test("a running build is followed without loading the page again", async (t) => {
  const stage = new Stage(t);
  const [begin, end] = [stage.gate("begin"), stage.gate("end")];
  stage.agent("write-a", [{ run: begin.wait }, { say: "The page is half done." }, { run: end.wait }, GREEN]);
  stage.commit();
  const server = await stage.serve();
  const page = await (await stage.visitor()).enter(server, "/work");
  await page.getByText("Nothing has run here yet").waitFor();
  await marked(page);
  const build = stage.start("run", "write a");
  await page.locator("#open .working").waitFor();
  assert.ok(await isMarked(page), "the list came by itself");
  await page.locator("#open a").click();
  await page.getByRole("heading", { level: 1, name: "Working" }).waitFor();
  await column(page, "At work").getByText("write a").waitFor();
  await marked(page);
  await begin.open();
  await page.locator(".feed").getByText("The page is half done.").waitFor();
  await end.open();
  await page.getByRole("heading", { level: 1, name: "Done" }).waitFor();
  await column(page, "Over").getByText("write a").waitFor();
  await page.locator(".feed .good", { hasText: "write a" }).waitFor();
  assert.ok(await isMarked(page), "nothing was loaded again");
  assert.equal((await build.ended).exit, 0);
});

test("the tab's title counts the questions that wait", async (t) => {
  const stage = new Stage(t);
  const gate = stage.gate("later");
  stage.task("one", {}, [{ blocked: "Which colour?" }]);
  stage.task("two", {}, [{ run: gate.wait }, { blocked: "Which size?" }]);
  stage.commit();
  const server = await stage.serve();
  const page = await (await stage.visitor()).enter(server, "/jobs");
  assert.equal(await page.title(), "Jobs · Unstuck");
  await marked(page);
  stage.start("run", "--jobs", "2");
  await until(page, () => document.title === "(1) Jobs · Unstuck");
  await gate.open();
  await until(page, () => document.title === "(2) Jobs · Unstuck");
  await page.locator("nav .count", { hasText: "2" }).waitFor();
  assert.ok(await isMarked(page));
});

test("what a visitor writes is left alone while other things change", async (t) => {
  const stage = new Stage(t);
  const gate = stage.gate("later");
  stage.task("one", {}, [{ blocked: "Which colour?" }]);
  stage.task("two", {}, [{ run: gate.wait }, { blocked: "Which size?" }]);
  stage.commit();
  const server = await stage.serve();
  stage.start("run", "--jobs", "2");
  const page = await (await stage.visitor()).enter(server);
  const first = page.locator("article[data-card]", { hasText: "Which colour?" });
  await first.getByText("Tell me how").click();
  await first.getByRole("textbox").fill("Blue, and");
  await gate.open();
  await page.locator("article[data-card]", { hasText: "Which size?" }).waitFor();
  const field = first.getByRole("textbox");
  assert.equal(await field.inputValue(), "Blue, and");
  assert.ok(await field.evaluate((field) => field === document.activeElement), "the cursor stays");
});

test("a page that answers a form stays as it is while other things change", async (t) => {
  const stage = new Stage(t);
  const gate = stage.gate("later");
  stage.agent("write-a", [{ run: gate.wait }, { blocked: "Which colour?" }]);
  stage.commit();
  const server = await stage.serve();
  const build = stage.start("run", "write a", "--max-wait", "0");
  const visitor = await stage.visitor();
  const page = await visitor.enter(server, "/settings");
  await page.getByLabel("For whom").fill("Anna");
  await page.getByRole("button", { name: "Make a token" }).click();
  const token = page.locator("pre", { hasText: "ust_" });
  const shown = await token.textContent();
  const fetched = [];
  page.on("request", (request) => fetched.push(`${request.method()} ${request.url()}`));
  // Of two tabs the first one would be told first.
  const other = await visitor.tab(server, "/jobs");
  await gate.open();
  await until(other, () => document.title === "(1) Jobs · Unstuck");
  assert.equal((await build.ended).exit, 3);
  assert.deepEqual(fetched, []);
  assert.equal(await token.textContent(), shown);
  // It still leads to pages that are fresh.
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.locator("article[data-card]", { hasText: "Which colour?" }).waitFor();
});

test("after a restart of the server pages come back and have missed nothing", async (t) => {
  const stage = new Stage(t);
  stage.agent("write-a", [RED], [RED], [GREEN]);
  stage.set("[retry]\nper_signature = 1");
  const server = await stage.serve();
  const visitor = await stage.visitor({ allows: [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED/] });
  const page = await visitor.enter(server);
  await page.getByText("Nothing waits for you").waitFor();
  await marked(page);
  await server.kill();
  await page.getByRole("status").getByText("connection is lost").waitFor();
  // This happens while no server runs.
  assert.equal((await stage.run("run", "write a", "--max-wait", "0")).exit, 3);
  const again = await stage.serve({ port: server.port });
  await page.locator("article[data-card]").waitFor();
  await until(page, () => document.title.startsWith("(1) "));
  await page.getByRole("status").getByText("connection is lost").waitFor({ state: "hidden" });
  assert.ok(await isMarked(page), "the session outlasts the restart, and nothing was loaded again");
  await page.getByRole("button", { name: "Do a simpler version" }).click();
  await page.locator("#glances .done").waitFor();
  await again.end();
});

test("a visitor whose token is taken back sees the sign-in page", async (t) => {
  const stage = new Stage(t);
  const server = await stage.serve();
  const token = await stage.token("Otto", "answerer");
  // A client that follows without being let in is told 401, which the browser notes down.
  const visitor = await stage.visitor({ allows: [/status of 401/] });
  const page = await visitor.signIn(server, token);
  await page.getByText("Nothing waits for you").waitFor();
  const olga = await (await stage.visitor()).enter(server, "/settings");
  const row = olga.getByRole("row", { name: /Otto/ });
  await row.getByText("Take back").first().click();
  await row.getByRole("button").click();
  await row.waitFor({ state: "detached" });
  stage.agent("write-a", [GREEN]);
  stage.commit();
  stage.start("run", "write a");
  await page.getByRole("heading", { name: "Unstuck" }).waitFor();
  await page.getByLabel("Token").waitFor();
});

test("as many tabs as one likes are fresh", async (t) => {
  const stage = new Stage(t);
  stage.agent("write-a", [GREEN]);
  stage.commit();
  const server = await stage.serve();
  const visitor = await stage.visitor();
  const pages = [await visitor.enter(server)];
  // A browser has six connections to a server, and no more.
  while (pages.length < 8) pages.push(await visitor.tab(server));
  stage.start("run", "write a");
  await Promise.all(pages.map((page) => page.locator("#glances .done").waitFor()));
});

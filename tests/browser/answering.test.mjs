// Reading and answering questions, as people do it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GREEN, RED, Stage } from "./stage.mjs";

/** A build that needs a person before its last attempt. */
async function stuck(test) {
  const stage = new Stage(test);
  stage.agent("write-a", [RED], [RED], [GREEN]);
  stage.set("[retry]\nper_signature = 1");
  const server = await stage.serve();
  return { stage, server, build: stage.start("run", "write a") };
}

const questions = (page) => page.locator("article[data-card]");

test("one click answers, and the question goes away", async (t) => {
  const stage = new Stage(t);
  stage.agent("write-a", [{ fail: "AUTH_INVALID", message: "403 refused" }], [GREEN]);
  stage.commit();
  const server = await stage.serve();
  const build = stage.start("run", "write a");
  const page = await (await stage.visitor()).enter(server);
  await questions(page).getByRole("button", { name: "I have fixed it, try again" }).click();
  await page.getByText("Nothing waits for you").waitFor();
  await page.getByText(/answered: “I have fixed it, try again”/).waitFor();
  const { exit, stdout, stderr } = await build.ended;
  assert.equal(exit, 0, stdout + stderr);
  await page.locator("#glances .done").waitFor();
});

test("guidance is given in one's own words, and reaches the agent", async (t) => {
  const { stage, server, build } = await stuck(t);
  const page = await (await stage.visitor()).enter(server);
  const card = questions(page);
  await card.getByText("Tell me how").click();
  await card.getByRole("textbox").fill("Write it in plain words.");
  await card.getByRole("button", { name: "Send" }).click();
  await page.locator("#lately blockquote", { hasText: "Write it in plain words." }).waitFor();
  const { exit, stdout, stderr } = await build.ended;
  assert.equal(exit, 0, stdout + stderr);
  const asked = JSON.parse((await stage.run("inbox", "list", "--all", "--json")).stdout);
  const guidance = JSON.stringify(asked);
  assert.ok(guidance.includes("Write it in plain words."), guidance);
});

test("of two who answer, the first wins, and the other sees why", async (t) => {
  const { stage, server, build } = await stuck(t);
  // The browser notes down what is kept from it, and the status 409 that the second page is told with.
  const visitor = await stage.visitor({ allows: [/ERR_FAILED/, /status of 409/] });
  const [first, second] = [await visitor.enter(server), await visitor.tab(server)];
  await Promise.all([questions(first).waitFor(), questions(second).waitFor()]);
  // The second tab hears of nothing any more, as one that slept does.
  await second.route("**/*", (route) => (route.request().method() === "GET" ? route.abort() : route.continue()));
  await questions(first).getByRole("button", { name: "Do a simpler version" }).click();
  await first.getByText("Nothing waits for you").waitFor();
  await questions(second).getByRole("button", { name: "Leave it out" }).click();
  await second.getByRole("alert").getByText("That was not taken down.").waitFor();
  await second.getByText("already been answered").waitFor();
  await second.getByText(/answered: “Do a simpler version”/).waitFor();
  assert.equal((await build.ended).exit, 0);
});

test("a page that shows an answered question is told live", async (t) => {
  const { stage, server, build } = await stuck(t);
  const visitor = await stage.visitor();
  const [one, other] = [await visitor.enter(server), await visitor.tab(server)];
  await questions(other).waitFor();
  await questions(one).getByRole("button", { name: "Do a simpler version" }).click();
  await questions(other).waitFor({ state: "detached" });
  await other.getByText("Nothing waits for you").waitFor();
  assert.equal((await build.ended).exit, 0);
});

test("without JavaScript everything is read and answered", async (t) => {
  const { stage, server } = await stuck(t);
  const visitor = await stage.visitor({ javaScriptEnabled: false });
  const page = await visitor.enter(server);
  // Nothing tells the page; the visitor loads it again until the question is there.
  while (!(await questions(page).count())) await page.reload();
  assert.match(await page.title(), /^\(1\) Inbox/);
  await questions(page).getByText("What was tried").click();
  await questions(page).locator(".tried li").first().waitFor();
  for (const [link, heading] of [["Work", "Work"], ["Jobs", "Jobs"], ["Problems", "Problems"], ["Settings", "Settings"]]) {
    await page.getByRole("navigation").getByRole("link", { name: link }).click();
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
  }
  await page.goto(`${server.url}/work/${stage.name}/0`);
  await page.getByRole("heading", { name: "What happened" }).waitFor();
  await page.goto(server.url);
  await questions(page).getByText("Tell me how").click();
  await questions(page).getByRole("textbox").fill("Plainly.");
  await questions(page).getByRole("button", { name: "Send" }).click();
  await page.locator("blockquote", { hasText: "Plainly." }).waitFor();
  assert.match(await page.title(), /^Inbox/);
});

test("with the keyboard alone a question is found and answered", async (t) => {
  const { stage, server, build } = await stuck(t);
  const page = await (await stage.visitor()).enter(server);
  await questions(page).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Skip to the content");
  await page.keyboard.press("Enter");
  // From the content on, each stop is one of the question's, in the order they are read.
  const stops = [];
  while (stops.at(-1) !== "Do a simpler version") {
    await page.keyboard.press("Tab");
    stops.push(await focused(page));
    assert.ok(await page.evaluate(() => document.activeElement.matches(":focus-visible")), stops.at(-1));
  }
  // The command and its output can be scrolled, so they are stops too.
  const evidence = ["What it rests on", "sh check.sh", "work/a.txt"];
  const choices = ["Tell me how", "Do a simpler version"];
  assert.deepEqual(stops, ["question 0", "What was tried", ...evidence, ...choices]);
  await page.keyboard.press("Enter");
  await page.getByText("Nothing waits for you").waitFor();
  assert.equal((await build.ended).exit, 0);
});

test("j and k go from question to question", async (t) => {
  const stage = new Stage(t);
  for (const task of ["one", "two"]) stage.task(task, {}, [{ blocked: `Which colour for ${task}?` }]);
  stage.commit();
  const server = await stage.serve();
  stage.start("run");
  const page = await (await stage.visitor()).enter(server);
  await questions(page).nth(1).waitFor();
  const at = () => page.evaluate(() => [...document.querySelectorAll("[data-card]")].indexOf(document.activeElement));
  for (const [key, card] of [["j", 0], ["j", 1], ["j", 1], ["k", 0], ["k", 0]]) {
    await page.keyboard.press(key);
    assert.equal(await at(), card, key);
  }
  await questions(page).first().getByText("Tell me how").click();
  await questions(page).first().getByRole("textbox").pressSequentially("jk");
  assert.equal(await questions(page).first().getByRole("textbox").inputValue(), "jk");
});

test("an answer that cannot be sent is not lost", async (t) => {
  const { stage, server, build } = await stuck(t);
  const page = await (await stage.visitor({ allows: [/ERR_FAILED/] })).enter(server);
  const card = questions(page);
  await card.getByText("Tell me how").click();
  await card.getByRole("textbox").fill("Plainly.");
  const lost = (route) => route.abort();
  await page.route("**/q/**", lost);
  await card.getByRole("button", { name: "Send" }).click();
  await card.getByRole("alert").getByText("could not be sent").waitFor();
  assert.equal(await card.getByRole("textbox").inputValue(), "Plainly.");
  await page.unroute("**/q/**", lost);
  await card.getByRole("button", { name: "Send" }).click();
  await page.locator("#lately blockquote", { hasText: "Plainly." }).waitFor();
  assert.equal((await build.ended).exit, 0);
});

test("a visitor who writes while another answers keeps their words and is told", async (t) => {
  const { stage, server, build } = await stuck(t);
  const anna = await stage.visitor({ allows: [/status of 409/] });
  const hers = await anna.signIn(server, await stage.token("Anna", "answerer"));
  await questions(hers).getByText("Tell me how").click();
  await questions(hers).getByRole("textbox").fill("Well, I think");
  const his = await (await stage.visitor()).enter(server);
  await questions(his).getByRole("button", { name: "Do a simpler version" }).click();
  await questions(hers).getByText("settled while you were writing").waitFor();
  assert.equal(await questions(hers).getByRole("textbox").inputValue(), "Well, I think");
  await questions(hers).getByRole("button", { name: "Send" }).click();
  await hers.getByText(/answered: “Do a simpler version”/).first().waitFor();
  await hers.getByText("That was not taken down.").waitFor();
  assert.equal((await build.ended).exit, 0);
});

test("a test of the notifications says what came of it", async (t) => {
  const stage = new Stage(t);
  const server = await stage.serve();
  const visitor = await stage.visitor();
  const page = await visitor.enter(server, "/settings");
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("No way of notifying is set up in shop").waitFor();
  await page.close();
  await server.end();
  stage.set(`[notify.bell]\nkind = "command"\nrun = ["true"]\n[notify.horn]\nkind = "command"\nrun = ["false"]`);
  const again = await stage.serve();
  const settings = await visitor.enter(again, "/settings");
  await settings.getByRole("button", { name: "Send a test" }).click();
  await settings.locator("#told .good", { hasText: "bell was sent." }).waitFor();
  await settings.locator("#told .bad", { hasText: "horn did not arrive." }).waitFor();
});

/** What the focused thing is called. */
function focused(page) {
  return page.evaluate(() => (document.activeElement.querySelector(".button") ?? document.activeElement).innerText.trim());
}

// Whatever an agent, a tool or a person writes is text, wherever it shows up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Stage } from "./stage.mjs";

/** Each would leave a mark if it were more than text. */
const EVIL = [
  "<script>window.struck=1</script>",
  "<img src=x onerror=window.struck=2>",
  "<svg onload=window.struck=3>",
  "\"'><b class=struck>bold</b>",
  "</textarea></title><script>window.struck=4</script>",
  "javascript:window.struck=5",
  "{{ 7 * 7 }}",
].join(" ");

/** Nothing was run, nothing became an element. */
async function untouched(page) {
  const marks = await page.evaluate(() => ({
    struck: window.struck,
    elements: document.querySelectorAll(".struck, img, [onerror], [onload], main script").length,
    leads: [...document.querySelectorAll("a")].filter((a) => a.protocol === "javascript:").length,
    computed: document.body.innerText.includes("49 "),
  }));
  assert.deepEqual(marks, { struck: undefined, elements: 0, leads: 0, computed: false }, page.url());
}

const shows = async (page, selector) => {
  await page.locator(selector, { hasText: "<script>window.struck=1</script>" }).first().waitFor();
  await untouched(page);
};

test("agents and tools cannot write anything but text", async (t) => {
  const stage = new Stage(t);
  stage.task("narrates", { title: EVIL, goal: `Write ${EVIL}` }, [{ say: EVIL }, { write: "work/a.txt", text: "fine\n" }]);
  stage.task("asks", { title: `${EVIL} asks`, goal: `Ask ${EVIL}` }, [{ say: EVIL }, { blocked: EVIL }]);
  stage.task("fails", { title: `${EVIL} fails`, goal: `Fail ${EVIL}` }, [{ fail: "INTERNAL_ERROR", message: EVIL }]);
  stage.job("report", { goal: EVIL, run: EVIL, schedule: "0 3 * * *" });
  const server = await stage.serve();
  const build = stage.start("run", "--jobs", "3", "--max-wait", "0");
  const visitor = await stage.visitor();
  const page = await visitor.enter(server);
  await page.locator("[data-card]").nth(1).waitFor();
  await shows(page, ".ask");
  await build.ended;
  for (const card of await page.locator("[data-card]").all()) {
    const path = await card.getByRole("link", { name: /question/ }).getAttribute("href");
    const one = await visitor.tab(server, path);
    await one.getByText("For operators").click();
    await shows(one, "main");
    await one.close();
  }
  const latest = `/work/${stage.name}/${await server.latestBuild()}`;
  const work = await visitor.tab(server, latest);
  await shows(work, ".task");
  await shows(work, ".feed");
  for (const details of await work.locator(".feed details").all()) await details.locator("summary").click();
  await untouched(work);
  for (const link of await work.locator(".task > a").all()) {
    const task = await visitor.tab(server, await link.getAttribute("href"));
    await shows(task, "h1");
    for (const details of await task.locator("details > summary:visible").all()) await details.click();
    await untouched(task);
    await task.close();
  }
  await work.goto(`${server.url}${latest}/report`);
  await untouched(work);
  await work.goto(`${server.url}/jobs`);
  await work.locator(".tile").waitFor();
  await untouched(work);
  await work.goto(`${server.url}/problems`);
  await untouched(work);
});

test("people cannot either: in their words, in the names of tokens, in addresses", async (t) => {
  const stage = new Stage(t);
  stage.agent("write-a", [{ blocked: "Which colour?" }], [{ write: "work/a.txt", text: "fine\n" }]);
  stage.commit();
  const server = await stage.serve();
  stage.start("run", "write a");
  const visitor = await stage.visitor({ allows: [/status of 404/] });
  const page = await visitor.enter(server);
  const card = page.locator("[data-card]");
  await card.getByText("Tell me how").click();
  await card.getByRole("textbox").fill(EVIL);
  await card.getByRole("button", { name: "Send" }).click();
  await shows(page, "blockquote");
  await page.goto(`${server.url}/settings`);
  // As long as a name may be.
  await page.getByLabel("For whom").fill("<script>window.struck=1</script><img src=x onerror=1>");
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.locator("pre", { hasText: "ust_" }).waitFor();
  await shows(page, "tbody th");
  for (const path of [`/${encodeURIComponent(EVIL)}`, `/work/${encodeURIComponent(EVIL)}/0`, "/q/shop/999"]) {
    await page.goto(server.url + path);
    await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
    await untouched(page);
  }
  const login = await (await stage.visitor()).context.newPage();
  await login.goto(`${server.url}/login?next=${encodeURIComponent(EVIL)}`);
  await untouched(login);
});

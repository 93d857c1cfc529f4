// A real Chromium, and people who use it. Whatever a page complains about fails the test.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const FOUND = [process.env.CHROMIUM_BIN, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** What is not there after this time does not come. */
export const PATIENCE_MS = 30_000;

/** One for all who are there at the same time. */
let browser;
let visitors = 0;

function started() {
  const executablePath = FOUND.find((path) => path && existsSync(path));
  assert.ok(executablePath, "there is no Chromium: run ./scripts/browser");
  return chromium.launch({
    executablePath,
    headless: true,
    chromiumSandbox: false,
    args: ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
}

/** A visitor with a browser of their own. */
export class Visitor {
  /** What went wrong on any of their pages. */
  complaints = [];

  static async new(options = {}) {
    const { allows = [], ...rest } = options;
    const viewport = { width: 1280, height: 800 };
    visitors += 1;
    browser ??= started();
    const context = await (await browser).newContext({ viewport, locale: "en-GB", ...rest });
    context.setDefaultTimeout(PATIENCE_MS);
    const visitor = new Visitor();
    Object.assign(visitor, { context, allows });
    await visitor.#listen();
    return visitor;
  }

  async #listen() {
    const complain = (what) => {
      if (!this.allows.some((pattern) => pattern.test(what))) this.complaints.push(what);
    };
    this.context.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complain(`${message.text()} (${message.location().url})`);
    });
    this.context.on("weberror", (error) => complain(String(error.error())));
    this.context.on("dialog", (dialog) => {
      complain(`a dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    await this.context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
  }

  /** Signs in by the link that the server printed. */
  async enter(server, path = "/") {
    const page = await this.context.newPage();
    await page.goto(server.entry);
    if (path !== "/") await page.goto(server.url + path);
    return page;
  }

  /** Signs in by a token. */
  async signIn(server, token, path = "/") {
    const page = await this.context.newPage();
    await page.goto(`${server.url}/login?next=${encodeURIComponent(path)}`);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    return page;
  }

  /** Another tab. */
  async tab(server, path = "/") {
    const page = await this.context.newPage();
    await page.goto(server.url + path);
    return page;
  }

  /** Closes everything. What was complained about. */
  async leave() {
    await this.context.close();
    visitors -= 1;
    if (visitors === 0) {
      const last = await browser;
      browser = undefined;
      await last.close();
    }
    return this.complaints;
  }
}

/** Waits until something on the page is so. */
export async function until(page, what, argument) {
  await page.waitForFunction(what, argument, { timeout: PATIENCE_MS });
}

/** The barriers of a page for its users: nothing serious may be among them. */
export async function barriers(page) {
  const there = await page.evaluate(() => typeof window.axe === "object");
  if (!there) await page.evaluate(AXE);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations } = await page.evaluate((values) => window.axe.run({ runOnly: { type: "tag", values } }), tags);
  return violations.map(({ id, impact, nodes }) => ({
    id, impact, where: nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`),
  }));
}

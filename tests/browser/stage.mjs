// A throw-away project whose tasks are worked on by scripted agents, and the real program beside it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync, appendFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { PATIENCE_MS, Visitor } from "./chromium.mjs";

/** The program; scripts/browser builds it and says where it is. */
const UNSTUCK = process.env.UNSTUCK_BIN;
assert.ok(UNSTUCK, "UNSTUCK_BIN is not set: run ./scripts/browser");

// The agent is a script, and everything is quick.
const SETTINGS = `
[agent]
provider = "script"
script = "agents/{task}.toml"
[validate]
pre_commit = ["sh check.sh"]
protect = ["check.sh"]
[backoff]
base = "10ms"
cap = "20ms"
`;
/** Green when no file says that something is broken. */
const CHECK = "! grep -rl broken work 2>/dev/null\n";

/** What an agent writes when its work is fine, and when the check refuses it. */
export const GREEN = { write: "work/a.txt", text: "fine\n" };
export const RED = { write: "work/a.txt", text: "broken\n" };

export class Stage {
  program = UNSTUCK;
  #alive = new Set();
  #visitors = [];

  /** A project of its own, which ends with the test. */
  constructor(test, name = "shop") {
    this.owned = realpathSync(mkdtempSync(join(tmpdir(), "unstuck-browser-")));
    this.root = join(this.owned, name);
    this.name = name;
    this.write("unstuck.toml", SETTINGS);
    this.write("check.sh", CHECK);
    this.git("init", "--quiet", "--initial-branch=main");
    this.commit();
    test.after(() => this.end());
  }

  path(name) {
    return join(this.root, name);
  }

  write(name, text) {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), text);
  }

  /** More settings at the end of the file. */
  set(more) {
    appendFileSync(this.path("unstuck.toml"), `${more}\n`);
    this.commit();
  }

  /** What an agent does at a task, attempt by attempt. */
  agent(task, ...attempts) {
    const step = (step) => `{ ${Object.entries(step).map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", ")} }`;
    const text = attempts.map((steps) => `[[attempt]]\nsteps = [${steps.map(step).join(", ")}]\n`);
    this.write(`agents/${task}.toml`, text.join(""));
  }

  /** A task file with its agent. */
  task(id, { title = id, goal = title, more = "" }, ...attempts) {
    // What is quoted in JSON is quoted in YAML.
    this.write(`tasks/${id}.md`, `---\nid: ${id}\ntitle: ${JSON.stringify(title)}\n${more}---\n## Goal\n${goal}\n`);
    this.agent(id, ...attempts);
  }

  /** A job, and the agent that would repair it. */
  job(name, settings) {
    const lines = Object.entries({ name, ...settings }).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
    this.agent(name, [GREEN]);
    this.set(`[[job]]\n${lines.join("")}`);
  }

  git(...args) {
    const env = { ...this.environment(), GIT_AUTHOR_NAME: "Ada", GIT_COMMITTER_NAME: "Ada" };
    Object.assign(env, { GIT_AUTHOR_EMAIL: "ada@example.org", GIT_COMMITTER_EMAIL: "ada@example.org" });
    execFileSync("git", args, { cwd: this.root, env, stdio: ["ignore", "ignore", "inherit"] });
  }

  commit() {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--allow-empty", "--message=so far");
  }

  /** A pipe that an agent waits at: `{ run: gate.wait }` goes on after `await gate.open()`. */
  gate(name) {
    const path = join(this.root, name);
    execFileSync("mkfifo", [path]);
    return { wait: `cat '${path}'`, open: () => writeFile(path, "") };
  }

  // Nothing of the machine that runs the tests gets in.
  environment() {
    const state = join(this.owned, "state");
    // Gates lie in the person's own tree, where agents reach nothing unless it is said.
    const wall = { UNSTUCK_WALL_WRITABLE: '["."]' };
    return { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: this.owned, XDG_STATE_HOME: state, COLUMNS: "100", ...wall };
  }

  /** Runs the program to its end. */
  async run(...args) {
    return this.start(...args).ended;
  }

  /** Starts the program in this project. */
  start(...args) {
    const stdio = ["ignore", "pipe", "pipe"];
    const child = spawn(UNSTUCK, args, { cwd: this.root, env: this.environment(), stdio });
    this.#alive.add(child);
    const said = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"]) {
      child[stream].setEncoding("utf8").on("data", (text) => { said[stream] += text; });
    }
    const closed = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exit) => {
        this.#alive.delete(child);
        resolve({ exit, ...said });
      });
    });
    const late = () => `${args.join(" ")} did not end: ${said.stdout}${said.stderr}`;
    // Only who waits for its end loses patience.
    return { child, get ended() { return within(PATIENCE_MS, closed, late); } };
  }

  /** Starts the server, at a free port unless one is named, and waits until it is there. */
  async serve({ port = 0 } = {}) {
    const serving = this.start("serve", "--bind", `127.0.0.1:${port}`);
    const lines = [];
    for await (const line of createInterface({ input: serving.child.stdout })) {
      lines.push(line);
      if (line.includes("Ctrl-C ends it")) break;
    }
    if (!lines.at(-1)?.includes("Ctrl-C ends it")) {
      const { exit, stderr } = await serving.ended;
      throw new Error(`the server did not start (${exit}): ${lines.join("\n")}\n${stderr}`);
    }
    const found = (pattern) => lines.map((line) => line.match(pattern)?.[1]).find(Boolean);
    return new Server(this, serving, { url: found(/ at (http:\S+?)\/$/), entry: found(/(http:\S+\/enter\/\S+)/) });
  }

  /** Makes a token with this name and role. */
  async token(name, role) {
    const { exit, stdout, stderr } = await this.run("token", "make", "--name", name, "--role", role);
    assert.equal(exit, 0, stderr);
    return stdout.trim();
  }

  /** A visitor with a browser. Whatever it complains about, unless `allows` says so, fails the test. */
  async visitor(options) {
    const visitor = await Visitor.new(options);
    this.#visitors.push(visitor);
    return visitor;
  }

  // Browsers go first: one that loses its server complains.
  async end() {
    const complaints = [];
    for (const visitor of this.#visitors) complaints.push(...(await visitor.leave()));
    const closing = [...this.#alive].map((child) => {
      const closed = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      return closed;
    });
    await Promise.all(closing);
    rmSync(this.owned, { recursive: true, force: true, maxRetries: 5 });
    assert.deepEqual(complaints, [], "the browser complained");
  }
}

/** What is promised, or what to say when it takes too long. */
async function within(ms, promised, say) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(say())), ms); });
  try {
    return await Promise.race([promised, late]);
  } finally {
    clearTimeout(timer);
  }
}

class Server {
  #token;

  constructor(stage, serving, at) {
    Object.assign(this, { stage, serving, ...at });
    this.port = Number(new URL(this.url).port);
  }

  async #ask(path, options = {}) {
    this.#token ??= this.stage.token("Ada", "operator");
    const headers = { authorization: `Bearer ${await this.#token}`, "content-type": "application/json" };
    const answer = await fetch(this.url + path, { headers, ...options });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer;
  }

  async get(path) {
    return (await this.#ask(path)).json();
  }

  /** The latest build. Jobs are a build of their own, and which of two is the first is chance. */
  async latestBuild() {
    const builds = (await this.get("/api/v1/builds")).items.filter(({ standing }) => !standing);
    return Math.max(...builds.map(({ id }) => id));
  }

  async post(path, body = {}) {
    return (await this.#ask(path, { method: "POST", body: JSON.stringify(body) })).json();
  }

  /** Asks until the answer holds what is wanted, each time after something has happened. */
  async until(path, wanted) {
    const leave = new AbortController();
    const news = (await this.#ask("/api/v1/news", { signal: leave.signal })).body[Symbol.asyncIterator]();
    try {
      // From the first piece on nothing is missed.
      while (!(await news.next()).done) {
        const found = wanted(await this.get(path));
        if (found) return found;
      }
    } finally {
      leave.abort();
    }
    throw new Error("the news ended");
  }

  /** Ends it as a service manager does. */
  async end() {
    this.serving.child.kill("SIGTERM");
    const { exit, stderr } = await this.serving.ended;
    assert.equal(exit, 143, stderr);
  }

  /** Ends it as a crash does. */
  async kill() {
    this.serving.child.kill("SIGKILL");
    await this.serving.ended;
  }
}

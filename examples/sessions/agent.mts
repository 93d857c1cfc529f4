// A small agent that gets itself unstuck over HTTP, with nothing but what Node brings along.
//
// It adds up a column of orders.csv and books the sum. On the way its service is away for a moment, it
// does not find the column, a person tells it which one it is, and the sum is booked exactly once.
//
//     UNSTUCK_URL=http://127.0.0.1:7424 UNSTUCK_TOKEN=… node agent.mts
//
// Node 22.18 and later runs it as it is. Before that, `tsc` makes agent.mjs of it; see README.md.

import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const GOAL = "Add up the amounts of all orders and book the sum once";
const TRIES_MAX = 30; // of one request, while the server is away

type Direction = {
  decision: "retry" | "wait" | "ask" | "stop";
  attempt: number;
  context: string | null;
};
type Session = { id: number; direction: Direction };
type Permit = {
  decision: "proceed" | "applied" | "skipped" | "unsettled" | "wait" | "ask" | "stop";
  idempotency_key?: string;
  result?: string;
};

/** The session of this agent. Nothing here knows what the agent does. */
class Api {
  url: string;
  token: string;
  path = "";
  direction: Direction = { decision: "stop", attempt: 0, context: null };

  constructor(url: string, token: string) {
    this.url = url.replace(/\/$/, "");
    this.token = token;
  }

  async open(): Promise<void> {
    const opened = await this.send<Session>("POST", "/api/v1/sessions", { goal: GOAL }, newKey());
    this.path = `/api/v1/sessions/${opened.id}`;
    this.direction = opened.direction;
    console.log(`session ${opened.id} is open`);
  }

  /** Sends a request, once more under the same key while no answer comes. */
  async send<T>(method: string, path: string, body?: unknown, key?: string): Promise<T> {
    const headers: Record<string, string> = {
      Authorization: `Bearer ${this.token}`,
      "Content-Type": "application/json",
    };
    if (key) headers["Idempotency-Key"] = key;
    for (let left = TRIES_MAX - 1; ; left--) {
      try {
        const sent = body === undefined ? null : JSON.stringify(body);
        const answer = await fetch(this.url + path, { method, headers, body: sent });
        if (answer.ok) return (await answer.json()) as T;
        if (answer.status !== 503 || left === 0) {
          throw new Refused(`${method} ${path}: ${answer.status} ${await answer.text()}`);
        }
      } catch (error) {
        if (error instanceof Refused || left === 0) throw error;
      }
      await sleep(1000);
    }
  }

  /** Tells what failed. What to do now comes back. */
  async failed(error: Error, approach: string): Promise<void> {
    const body = { type: error.name, message: error.message, approach };
    this.direction = await this.send<Direction>("POST", `${this.path}/failures`, body, newKey());
  }

  /** Waits, up to 55 seconds at a time, until there is something to do. */
  async wait(): Promise<void> {
    this.direction = (await this.send<Session>("GET", `${this.path}?wait=55`)).direction;
  }

  /** Performs an irreversible action at most once, also when a process is killed in between. */
  async once(key: string, args: unknown, perform: (key: string) => string): Promise<string | null> {
    const path = `${this.path}/mutations`;
    const permit = await this.send<Permit>("POST", path, { key, arguments: args });
    if (permit.decision === "unsettled") {
      // We were cut off when we did it last. Where you can look it up, do; a person can.
      const told = { outcome: "unknown" };
      this.direction = await this.send<Direction>("PATCH", `${path}/${key}`, told);
      return null;
    }
    if (permit.decision !== "proceed") {
      // It happened before, was left out, or it is not the time for it.
      await this.wait();
      const over = permit.decision === "applied" || permit.decision === "skipped";
      return over ? (permit.result ?? "") : null;
    }
    const result = perform(permit.idempotency_key ?? "");
    await this.send("PATCH", `${path}/${key}`, { outcome: "applied", result });
    return result;
  }

  async succeeded(summary: string): Promise<void> {
    await this.send("POST", `${this.path}/success`, { summary });
  }
}

class Refused extends Error {}

class ColumnNotFound extends Error {
  override name = "ColumnNotFound";
}

function newKey(): string {
  return crypto.randomUUID();
}

type Row = Record<string, string>;

/** Stands for whatever your agent works with. */
class Orders {
  isClosed = true;

  read(): Row[] {
    if (this.isClosed) {
      this.isClosed = false;
      throw new Error("connect ECONNREFUSED 127.0.0.1:5432");
    }
    const [head = [], ...rows] = readFileSync("orders.csv", "utf8")
      .trim()
      .split("\n")
      .map((line) => line.trim().split(","));
    return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])));
  }
}

/** Stands for your model: it reads the context, and takes another way than before. */
function column(context: string | null, tried: string[]): string {
  const told = /called (\w+)/.exec(context ?? "")?.[1];
  if (told) return told;
  return ["total", "amount", "price", "cost"].find((name) => !tried.includes(name)) ?? "";
}

function addUp(orders: Orders, name: string): number {
  const rows = orders.read();
  if (rows.some((row) => !(name in row))) {
    throw new ColumnNotFound("the amounts are not in the column that was looked at");
  }
  return rows.reduce((sum, row) => sum + Number(row[name]), 0);
}

/** An action that cannot be taken back. A real service recognises a repeated key by itself. */
function book(total: number, idempotencyKey: string): string {
  appendFileSync("booked.txt", `${total} ${idempotencyKey}\n`);
  return `booked ${total}`;
}

async function main(): Promise<number> {
  const { UNSTUCK_URL: url, UNSTUCK_TOKEN: token } = process.env;
  if (!url || !token) throw new Error("UNSTUCK_URL and UNSTUCK_TOKEN say where the server is");
  const api = new Api(url, token);
  await api.open();
  const orders = new Orders();
  const tried: string[] = [];
  for (;;) {
    const { decision, attempt, context } = api.direction;
    console.log(`${decision}, attempt ${attempt}`);
    if (decision === "stop") return 1;
    if (decision !== "retry") {
      await api.wait();
      continue;
    }
    const name = column(context, tried);
    let total: number;
    try {
      total = addUp(orders, name);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error instanceof ColumnNotFound) tried.push(name);
      await api.failed(error, `read the column ${name}`);
      continue;
    }
    const result = await api.once("book-the-sum", { total }, (key) => book(total, key));
    if (result !== null) {
      await api.succeeded(`added up the column ${name}`);
      console.log(`done: ${result}`);
      return 0;
    }
  }
}

process.exitCode = await main();

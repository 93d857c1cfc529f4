// A project in the middle of its work: tasks in all states, questions of each kind, jobs, problems.
const write = (path, text = "fine\n") => ({ write: `work/${path}`, text });
const broken = (path) => write(path, "broken\n");

/**
 * Fills a stage, begins its build, and comes back when everything stands as it is to be shown. For
 * pictures the agents take their time (`pace`), so that there is something to see of it.
 */
export async function sample(stage, pace = 0) {
  const slow = stage.gate("slow");
  const takes = (times) => ({ wait_ms: times * pace });
  stage.task("importer", { title: "Make the importer twice as fast" },
    [{ say: "Most of the time goes into reading dates." }, takes(5), { spend_cents: 84, tokens: 118_000 }, write("importer.txt")]);
  stage.task("timeouts", { title: "Let no request wait for ever" },
    [{ say: "I wrap every request." }, takes(2), { spend_cents: 31, tokens: 44_000 }, broken("timeouts.txt")],
    [{ say: "The wrapper hid errors. I set the timeout on the connection instead." },
      takes(3), { spend_cents: 27, tokens: 39_000 }, write("timeouts.txt")]);
  stage.task("payments", { title: "Move payments to the new provider" },
    [takes(7), { spend_cents: 112, tokens: 160_000 }, { fail: "AUTH_INVALID", message: "401 Unauthorized: the key sk_live_… was revoked" }]);
  stage.task("checkout", { title: "One page for the whole checkout", more: "depends_on: [payments]\n" }, [write("checkout.txt")]);
  stage.task("receipts", { title: "Send receipts as PDF", more: "depends_on: [payments]\n" }, [write("receipts.txt")]);
  stage.task("prices", { title: "Show prices with and without tax" },
    [{ say: "Both are in the database." }, { spend_cents: 9, tokens: 12_500 },
      { blocked: "Which price do visitors see first: with tax, or without?" }]);
  stage.task("search", { title: "Let the search forgive small mistakes" },
    [takes(3), { spend_cents: 44, tokens: 61_000 }, broken("search.txt")], [takes(4), { spend_cents: 51, tokens: 70_000 }, broken("search.txt")]);
  stage.task("export", { title: "Export all orders as a spreadsheet", goal: "A button on the page of orders." },
    [{ say: "The table is there; the button comes next." }, { spend_cents: 18, tokens: 25_000 }, { run: slow.wait }, write("export.txt")]);
  stage.task("manual", { title: "Write the manual for the new API", goal: "One page.\n\n## Scope\n### Allowed\n- `work/manual/**`" },
    [{ spend_cents: 23, tokens: 31_000 }, write("manual/api.txt"), write("settings.txt", "language = en\n")]);
  stage.task("newsletter", { title: "Newsletter once a month" }, [{ fail: "AUTH_MISSING", message: "no key for the mail service" }]);
  stage.set("[retry]\nper_signature = 1\npause_after_questions = 9\n[scope]\nmode = \"ask\"");
  stage.job("orders", { goal: "Fetch the new orders.", run: "true", schedule: "0 3 * * *" });
  stage.job("stock", { goal: "Count what is left in stock.", run: "echo counted", schedule: "every hour" });
  stage.job("invoices", { goal: "Send the invoices of the day.", run: "echo '401 Unauthorized: token expired' >&2; exit 1", schedule: "0 6 * * *" });
  stage.job("payout", { goal: "Pay the suppliers.", run: `'${stage.program}' mutate --key payout-118 --timeout 1s -- sleep 60`, schedule: "0 18 * * 5" });
  stage.job("backup", { goal: "Copy everything to the other house.", run: "true", schedule: "30 2 * * *" });
  // One that is over.
  stage.agent("tidy-up-the-manual", [{ spend_cents: 12, tokens: 16_000 }, write("tidy.txt")]);
  stage.commit();
  await stage.run("run", "tidy up the manual");
  const server = await stage.serve();
  const build = stage.start("run", "--jobs", "8");
  await server.until("/api/v1/jobs", ({ items }) => items.every(({ row }) => row));
  for (const job of ["stock", "invoices", "payout"]) await server.post(`/api/v1/jobs/${job}/run`);
  await server.post("/api/v1/jobs/backup/pause");
  const asked = await pending(server, 7);
  const mail = asked.find(({ problem }) => problem.includes("Newsletter"));
  await server.post(`/api/v1/questions/${mail.id}/answer`, { decision: "skip_feature" });
  return { server, build, slow, pages: await pages(server) };
}

const pending = (server, count) => server.until("/api/v1/questions?status=pending", ({ items }) => items.length >= count && items);

/** The pages of it, each with its name and its address. */
async function pages(server) {
  const build = await server.latestBuild();
  const tasks = (await server.get(`/api/v1/builds/${build}/tasks`)).items;
  const search = tasks.find(({ spec }) => spec.name === "search");
  return [
    ["inbox", "/"],
    ["question", "/q/shop/0"],
    ["work", "/work"],
    ["build", `/work/shop/${build}`],
    ["report", `/work/shop/${build}/report`],
    ["task", `/work/shop/${build}/tasks/${search.id}`],
    ["jobs", "/jobs"],
    ["problems", "/problems"],
    ["settings", "/settings"],
    ["nothing", "/nothing"],
  ];
}

/** The pages of a project where nothing has happened. */
export const empty = [["empty-inbox", "/"], ["empty-work", "/work"], ["empty-jobs", "/jobs"], ["empty-problems", "/problems"]];

//! Durable writing: batches of about 1 KB from 1, 16 and 64 writers at a time, beside a bare loop that
//! writes the same rows to the same tables, as many batches in a transaction as there are writers.
//! And opening: a project with a million events, and a build of a thousand tasks. Aims: 80 % of the
//! bare loop; 100 ms; 50 ms.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, ends where it cannot go on, and rounds"
)]

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use unstuck_core::engine::{Command, ProgressReport, RecordedEvent, Rng, State, decide};
use unstuck_core::plan::{Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::time::Time;
use unstuck_store::{Batch, Claim, Holder, SqliteStore, Store, serialize_snapshot};

const PROJECT: &str = "bench";
/// Writers, and how many batches they write.
const LOADS: [(usize, usize); 3] = [(1, 400), (16, 4_000), (64, 12_000)];
/// The store and the bare loop take turns; medians are told, and the median of each turn's share.
const TURNS: usize = 41;
const EVENTS: u64 = 1_000_000;
const TASKS: usize = 1_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "writers  events/s  bare events/s  share (range)  cpu s/10,000 events  bare  bytes/batch"
    )
    .unwrap();
    for (writers, count) in LOADS {
        let (mut ours, mut bare, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..TURNS {
            let our = runtime.block_on(store_writes(writers, count));
            let (their, rows) = bare_writes(writers, count);
            shares.push(100.0 * our.per_second() / their.per_second());
            ours.push(our);
            bare.push(their);
            bytes = rows / count;
        }
        shares.sort_by(f64::total_cmp);
        let (least, share, most) = (shares[0], shares[TURNS / 2], shares[TURNS - 1]);
        let (ours, bare) = (median(ours), median(bare));
        writeln!(
            out,
            "{writers:7}  {:8.0}  {:13.0}  {share:4.0}% ({least:.0}-{most:.0})  {:19.2}  {:4.2}  {bytes:11}",
            ours.per_second(),
            bare.per_second(),
            ours.cpu_per_10_000(),
            bare.cpu_per_10_000(),
        )
        .unwrap();
    }
    let (opened, events) = runtime.block_on(opens_after_many_events());
    writeln!(out, "opening with {events} events: {:.1} ms", opened.as_secs_f64() * 1e3).unwrap();
    let opened = runtime.block_on(opens_with_many_tasks());
    writeln!(out, "opening a build of {TASKS} tasks: {:.1} ms", opened.as_secs_f64() * 1e3)
        .unwrap();
}

struct Measured {
    events: usize,
    wall: Duration,
    cpu: Duration,
}

impl Measured {
    fn per_second(&self) -> f64 {
        self.events as f64 / self.wall.as_secs_f64()
    }

    fn cpu_per_10_000(&self) -> f64 {
        self.cpu.as_secs_f64() * 10_000.0 / self.events as f64
    }
}

fn median(mut all: Vec<Measured>) -> Measured {
    all.sort_by_key(|measured| measured.wall);
    all.swap_remove(all.len() / 2)
}

fn measured(events: usize, work: impl FnOnce()) -> Measured {
    let (start, cpu) = (Instant::now(), cpu_time());
    work();
    Measured { events, wall: start.elapsed(), cpu: cpu_time().saturating_sub(cpu) }
}

/// The processor time of this process, in hundredths of a second.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
}

fn holder() -> Holder {
    Holder { pid: 1, verb: "bench".to_owned(), since: Time::EPOCH }
}

/// A build whose first task reports progress for ever.
struct Story {
    state: State,
    now: u64,
}

impl Story {
    fn begin(state: State, tasks: usize) -> (Self, Batch) {
        let task = |number| TaskSpec {
            name: format!("t{number}"),
            goal: "Make the tests of this part pass without touching the others.".to_owned(),
            ..TaskSpec::default()
        };
        let plan = Arc::new(Plan::new((0..tasks).map(task).collect()).unwrap());
        let mut story = Self { state, now: 1_000_000 };
        let start = Command::StartBuild { plan, slots: u32::MAX, in_place: false };
        let events = story.decided(start);
        let batch = Batch::new(&story.state, events);
        (story, batch)
    }

    fn decided(&mut self, command: Command) -> Vec<RecordedEvent> {
        self.now += 1_000;
        let mut rng = Rng::for_decision(PROJECT, self.state.seq());
        let now = Time::from_millis(self.now);
        decide(&mut self.state, command, &Policy::default(), now, &mut rng).unwrap()
    }

    fn progress(&mut self) -> Vec<RecordedEvent> {
        let effect = self.state.outstanding_effects()[0].id;
        let spent = Amount { money_micros: 120, tokens: 900, time_ms: 4_000 };
        let report = ProgressReport { validated: true, spent, ..ProgressReport::default() };
        self.decided(Command::Progress { effect, report })
    }

    fn next(&mut self) -> Batch {
        let events = self.progress();
        Batch::new(&self.state, events)
    }
}

async fn store_writes(writers: usize, count: usize) -> Measured {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = SqliteStore::open(folder.path().join("unstuck.db")).unwrap();
    let Claim { state, mut journal, .. } = store.claim_project(PROJECT, &holder()).await.unwrap();
    let (mut work, start) = Story::begin(state, 1);
    journal.append_batch(start).wait_until_durable().await.unwrap();
    let batches: Vec<Batch> = (0..count).map(|_| work.next()).collect();
    let events = batches.iter().map(|batch| batch.events.len()).sum();
    let (start, cpu) = (Instant::now(), cpu_time());
    let mut waiting = VecDeque::new();
    for batch in batches {
        if waiting.len() == writers {
            let oldest: unstuck_store::Receipt = waiting.pop_front().unwrap();
            oldest.wait_until_durable().await.unwrap();
        }
        waiting.push_back(journal.append_batch(batch));
    }
    for receipt in waiting {
        receipt.wait_until_durable().await.unwrap();
    }
    Measured { events, wall: start.elapsed(), cpu: cpu_time().saturating_sub(cpu) }
}

/// An event as the bare loop writes it.
struct BareEvent {
    seq: i64,
    at: i64,
    about: [Option<i64>; 3],
    why: Option<String>,
    body: String,
}

/// A batch as the bare loop writes it: texts made before, one row after the other.
struct Bare {
    events: Vec<BareEvent>,
    build: (i64, i64, String),
    task: (i64, String),
    run: (i64, [i64; 3]),
    cost: (i64, i64, [i64; 3]),
}

fn amount(spent: Amount) -> [i64; 3] {
    [spent.money_micros, spent.tokens, spent.time_ms].map(u64::cast_signed)
}

impl Bare {
    fn of(batch: &Batch) -> Self {
        let text = |value: &dyn erased::Json| value.text();
        let event = |recorded: &RecordedEvent| {
            let about = recorded.event.subject_ids();
            BareEvent {
                seq: recorded.seq.cast_signed(),
                at: recorded.at.as_millis().cast_signed(),
                about: [
                    about.build.map(|id| i64::from(id.0)),
                    about.task.map(|id| i64::from(id.0)),
                    about.run.map(|id| id.0.cast_signed()),
                ],
                why: recorded.why.as_ref().map(|why| text(why)),
                body: text(&recorded.event),
            }
        };
        let changes = &batch.changes;
        let (build, task) = (&changes.builds[0], &changes.tasks[0]);
        let (run, cost) = (&changes.runs[0], &changes.costs[0]);
        Self {
            events: batch.events.iter().map(event).collect(),
            build: (i64::from(build.id.0), build.started_at.as_millis().cast_signed(), text(build)),
            task: (i64::from(task.0.0), text(&task.1)),
            run: (run.id.0.cast_signed(), amount(run.spent)),
            cost: (cost.day.cast_signed(), i64::from(cost.task.0), amount(cost.spent)),
        }
    }

    fn bytes(&self) -> usize {
        let events: usize = self.events.iter().map(|event| event.body.len()).sum();
        events + self.build.2.len() + self.task.1.len()
    }

    fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        for event in &self.events {
            let [build, task, run] = event.about;
            conn.prepare_cached(
                "INSERT INTO events (project, seq, at, build, task, run, why, body)
                 VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![event.seq, event.at, build, task, run, event.why, event.body])?;
        }
        let (id, started_at, body) = &self.build;
        conn.prepare_cached(
            "INSERT INTO builds (project, id, standing, started_at, ended_at, body)
             VALUES (1, ?1, 0, ?2, NULL, ?3)
             ON CONFLICT (project, id) DO UPDATE SET body = excluded.body, ended_at = NULL",
        )?
        .execute(params![id, started_at, body])?;
        conn.prepare_cached("UPDATE tasks SET moved = ?2 WHERE project = 1 AND id = ?1")?
            .execute(params![self.task.0, self.task.1])?;
        let [money, tokens, time] = self.run.1;
        conn.prepare_cached(
            "UPDATE runs SET iterations = iterations + 0, tool_calls = tool_calls + 0,
             money_micros = money_micros + ?2, tokens = tokens + ?3, time_ms = time_ms + ?4
             WHERE project = 1 AND id = ?1",
        )?
        .execute(params![self.run.0, money, tokens, time])?;
        let [money, tokens, time] = self.cost.2;
        conn.prepare_cached(
            "INSERT INTO costs (project, day, task, money_micros, tokens, time_ms)
             VALUES (1, ?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (project, day, task) DO UPDATE SET
               money_micros = money_micros + excluded.money_micros,
               tokens = tokens + excluded.tokens, time_ms = time_ms + excluded.time_ms",
        )?
        .execute(params![self.cost.0, self.cost.1, money, tokens, time])?;
        Ok(())
    }
}

/// One name for everything that can be written as JSON.
mod erased {
    pub(crate) trait Json {
        fn text(&self) -> String;
    }

    impl<T: serde::Serialize> Json for T {
        fn text(&self) -> String {
            serde_json::to_string(self).unwrap()
        }
    }
}

fn bare_writes(group: usize, count: usize) -> (Measured, usize) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("unstuck.db");
    let (mut work, start) = Story::begin(State::new(PROJECT), 1);
    prepare(&path, start);
    let batches: Vec<Bare> = (0..count).map(|_| Bare::of(&work.next())).collect();
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "synchronous", "FULL").unwrap();
    conn.set_prepared_statement_cache_capacity(64);
    let events = batches.iter().map(|batch| batch.events.len()).sum();
    let bytes = batches.iter().map(Bare::bytes).sum();
    let write = || {
        for group in batches.chunks(group) {
            conn.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
            for batch in group {
                batch.write(&conn).unwrap();
            }
            conn.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
        }
    };
    (measured(events, write), bytes)
}

/// The same tables with the same first batch in them.
fn prepare(path: &Path, start: Batch) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(path).unwrap();
        let mut claim = store.claim_project(PROJECT, &holder()).await.unwrap();
        claim.journal.append_batch(start).wait_until_durable().await.unwrap();
    });
}

/// A project with many events, left as a killed process leaves it, and opened.
async fn opens_after_many_events() -> (Duration, u64) {
    const TOGETHER: usize = 500;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("unstuck.db");
    let store = SqliteStore::open(&path).unwrap();
    let Claim { state, mut journal, .. } = store.claim_project(PROJECT, &holder()).await.unwrap();
    let (mut work, start) = Story::begin(state, 1);
    journal.append_batch(start).wait_until_durable().await.unwrap();
    while work.state.seq() < EVENTS {
        let events: Vec<RecordedEvent> = (0..TOGETHER).flat_map(|_| work.progress()).collect();
        let mut batch = Batch { events, ..Batch::default() };
        if journal.is_snapshot_due() {
            batch.snapshot = Some(serialize_snapshot(&work.state));
        }
        journal.append_batch(batch).wait_until_durable().await.unwrap();
    }
    drop(journal);
    drop(store);
    (opened(&path, &work.state).await, work.state.seq())
}

async fn opens_with_many_tasks() -> Duration {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("unstuck.db");
    let store = SqliteStore::open(&path).unwrap();
    let Claim { state, mut journal, .. } = store.claim_project(PROJECT, &holder()).await.unwrap();
    let (work, start) = Story::begin(state, TASKS);
    journal.append_batch(start).wait_until_durable().await.unwrap();
    drop(journal);
    drop(store);
    opened(&path, &work.state).await
}

/// How long it takes from nothing to the state, in the middle of a few tries.
async fn opened(path: &Path, wanted: &State) -> Duration {
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let store = SqliteStore::open(path).unwrap();
        let claim = store.claim_project(PROJECT, &holder()).await.unwrap();
        times.push(start.elapsed());
        assert!(claim.state == *wanted, "another state was found");
    }
    times.sort_unstable();
    times[times.len() / 2]
}

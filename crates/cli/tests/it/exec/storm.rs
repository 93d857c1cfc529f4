//! A storm: many processes in one project, some of them killed without a word while others start,
//! wait, take over and end. In the end everything was done as often as it was wanted.
//!
//! Who is killed, and at which of its lines, follows from a seed; what the others are doing at that
//! moment is the machine's choice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process};
use unstuck_core::engine::{Rng, TaskStateKind};

use crate::project::Project;
use crate::storm::{report_kills, storm_seeds};

/// Seeds that are tried unless more are asked for.
const SEEDS: u64 = 3;
/// Commands with names of their own, and how often each is wanted at the same time.
const NAMES: usize = 4;
const WANTED: usize = 2;
/// Lines a script says, and waits after.
const TICKS: usize = 3;
/// Kills of those who run one name, and of their guards.
const CRASHES_MAX: usize = 3;
const GUARDS_MAX: usize = 1;
/// The line that offers an answer after too many crashes in a row begins with the first text and
/// ends with the second.
const OFFER: (&str, &str) = ("  unstuck inbox answer ", " try_again");

/// One of those who want a name run.
type Seat = (usize, usize);

/// An observation.
enum Seen {
    /// A script says that it has come one step further, and waits.
    Tick(Seat),
    /// A person is asked.
    Asked(String),
    /// A process is gone.
    Gone(Seat),
}

struct Storm {
    stage: Project,
    rng: Rng,
    say: Sender<Seen>,
    alive: BTreeMap<Seat, (Child, JoinHandle<String>)>,
    /// Those who wait for their turn: they have done nothing yet.
    waiting: BTreeSet<Seat>,
    /// The other ends of what scripts read, kept open so that none reads an end.
    gates: Vec<File>,
    tally: [Tally; NAMES],
    /// Kills of all processes, including those that were waiting.
    kills: usize,
}

/// The kills of the processes that run one name.
#[derive(Clone, Copy, Default)]
struct Tally {
    crashes: usize,
    guards: usize,
}

impl Storm {
    fn new(seed: u64) -> (Self, Receiver<Seen>) {
        let (stage, (say, heard)) = (Project::new(), channel());
        let gate = |name: usize| {
            let fifo = format!("go-{name}");
            stage.fifo(&fifo);
            OpenOptions::new().read(true).write(true).open(stage.path(&fifo)).unwrap()
        };
        let gates = (0..NAMES).map(gate).collect();
        let (alive, waiting) = (BTreeMap::new(), BTreeSet::new());
        let (rng, tally) = (Rng::from_seed(seed), [Tally::default(); NAMES]);
        (Self { stage, rng, say, alive, waiting, gates, tally, kills: 0 }, heard)
    }

    /// One more who wants a name run. Its script finds out whether it is alone.
    fn start(&mut self, seat: Seat) {
        let name = seat.0;
        let script = format!(
            "exec 9>alone-{name}; flock -n 9 || echo {name} >>overlaps; echo >>begun-{name}; \
             i=0; while [ $i -lt {TICKS} ]; do echo tick; read line <go-{name}; i=$((i+1)); done; \
             echo >>ended-{name}"
        );
        let mut exec = self.stage.exec(&["--name", &name.to_string()], &script);
        let mut child = exec.spawn().unwrap();
        let (out, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (say, ask) = (self.say.clone(), self.say.clone());
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                assert_eq!(line, "tick");
                say.send(Seen::Tick(seat)).unwrap();
            }
            say.send(Seen::Gone(seat)).unwrap();
        });
        let said = thread::spawn(move || {
            let mut said = String::new();
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let offer = line.strip_prefix(OFFER.0).and_then(|rest| rest.strip_suffix(OFFER.1));
                if let Some(question) = offer {
                    ask.send(Seen::Asked(question.to_owned())).unwrap();
                }
                said.extend([line.as_str(), "\n"]);
            }
            said
        });
        self.alive.insert(seat, (child, said));
        self.waiting.insert(seat);
    }

    /// Draws a chance of one in so many: true when it comes true.
    fn one_in(&mut self, many: u64) -> bool {
        self.rng.next_u64().is_multiple_of(many)
    }

    /// A script has come one step further: it is let go on, or a process is killed.
    fn tick(&mut self, seat: Seat) {
        let name = seat.0;
        self.waiting.remove(&seat);
        let waiter = self.waiting.iter().copied().find(|waiter| waiter.0 == name);
        if let Some(waiter) = waiter.filter(|_| self.one_in(6)) {
            self.kill(waiter);
        }
        if self.tally[name].crashes < CRASHES_MAX && self.one_in(4) {
            self.tally[name].crashes += 1;
            self.kill(seat);
        } else if self.tally[name].guards < GUARDS_MAX && self.one_in(8) {
            self.tally[name].guards += 1;
            let pid = self.alive[&seat].0.id();
            kill_process(only_child(pid), Signal::KILL).unwrap();
            self.kills += 1;
        } else {
            self.gates[name].write_all(b"go\n").unwrap();
        }
    }

    /// The person answers a question once, also one that was shown twice because the first process
    /// that showed it was killed.
    fn answer(&self, question: &str) {
        let mut answer = self.stage.unstuck(&["inbox", "answer", question, "try_again"]);
        answer.output().unwrap();
    }

    fn kill(&mut self, seat: Seat) {
        if let Some((child, _)) = self.alive.get_mut(&seat) {
            child.kill().unwrap();
            self.kills += 1;
        }
    }

    /// One that was killed is started again; every other one has done what it was for.
    fn gone(&mut self, seat: Seat) {
        let (mut child, said) = self.alive.remove(&seat).unwrap();
        let (status, said) = (child.wait().unwrap(), said.join().unwrap());
        match status.code() {
            None => self.start(seat),
            code => assert_eq!(code, Some(0), "{said}"),
        }
    }

    /// Everything was done as often as it was wanted, by one at a time, and nothing is left.
    fn calm(&self) {
        let lines = |file: String| self.stage.wrote(&file).lines().count();
        assert_eq!(self.stage.wrote("overlaps"), "");
        for (name, tally) in self.tally.iter().enumerate() {
            let job = self.stage.job(&name.to_string());
            assert_eq!(job.moved.state.kind(), TaskStateKind::Done);
            assert_eq!(lines(format!("ended-{name}")), WANTED, "{name} was done");
            assert_eq!(job.moved.firing as usize, WANTED, "{name} was wanted");
            let begun = WANTED + tally.crashes + tally.guards;
            assert_eq!(lines(format!("begun-{name}")), begun, "{name} was begun");
            let alone = File::open(self.stage.path(&format!("alone-{name}"))).unwrap();
            alone.try_lock().unwrap();
        }
        assert_eq!(self.stage.run_locks(), [""; 0], "no run is left");
    }
}

/// The one child of a process: what it runs is its guard's.
fn only_child(parent: u32) -> Pid {
    let of_parent = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        after_name.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    let all = fs::read_dir("/proc").unwrap();
    let all = all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<i32>().ok());
    let [child] = <[i32; 1]>::try_from(all.filter(of_parent).collect::<Vec<_>>()).unwrap();
    Pid::from_raw(child).unwrap()
}

// B4, B13, TX6: after any kill the other processes go on, and everything is done once.
#[test]
fn after_any_kill_everything_is_done_as_often_as_it_was_wanted() {
    let mut kills = 0;
    for seed in storm_seeds(SEEDS) {
        eprintln!("seed {seed}");
        let (mut storm, heard) = Storm::new(seed);
        for number in 0..WANTED {
            (0..NAMES).for_each(|name| storm.start((name, number)));
        }
        while !storm.alive.is_empty() {
            match heard.recv().unwrap() {
                Seen::Tick(seat) => storm.tick(seat),
                Seen::Asked(question) => storm.answer(&question),
                Seen::Gone(seat) => storm.gone(seat),
            }
        }
        storm.calm();
        kills += storm.kills;
    }
    report_kills("exec", kills);
}

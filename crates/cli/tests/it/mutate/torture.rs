//! Side effects under torture: a local HTTP service counts charges while replies are lost, calls
//! hang, effects appear late, look-ups break off, and processes are killed. In the end every charge
//! was made exactly once.
//!
//! What happens to which charge follows from a seed. `UNSTUCK_TORTURE` asks for more charges.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;
use unstuck_core::engine::{Event, Rng, Rule};
use unstuck_core::question::QuestionKind;
use unstuck_store::tables::QuestionStatus;

use crate::program::OutputText as _;
use crate::project::Project;

/// Charges in all, unless the caller asks for more; in one script; and scripts at the same time.
const CHARGES: usize = 500;
const IN_A_SCRIPT: usize = 5;
const WORKERS: usize = 4;
/// Times a script may come back before it is clear that it never ends.
const ROUNDS_MAX: usize = 60;

/// The longest delay of an effect, and the time that it is waited for.
const LATE: Duration = Duration::from_millis(40);
const SETTLE: &str = "100ms";

const SETTINGS: &str = "[backoff]\nbase = \"5ms\"\ncap = \"10ms\"\n";

/// Calls the service: what it answers, and 0 for 200, 1 for 404, 2 where nothing came back.
const CALL: &str = r#"
exec 3<>/dev/tcp/127.0.0.1/$PORT || exit 2
printf '%s %s HTTP/1.1\r\nHost: shop\r\nX-Command: %s\r\nX-Guard: %s\r\n\r\n' "$1" "$2" $$ $PPID >&3
IFS= read -r status <&3 || { echo 'Connection reset by peer' >&2; exit 2; }
while IFS= read -r line <&3 && [ "$line" != $'\r' ]; do :; done
cat <&3
case $status in *200*) exit 0 ;; *404*) exit 1 ;; esac
exit 2
"#;

/// The fate of one charge, or of one look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Fine,
    /// Nothing is done and nothing is said.
    Refused,
    /// Done, and nothing is said.
    ReplyLost,
    /// Done a moment later, within the time in which it may appear, and nothing is said.
    Late,
    /// Done, and the call never ends.
    Hangs,
    /// Done or not, and a process is killed meanwhile.
    Killed {
        whom: Whom,
        done: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    /// Everything, from the top.
    Exec,
    /// The guard of the command.
    Guard,
    /// The command itself.
    Command,
}

fn fate(rng: &mut Rng) -> Fate {
    let done = rng.next_u64().is_multiple_of(2);
    match rng.next_u64() % 20 {
        0 => Fate::Refused,
        1 | 2 => Fate::ReplyLost,
        3 => Fate::Late,
        4 if rng.next_u64().is_multiple_of(4) => Fate::Hangs,
        5 | 6 => Fate::Killed { whom: Whom::Exec, done },
        7 => Fate::Killed { whom: Whom::Guard, done },
        8 => Fate::Killed { whom: Whom::Command, done },
        _ => Fate::Fine,
    }
}

#[derive(Default)]
struct Account {
    charges: usize,
    calls: usize,
    /// Done then, and not before.
    appears: Option<Instant>,
    looks: usize,
    /// The requests so far, shown when a charge is wrong.
    history: Vec<String>,
}

struct Service {
    port: u16,
    accounts: Arc<Mutex<BTreeMap<String, Account>>>,
    /// The process that runs the scripts of each worker just now.
    execs: Arc<[AtomicI32; WORKERS]>,
}

impl Service {
    fn opens(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let service = Self { port, accounts: Arc::default(), execs: Arc::default() };
        let (accounts, execs) = (Arc::clone(&service.accounts), Arc::clone(&service.execs));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (accounts, execs) = (Arc::clone(&accounts), Arc::clone(&execs));
                thread::spawn(move || answer(&stream, seed, &accounts, &execs));
            }
        });
        service
    }
}

fn answer(
    stream: &TcpStream,
    seed: u64,
    accounts: &Mutex<BTreeMap<String, Account>>,
    execs: &[AtomicI32; WORKERS],
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let mut words = request.split(' ');
    let (Some(method), Some(key)) = (words.next(), words.next()) else { return };
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let pid = |name: &str| -> i32 {
        let line = head.iter().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    };
    if method == "GET" {
        return say(stream, look_up(&mut accounts.lock().unwrap(), seed, key));
    }
    let fate = {
        let mut all = accounts.lock().unwrap();
        let account = all.entry(key.to_owned()).or_default();
        account.calls += 1;
        // The first call meets its fate; what comes after goes well.
        let fate =
            if account.calls == 1 { fate(&mut Rng::for_decision(key, seed)) } else { Fate::Fine };
        match fate {
            Fate::Refused | Fate::Killed { done: false, .. } => {}
            Fate::Late => account.appears = Some(Instant::now() + LATE),
            Fate::Fine | Fate::ReplyLost | Fate::Hangs | Fate::Killed { done: true, .. } => {
                account.charges += 1;
            }
        }
        account.history.push(format!("called by {}: {fate:?}", pid("X-Command: ")));
        fate
    };
    match fate {
        Fate::Fine => say(stream, Some(200)),
        Fate::Refused | Fate::ReplyLost | Fate::Late => {}
        Fate::Hangs => {
            // Until the caller is gone.
            let _ = stream.try_clone().unwrap().read(&mut [0]);
        }
        Fate::Killed { whom, .. } => {
            let worker: usize = key.split('-').nth(1).unwrap().parse().unwrap();
            let whom = match whom {
                Whom::Exec => execs[worker].load(Ordering::Acquire),
                Whom::Guard => pid("X-Guard: "),
                Whom::Command => pid("X-Command: "),
            };
            // It may have been ended together with another process.
            let _ = kill_process(Pid::from_raw(whom).unwrap(), Signal::KILL);
            let _ = stream.try_clone().unwrap().read(&mut [0]);
        }
    }
}

/// The status that a look-up gets. One look-up in eight breaks off.
fn look_up(all: &mut BTreeMap<String, Account>, seed: u64, key: &str) -> Option<u16> {
    let account = all.entry(key.to_owned()).or_default();
    account.looks += 1;
    if account.appears.take_if(|at| *at <= Instant::now()).is_some() {
        account.charges += 1;
    }
    let found = if account.charges > 0 { 200 } else { 404 };
    let breaks =
        account.looks == 1 && Rng::for_decision(key, seed + 1).next_u64().is_multiple_of(8);
    account.history.push(format!("looked up: {found}, breaks off: {breaks}"));
    (!breaks).then_some(found)
}

fn say(mut stream: &TcpStream, status: Option<u16>) {
    if let Some(status) = status {
        // The caller may be gone.
        let _ = write!(stream, "HTTP/1.1 {status} So\r\nConnection: close\r\n\r\nreceipt");
    }
}

/// Runs one script until all its charges are made; a person says what they can see.
fn settle(stage: &Project, service: &Service, worker: usize, number: usize, answers: &Mutex<()>) {
    let name = format!("s-{worker}-{number}");
    let script = format!(
        "for i in $(seq {IN_A_SCRIPT}); do key={name}-$i; r=$(unstuck mutate --quiet --key $key \
         --settle {SETTLE} --timeout 3s --probe \"bash call.sh GET $key\" -- bash call.sh POST $key) \
         || exit 9; [ \"$r\" = receipt ] || [ -z \"$r\" ] || exit 8; done"
    );
    for _ in 0..ROUNDS_MAX {
        let mut exec = stage.exec(&["--name", &name, "--max-wait", "0"], &script);
        let child = exec.env("PORT", service.port.to_string()).spawn().unwrap();
        service.execs[worker].store(i32::try_from(child.id()).unwrap(), Ordering::Release);
        let ran = child.wait_with_output().unwrap();
        match ran.status.code() {
            Some(0) => return,
            Some(3) => {
                let _one = answers.lock().unwrap();
                answer_all(stage, service, &name);
            }
            // This process was killed, or the one that decided.
            None | Some(70 | 75) => {}
            other => panic!("{name} ended with {other:?}: {}", ran.err()),
        }
    }
    panic!("{name} never ends");
}

fn answer_all(stage: &Project, service: &Service, name: &str) {
    let task = stage.job(name).id;
    for question in stage.questions() {
        if question.status != QuestionStatus::Pending || !question.tasks.contains(&task) {
            continue;
        }
        let decision = match question.kind {
            QuestionKind::Happened => {
                let all = service.accounts.lock().unwrap();
                let (key, account) = all
                    .iter()
                    .find(|(key, _)| question.operator_text.contains(key.as_str()))
                    .unwrap_or_else(|| panic!("{}", question.operator_text));
                assert!(key.starts_with(name));
                // A person has time to look twice.
                if account.charges > 0 || account.appears.is_some() {
                    "it_happened"
                } else {
                    "it_did_not"
                }
            }
            _ => question.text.options[0].value.as_str(),
        };
        stage.answer(&question, decision);
    }
}

// TX6, T3.12: 0 duplicates, 0 losses.
#[test]
fn every_charge_is_made_exactly_once() {
    let asked = std::env::var_os("UNSTUCK_TORTURE").and_then(|n| n.to_str()?.parse().ok());
    let charges: usize = asked.unwrap_or(CHARGES);
    let (stage, service) = (Project::new(), Service::opens(7));
    fs::write(stage.path("unstuck.toml"), SETTINGS).unwrap();
    fs::write(stage.path("call.sh"), CALL).unwrap();
    let scripts = charges.div_ceil(IN_A_SCRIPT * WORKERS);
    let answers = Mutex::new(());
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (stage, service, answers) = (&stage, &service, &answers);
            scope.spawn(move || {
                (0..scripts).for_each(|number| settle(stage, service, worker, number, answers));
            });
        }
    });
    let all = service.accounts.lock().unwrap();
    assert_eq!(all.len(), scripts * WORKERS * IN_A_SCRIPT, "none is missing");
    let made = |account: &Account| account.charges + usize::from(account.appears.is_some());
    let wrong = all.iter().filter(|(_, account)| made(account) != 1);
    let wrong: Vec<_> = wrong.map(|(key, account)| (key, &account.history)).collect();
    assert!(wrong.is_empty(), "{wrong:#?} {:#?}", told_of(&stage, wrong[0].0));
    tell_shares(&stage, all.len());
}

/// The events of a charge in the journal.
fn told_of(stage: &Project, key: &str) -> Vec<String> {
    let events = stage.events();
    let id = events.iter().find_map(|recorded| match &recorded.event {
        Event::MutationIntended { mutation, spec, .. } if spec.key == key => Some(*mutation),
        _ => None,
    });
    let is_meant = |event: &Event| event.mutation().is_some_and(|mutation| Some(mutation) == id);
    let all = events.iter().filter(|recorded| is_meant(&recorded.event));
    all.map(|recorded| format!("{} {:?}", recorded.at.as_millis(), recorded.event)).collect()
}

/// Tells how many charges were settled by a record, by a probe and by a person.
fn tell_shares(stage: &Project, charges: usize) {
    let (mut record, mut probe, mut person) = (0, 0, 0);
    for recorded in stage.events() {
        match (&recorded.event, recorded.why.as_ref().map(|why| why.rule)) {
            (Event::MutationApplied { .. }, _) => record += 1,
            (Event::MutationReconciled { .. }, Some(Rule::PersonDecided)) => person += 1,
            (Event::MutationReconciled { .. }, _) => probe += 1,
            _ => {}
        }
    }
    eprintln!(
        "{charges} charges, each made once: {record} settled by their reply, {probe} times a probe \
         decided, {person} times a person"
    );
    assert!(probe > 0 && person > 0, "the torture did not hurt");
}

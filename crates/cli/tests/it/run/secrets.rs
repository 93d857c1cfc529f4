//! Secrets stay where they are: whatever part of a build one is planted in, it is found in nothing
//! that leaves and in nothing that is kept.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use unstuck_core::engine::Event;
use unstuck_core::fault::{Code, Kind};
use unstuck_testkit::stage::RunningProgram;
use unstuck_world::fake::receiver::FakeReceiver;

use crate::program::{Ran, ran};
use crate::project::{Project, outside};

/// Places of planted secrets; each place has a secret of its own, so that a leak tells its way.
const PLANTED: [&str; 12] = [
    "environment", "agents-words", "agents-command", "commands-output", "task", "settings",
    "check", "checks-output", "diff", "fault", "question", "guidance",
];

/// The secret of a place.
fn canary(place: &str) -> String {
    assert!(PLANTED.contains(&place), "{place}");
    format!("Canary-{place}-4711")
}

/// The bytes that were seen somewhere, by the name of the place.
#[derive(Default)]
struct Seen(Vec<(String, Vec<u8>)>);

impl Seen {
    fn add(&mut self, place: impl Into<String>, seen: impl Into<Vec<u8>>) {
        self.0.push((place.into(), seen.into()));
    }

    fn ran(&mut self, args: &[&str], ran: &Ran) {
        self.add(args.join(" "), format!("{ran}"));
    }

    /// Every file below a folder, but what agents and their worktrees left there.
    fn files(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let theirs = ["worktrees", "tasks", "aside"].iter().any(|name| path.ends_with(name));
            if path.is_dir() && !theirs {
                self.files(&path);
            } else if path.is_file() {
                self.add(path.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }

    /// The secrets that were seen, and the places.
    fn leaks(&self) -> String {
        let mut leaks = String::new();
        for planted in PLANTED {
            let secret = canary(planted).to_lowercase();
            for (place, seen) in &self.0 {
                let seen = String::from_utf8_lossy(seen).to_lowercase();
                if let Some(at) = seen.find(&secret) {
                    let around: String = seen[..at].chars().rev().take(60).collect();
                    let around: String = around.chars().rev().collect();
                    writeln!(leaks, "{planted} in {place}: …{around}").unwrap();
                }
            }
        }
        leaks
    }
}

/// A task in whose every part something is planted.
fn plant(stage: &Project, url: &str) {
    let task = format!(
        "# Write a ({0})\n\n## Goal\nThe file is written with {0}.\n\n## Notes\nThe key is {0}.\n",
        canary("task")
    );
    stage.write("tasks/write-a.md", &task);
    stage.write("check.sh", &format!("echo {} >&2\n{CHECK}", canary("checks-output")));
    let says = format!(r#"{{say = "I use {}."}}"#, canary("agents-words"));
    let runs = format!(
        r#"{{run = "env; : {}; echo {} >&2; exit 3"}}"#,
        canary("agents-command"),
        canary("commands-output")
    );
    let waits = r#"{run = "echo up > ../../../up; cat ../../../go"}"#;
    let holds = format!(r#"{{write = "work/a.txt", text = "fine {}\n"}}"#, canary("diff"));
    let fails = format!(r#"{{fail = "PROVIDER_CRASH", message = "at {}"}}"#, canary("fault"));
    let asks = format!(r#"{{blocked = "may I use {}?"}}"#, canary("question"));
    let red = r#"{write = "work/a.txt", text = "broken\n"}"#;
    let green = r#"{write = "work/a.txt", text = "fine\n"}"#;
    stage.agent(
        "write-a",
        &[
            &[waits, &says, &runs, red].join(", "),
            &holds,
            &[&*fails, green, &asks].join(", "),
            green,
        ],
    );
    stage.replace_setting("sh check.sh", &format!("sh check.sh # {}", canary("check")));
    stage.set(&format!(
        "[notify.hook]\nkind = \"webhook\"\nlevel = \"all\"\nurl = \"{url}\"\nsecret = \"{}\"\n\
         [notify.program]\nkind = \"command\"\nlevel = \"all\"\n\
         run = [\"sh\", \"-c\", \"cat >> heard; env | grep ^UNSTUCK_ >> heard\"]\n",
        canary("settings")
    ));
}

/// Green when no file says that something is broken.
const CHECK: &str = "! grep -rl broken work 2>/dev/null\n";

/// The program, with all secrets but one in its environment: that one only the settings know.
fn unstuck(stage: &Project, args: &[&str]) -> Command {
    let mut unstuck = stage.unstuck(args);
    for place in PLANTED.iter().filter(|place| **place != "settings") {
        let name = place.replace('-', "_").to_uppercase();
        unstuck.env(format!("CANARY_{name}_TOKEN"), canary(place));
    }
    unstuck
}

/// Everything that the control socket says from now on, until its holder is gone.
fn eavesdrop(stage: &Project) -> thread::JoinHandle<String> {
    let mut socket = UnixStream::connect(stage.path(".unstuck/control.sock")).unwrap();
    socket.write_all(b"{\"id\":1,\"do\":\"hello\"}\n{\"id\":2,\"do\":\"watch\"}\n").unwrap();
    socket.write_all(b"{\"id\":3,\"do\":\"nonsense\"}\n").unwrap();
    let mut lines = BufReader::new(socket);
    let mut said = String::new();
    // A client that was answered is told from then on.
    for _ in 0..2 {
        lines.read_line(&mut said).unwrap();
    }
    thread::spawn(move || {
        while lines.read_line(&mut said).is_ok_and(|read| read > 0) {}
        said
    })
}

/// Adds the output of every verb that looks at a build.
fn look_everywhere(stage: &Project, seen: &mut Seen) {
    let runs =
        stage.events().iter().filter(|r| matches!(r.event, Event::RunStarted { .. })).count();
    let runs: Vec<String> = (0..runs).map(|run| format!("r{run}")).collect();
    let mut views: Vec<Vec<&str>> = vec![
        vec!["status"],
        vec!["status", "--json"],
        vec!["log", "-n", "10000"],
        vec!["log", "-n", "10000", "--json"],
        vec!["inbox", "list", "--all"],
        vec!["inbox", "list", "--all", "--json"],
        vec!["inbox", "show", "0"],
        vec!["inbox", "show", "0", "--json"],
        vec!["report", "--all", "--markdown"],
        vec!["report", "--html"],
        vec!["report", "--json"],
        vec!["report"],
        vec!["config", "notify"],
        vec!["config", "notify", "--json"],
        vec!["land"],
    ];
    for run in &runs {
        views.push(vec!["why", run]);
        views.push(vec!["why", run, "--json"]);
    }
    for args in views {
        let shown = ran(unstuck(stage, &args).output().unwrap());
        assert!(!shown.stdout.is_empty(), "{args:?} shows nothing: {shown}");
        seen.ran(&args, &shown);
    }
}

// TX16, B9: planted in every part of a build, looked for in everything that leaves and is kept
#[test]
fn a_secret_gets_nowhere_wherever_it_is_planted() {
    let (stage, outside, mut seen) = (Project::with_agents(), outside(), Seen::default());
    let receiver = outside.block_on(FakeReceiver::start([])).unwrap();
    plant(&stage, &receiver.url("/"));
    stage.fifos(&["up", "go"]);

    let mut running = RunningProgram::follow_stdout(unstuck(&stage, &["run", "--json"]));
    stage.hear("up");
    let overheard = eavesdrop(&stage);
    fs::write(stage.path("go"), "").unwrap();
    seen.add("run --json", running.read_until("task.parked"));
    look_everywhere(&stage, &mut seen);
    let guidance = format!("use {}", canary("guidance"));
    let args = ["inbox", "answer", "0", "provide_guidance", "--guidance", &guidance, "--json"];
    let answered = ran(unstuck(&stage, &args).output().unwrap()).exits(0);
    seen.ran(&["inbox", "answer"], &answered);
    let (exit, said) = running.end();
    assert_eq!(exit, Some(0), "{said}");
    seen.add("run --json, to its end", said);
    let overheard = overheard.join().unwrap();
    assert!(overheard.contains("agent.waiting_for_input"), "{overheard}");
    seen.add("the control socket", overheard);
    look_everywhere(&stage, &mut seen);

    // What was planted has really been met.
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
    let codes = met(&stage);
    assert_eq!(
        codes[..3],
        [
            ("sh", Code::ValidationPreCommit),
            ("scan", Code::ValidationPreCommit),
            ("", Code::ProviderCrash)
        ]
    );
    let messages = receiver.recorded_requests();
    assert!(messages.len() >= 2, "{messages:?}");
    for message in messages {
        seen.add("the webhook", format!("{message:?} {}", String::from_utf8_lossy(&message.body)));
    }
    let heard = fs::read_to_string(stage.path("heard")).unwrap();
    assert!(heard.contains("UNSTUCK_TITLE"), "{heard}");
    seen.add("the program that is told", heard);
    seen.add("the commits of the build", stage.git(&["log", "--patch", "main..unstuck/b0"]));
    seen.files(&stage.path(".unstuck"));
    assert!(seen.0.iter().any(|(place, _)| place.ends_with("state.db")), "the store is looked at");

    assert_eq!(seen.leaks(), "");
}

/// The codes that were met, each with the first word of the check that was red.
fn met(stage: &Project) -> Vec<(&'static str, Code)> {
    let met = |event: &Event| match event {
        Event::FaultMet { fault, .. } => Some(match &fault.kind {
            Kind::ValidationPreCommit(check) if check.command.starts_with("scan") => {
                ("scan", fault.code())
            }
            Kind::ValidationPreCommit(_) => ("sh", fault.code()),
            _ => ("", fault.code()),
        }),
        _ => None,
    };
    stage.events().iter().filter_map(|recorded| met(&recorded.event)).collect()
}

// TX16: a script's failure is remembered without what it wrote of a secret, and so is its name
#[test]
fn a_secret_in_a_script_is_not_remembered() {
    let (stage, mut seen) = (Project::with_agents(), Seen::default());
    let (said, spelled) = (canary("commands-output"), canary("agents-command"));
    let line = format!("echo 'fatal: authentication failed for {said}' >&2; : {spelled}; exit 1");
    let args = ["exec", "--json", "--max-wait", "0", "--", "sh", "-c", &line];
    let ran = ran(unstuck(&stage, &args).output().unwrap()).exits(3);
    // The command's own output is its own matter.
    let ours: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with('{')).collect();
    assert!(ours.iter().any(|line| line.contains("task.parked")), "{ran}");
    seen.add("exec --json", ours.join("\n"));
    for args in [&["status", "--json"][..], &["log", "--json"], &["inbox", "show", "0", "--json"]] {
        seen.ran(args, &stage.run(args));
    }
    seen.files(&stage.path(".unstuck"));
    assert_eq!(seen.leaks(), "");
}

// TX16: what cannot begin says so without the value that is in the way
#[test]
fn a_secret_in_what_cannot_begin_is_not_said() {
    let (stage, mut seen) = (Project::with_agents(), Seen::default());
    let (check, settings) = (canary("check"), canary("environment"));
    stage.write(
        "tasks/a.md",
        &format!("---\nvalidate: [\"curl {check}\"]\n---\n# Do a\n\nIt is done.\n"),
    );
    stage.commit();
    let told = ran(unstuck(&stage, &["run"]).output().unwrap()).exits(78);
    assert!(told.stderr.contains("tasks/a.md: a check spells a secret out"), "{told}");
    seen.ran(&["run"], &told);
    for json in [&["config"][..], &["config", "--json"]] {
        stage.write("unstuck.toml", &format!("[agent]\nprovider = \"{settings}\"\n"));
        let told = ran(unstuck(&stage, json).output().unwrap()).exits(78);
        seen.ran(json, &told);
    }
    assert_eq!(seen.leaks(), "");
}

//! A repository with a script that is broken, and an agent that repairs it.

use std::fs;
use std::process::{Command, Output};

use unstuck_core::fault::Code;
use unstuck_store::tables::QuestionRow;
use unstuck_testkit::stage::{commit_all, init_repository, run_git};

use crate::program::OutputText as _;
use crate::project::Project;

/// The agent is a script, and the check tells a script that knows the new name of the field.
const SETTINGS: &str = "\
[agent]
provider = \"script\"
script = \"agent.toml\"
[validate]
pre_commit = [\"sh check.sh\"]
protect = [\"check.sh\"]
[backoff]
base = \"10ms\"
cap = \"20ms\"
";
pub(crate) const CHECK: &str = "grep -q amount= sync.sh\n";
/// What the other side sends since the field was renamed.
const ORDER: &str = "amount=12\n";
/// Reads the field by the name it had, and says so when it is not there.
pub(crate) const SCRIPT: &str = "\
sum=$(sed -n s/^total=//p order.txt)
[ -n \"$sum\" ] || { echo \"KeyError: 'total'\" >&2; exit 1; }
echo \"$sum\" >>done.txt
";
const RUN: &[&str] = &["--", "sh", "sync.sh"];

/// A step that writes the script with these words for the old name.
pub(crate) fn writes(name: &str) -> String {
    let script = SCRIPT.replace("total", name);
    format!("{{ write = \"sync.sh\", text = {} }}", serde_json::to_string(&script).unwrap())
}

/// The repair that is right.
pub(crate) fn right() -> String {
    format!("{{ say = \"Read the field by its new name.\" }}, {}", writes("amount"))
}

/// A repository whose script is broken.
pub(crate) struct Shop(pub(crate) Project);

impl Shop {
    /// A repository with the broken script, and an agent that does these steps, repair by repair.
    pub(crate) fn new(repairs: &[&str]) -> Self {
        Self::with(SETTINGS, repairs)
    }

    /// The same, where the script is a job of the settings with these keys.
    pub(crate) fn job(keys: &str, repairs: &[&str]) -> Self {
        let job = format!("[[job]]\nname = \"job\"\nrun = \"sh sync.sh\"\n{keys}\n");
        Self::with(&format!("{SETTINGS}{job}"), repairs)
    }

    fn with(settings: &str, repairs: &[&str]) -> Self {
        let shop = Self(Project::new());
        for (name, text) in [
            ("unstuck.toml", settings),
            ("check.sh", CHECK),
            ("order.txt", ORDER),
            ("sync.sh", SCRIPT),
            ("notes.txt", "mine\n"),
            (".gitignore", "done.txt\n"),
        ] {
            fs::write(shop.0.path(name), text).unwrap();
        }
        let steps = repairs.iter().map(|steps| format!("[[attempt]]\nsteps = [{steps}]\n"));
        fs::write(shop.0.path("agent.toml"), steps.collect::<Vec<_>>().concat()).unwrap();
        init_repository(&shop.0.path(""));
        shop.commit("first");
        shop
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        run_git(&self.0.path(""), args)
    }

    pub(crate) fn commit(&self, message: &str) {
        commit_all(&self.0.path(""), message);
    }

    pub(crate) fn exec(&self, options: &[&str]) -> Command {
        let mut exec = self.0.unstuck(&["exec", "--name", "job"]);
        exec.args(options).args(RUN).env("HOME", self.0.path(""));
        exec
    }

    pub(crate) fn run(&self, options: &[&str]) -> Output {
        self.exec(options).output().unwrap()
    }

    /// Runs the job of the settings.
    pub(crate) fn run_job(&self) -> Output {
        let mut run = self.0.unstuck(&["jobs", "run", "job", "--max-wait", "0"]);
        run.env("HOME", self.0.path("")).output().unwrap()
    }

    /// Runs it without waiting for a person, who is needed.
    pub(crate) fn asks(&self, options: &[&str]) -> QuestionRow {
        self.run(&[options, &["--max-wait", "0"]].concat()).exits(3);
        self.0.question()
    }

    /// The titles of all commits, the newest first.
    pub(crate) fn log(&self) -> Vec<String> {
        self.git(&["log", "--format=%s", "main"]).lines().map(str::to_owned).collect()
    }

    pub(crate) fn branches(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
    }

    pub(crate) fn faults(&self) -> Vec<Code> {
        self.0.fault_codes()
    }

    /// The script was repaired once, and has run.
    pub(crate) fn is_repaired(&self, ran: &Output) {
        assert_eq!(ran.status.code(), Some(0), "{}", ran.err());
        assert_eq!(self.log(), ["Repair job: Read the field by its new name", "first"]);
        assert_eq!(self.0.wrote("sync.sh"), SCRIPT.replace("total", "amount"));
        assert_eq!(self.0.wrote("done.txt"), "12\n");
        assert_eq!(self.git(&["status", "--porcelain"]), "");
        assert_eq!(self.branches(), "main");
        assert_eq!(self.0.run_locks(), Vec::<String>::new());
    }
}

//! An action whose sender was killed is looked up by the command that was kept with it.
//!
//! The sender is this program again, told to run one test that is left out otherwise. It gets the
//! project's folder on its standard input.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process};
use unstuck_core::engine::{Command as Wanted, EffectOutcome, TaskId};
use unstuck_core::plan::{MutationSpec, ProbeCommand};
use unstuck_core::question::QuestionKind;
use unstuck_runner::control::TokenKey;
use unstuck_runner::{
    LedgerAction, PerformScope, ResultFiles, Runner, ScriptCommand, ScriptPerformer,
};
use unstuck_store::SqliteStore;
use unstuck_store::tables::MutationStatus;
use unstuck_testkit::stage::{make_job, make_runner_setup};
use unstuck_world::process::OwnInput;

use crate::program::{OutputText as _, own_guard};
use crate::project::Project;

/// Hangs at its first run, while its action is sent; at the second it has nothing left to do.
const SCRIPT: &str = "echo run >>runs; [ -f again ] && exit 0; touch again; echo >up; sleep 1000";
/// Tells which action it was asked about, and what the test wants it to find out.
const PROBE: &str = "echo $UNSTUCK_IDEMPOTENCY_KEY >>asked; echo looked >&2; printf receipt; \
                     exit $(cat verdict)";

/// Says that it was sent, and never hears back.
struct Sends(PathBuf);

#[async_trait]
impl LedgerAction for Sends {
    async fn perform_call(&self, idempotency_key: &str) -> EffectOutcome {
        let mut sent = fs::File::options().create(true).append(true).open(self.0.join("sent"));
        writeln!(sent.as_mut().unwrap(), "{idempotency_key}").unwrap();
        std::io::stdout().write_all(b"\nsent\n").unwrap();
        std::io::stdout().flush().unwrap();
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of the tests below"]
async fn sends_and_is_killed() {
    let mut root = String::new();
    std::io::stdin().read_line(&mut root).unwrap();
    let root = PathBuf::from(root.trim());
    let folder = root.join(".unstuck");
    fs::create_dir_all(folder.join("runs")).unwrap();
    let store = Arc::new(SqliteStore::open(folder.join("state.db")).unwrap());
    let name = root.file_name().unwrap().to_str().unwrap();
    let runner = Runner::open(make_runner_setup(store, name)).await.unwrap();
    let handle = runner.handle();
    tokio::spawn(runner.run());
    let spec = Arc::new(make_job("job"));
    handle.submit_command(Wanted::DefineJob { spec }).await.unwrap();
    let world = Arc::new(ScriptPerformer::new(script(&root), None));
    handle.attach_performer(PerformScope::Task(TaskId(0)), world).await.unwrap();
    handle.submit_command(Wanted::FireJob { task: TaskId(0) }).await.unwrap();
    fs::read(root.join("up")).unwrap();
    let effect = handle.read_state(|state| state.outstanding_effects()[0].id).await.unwrap();
    let probe = ProbeCommand {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), PROBE.to_owned()],
        ..ProbeCommand::default()
    };
    let pay =
        MutationSpec { key: "pay".into(), ..MutationSpec::default() }.with_probe_command(probe);
    handle.perform_action(effect, pay, Arc::new(Sends(root))).await.unwrap();
}

fn script(root: &Path) -> ScriptCommand {
    let folder = root.join(".unstuck");
    ScriptCommand {
        redactor: Arc::default(),
        guard: own_guard(),
        runs: folder.join("runs"),
        program: "sh".into(),
        arguments: ["-c", SCRIPT].map(Into::into).to_vec(),
        directory: root.to_owned(),
        input: OwnInput::default(),
        timeout: None,
        socket: folder.join("control.sock"),
        key: TokenKey::open(&folder.join("token-key")).unwrap(),
        results: ResultFiles::new(folder.join("results")),
    }
}

/// A project in which the sender of an action was killed before it heard what became of it.
fn killed_while_sending(verdict: &str) -> Project {
    let stage = Project::new();
    stage.fifo("up");
    fs::write(stage.path("verdict"), verdict).unwrap();
    let mut sender = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "exec::probing::sends_and_is_killed", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let root = stage.path("");
    writeln!(sender.stdin.as_mut().unwrap(), "{}", root.display()).unwrap();
    let mut lines = BufReader::new(sender.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "sent"));
    kill_process(Pid::from_child(&sender), Signal::KILL).unwrap();
    sender.wait().unwrap();
    stage
}

/// The action was sent once, and looked up once by the same key.
fn was_looked_up(stage: &Project) {
    let (sent, asked) = (stage.wrote("sent"), stage.wrote("asked"));
    assert_eq!((sent.lines().count(), &asked), (1, &sent));
}

// TX6, TX8, T3.12: what happened is known without a person, and with its result.
#[test]
fn what_happened_is_found_out_and_its_result_kept() {
    let stage = killed_while_sending("0");
    stage.run_exec(&["--name", "job"], SCRIPT).exits(0);
    was_looked_up(&stage);
    assert_eq!(stage.mutation("job"), (MutationStatus::Applied, "receipt".to_owned()));
    assert_eq!(stage.wrote("runs"), "run\nrun\n");
}

// T3.12
#[test]
fn what_did_not_happen_is_found_out_too() {
    let stage = killed_while_sending("1");
    stage.run_exec(&["--name", "job"], SCRIPT).exits(0);
    was_looked_up(&stage);
    assert_eq!(stage.mutation("job"), (MutationStatus::NotApplied, String::new()));
}

// T3.12: a look-up that cannot tell leads to a person, and nothing is sent again meanwhile.
#[test]
fn what_the_probe_cannot_tell_is_asked() {
    for verdict in ["2", "127"] {
        let stage = killed_while_sending(verdict);
        let mut exec = stage.start_exec(&["--name", "job"], SCRIPT);
        exec.read_until("unstuck inbox");
        was_looked_up(&stage);
        let question = stage.question();
        assert_eq!(question.kind, QuestionKind::Happened);
        assert!(stage.answer(&question, "it_happened").status.success());
        assert_eq!(exec.read_to_end().0.code(), Some(0));
        assert_eq!(stage.mutation("job").0, MutationStatus::Applied);
    }
}

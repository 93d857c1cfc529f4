//! A red base at a terminal: the question that `run` asks once, and each of its answers, with the settings that
//! `init` writes.

use serde_json::{Value, json};
use unstuck_core::engine::Event;
use unstuck_world::fake::server::{FakeAnswer, FakeScript, FakeServer};

use super::models::ANTHROPIC;
use crate::program::ran;
use crate::project::{Project, outside};
use crate::pty::Pty;

const MAKEFILE: &str = "test:\n\t@echo 'checking the sums'; echo 'FAIL: 6 is not 5'; exit 1\n";
/// A file of the worktree for which the first command of the agent waits, so that the person can answer.
const GO: &str = ".unstuck/worktrees/t0/go";

struct AskedNight {
    stage: Project,
    service: FakeServer,
    _outside: tokio::runtime::Runtime,
}

impl AskedNight {
    /// A project with a red check, with the settings of `init` alone, and a model that does something else.
    fn new() -> Self {
        let (stage, outside) = (Project::with_agents(), outside());
        let calls = [
            ("run_command", json!({ "command": "until [ -e go ]; do sleep 0.05; done; rm go" })),
            ("write_file", json!({ "path": "bye.txt", "content": "bye\n" })),
        ];
        let first = calls.map(|(name, input)| FakeAnswer::with_call(name, &input));
        let done = FakeAnswer::with_call("task_done", &json!({ "summary": "There is a bye." }));
        let service = outside.block_on(FakeServer::start(FakeScript::new(first, done))).unwrap();
        for file in ["unstuck.toml", "check.sh"] {
            std::fs::remove_file(stage.path(file)).unwrap();
        }
        stage.write("Makefile", MAKEFILE);
        stage.commit();
        let init = ran(ANTHROPIC.unstuck(&stage, &service, &["init"]).output().unwrap());
        assert_eq!(init.exit, 0, "{init}");
        assert!(stage.wrote("unstuck.toml").contains("make test"), "{init}");
        stage.commit();
        Self { stage, service, _outside: outside }
    }

    /// Runs the build at a terminal, presses the key when it is asked, and returns the exit code.
    fn answer_with(&self, key: &str) -> (Option<i32>, String) {
        let args = ["run", "add a bye", "--max-wait", "0"];
        let mut run = Pty::start(ANTHROPIC.unstuck(&self.stage, &self.service, &args), 110, 40);
        run.until("`make test` fails before any work has begun. Should the tasks fix it?");
        run.until("checking the sums");
        run.until("FAIL: 6 is not 5");
        run.until("y they should · n it has nothing to do with them");
        run.press(key);
        // The question is gone: the line of keys begins with the usual ones.
        run.until("\u{1b}[2mp pause");
        self.stage.write(GO, "");
        let (status, seen) = run.end();
        (status.code(), seen)
    }

    /// The first message of the first conversation.
    fn first_prompt(&self) -> String {
        let call: Value = self.service.model_calls()[0].json();
        call["messages"][0]["content"].to_string()
    }

    fn judgements(&self, wanted: bool) -> usize {
        let judged = |event: &Event| matches!(event, Event::BaseJudged { belongs, .. } if *belongs == wanted);
        self.stage.count(judged)
    }
}

// B15: at a terminal the person says that the failure has nothing to do with the work: green is not demanded of it.
#[test]
fn a_failure_that_has_nothing_to_do_with_the_work_is_left_alone() {
    let night = AskedNight::new();
    let (exit, seen) = night.answer_with("n");
    assert_eq!(exit, Some(0), "{seen}");
    assert!(seen.contains("1 of 1 task done"), "{seen}");
    assert_eq!((night.judgements(false), night.judgements(true)), (1, 0));
    assert_eq!(night.stage.on_branch("unstuck/b0", "bye.txt"), "bye\n");
    assert_eq!(night.stage.questions().len(), 0);
    let prompt = night.first_prompt();
    assert!(prompt.contains("make test") && prompt.contains("6 is not 5"), "{prompt}");
}

// B15: at a terminal the person says that the tasks should fix it: work that leaves it red is not done.
#[test]
fn a_failure_that_the_tasks_should_fix_has_to_be_green() {
    let night = AskedNight::new();
    let (exit, seen) = night.answer_with("y");
    assert_eq!(exit, Some(3), "{seen}");
    assert!(seen.contains("0 of 1 task done"), "{seen}");
    assert_eq!((night.judgements(false), night.judgements(true)), (0, 1));
    let prompt = night.first_prompt();
    assert!(prompt.contains("make test") && prompt.contains("6 is not 5"), "{prompt}");
    // It is not asked a second time whether it belongs.
    let asked = night.stage.question();
    assert!(!asked.text.problem.contains("Does it belong"), "{}", asked.text.problem);
}

//! Models behind an API, from the settings to the commit: the real program against a local service.

use std::process::Command;

use serde_json::json;
use unstuck_world::fake::server::{
    FakeAnswer, FakeHttpError, FakeRetryAfter, FakeScript, FakeServer, FakeToolCall,
};

use crate::program::{Ran, ran};
use crate::project::{Project, outside};

/// A way of calling a model.
pub(super) struct Way {
    provider: &'static str,
    dialect: &'static str,
    /// The path of its base at the service.
    base: &'static str,
    key: &'static str,
}

pub(super) const ANTHROPIC: Way =
    Way { provider: "anthropic-api", dialect: "chat", base: "", key: "ANTHROPIC_API_KEY" };
const WAYS: [Way; 3] = [
    ANTHROPIC,
    Way { provider: "openai-api", dialect: "chat", base: "/v1", key: "OPENAI_API_KEY" },
    Way { provider: "openai-api", dialect: "responses", base: "/v1", key: "OPENAI_API_KEY" },
];

impl Way {
    /// The program with this model at work.
    pub(super) fn unstuck(&self, stage: &Project, service: &FakeServer, args: &[&str]) -> Command {
        let mut unstuck = stage.unstuck(args);
        unstuck
            .env("UNSTUCK_AGENT_PROVIDER", self.provider)
            .env("UNSTUCK_AGENT_DIALECT", self.dialect)
            .env("UNSTUCK_AGENT_MODEL", "a-model")
            .env("UNSTUCK_AGENT_BASE_URL", format!("{}{}", service.url(), self.base))
            .env(self.key, "sk-canary-0123456789");
        unstuck
    }

    fn run(&self, stage: &Project, service: &FakeServer, args: &[&str]) -> Ran {
        ran(self.unstuck(stage, service, args).output().unwrap())
    }
}

/// The model writes a file and is done.
fn works() -> [FakeAnswer; 2] {
    let write = json!({ "path": "work/a.txt", "content": "fine\n" });
    let done = json!({ "summary": "It is written." });
    [
        FakeAnswer::with_calls([FakeToolCall::new("write_file", &write)]),
        FakeAnswer::with_calls([FakeToolCall::new("task_done", &done)]),
    ]
}

// T4.20: success is success with every provider, through the program to the commit
#[test]
fn what_a_model_writes_lands_as_a_commit() {
    let outside = outside();
    for way in WAYS {
        let stage = Project::with_agents();
        let [write, done] = works();
        let service = outside.block_on(FakeServer::start(FakeScript::new([write], done))).unwrap();
        let ran = way.run(&stage, &service, &["run", "write a"]);
        assert_eq!(ran.exit, 0, "{} {}: {ran}", way.provider, way.dialect);
        assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
        assert_eq!(stage.git(&["rev-list", "--count", "main..unstuck/b0"]), "1\n");
        let calls = service.model_calls();
        assert_eq!(calls.len(), 2, "{} {}", way.provider, way.dialect);
        let has = |name: &str| calls[0].header(name).is_some();
        assert!(has("authorization") || has("x-api-key"), "{:?}", calls[0].headers);
    }
}

// T4.9: a limit is waited out and not charged to a task, and the model goes on where it was
#[test]
fn a_limited_model_goes_on_by_itself() {
    let outside = outside();
    for way in WAYS {
        let stage = Project::with_agents();
        let [write, done] = works();
        let limit = FakeAnswer::Error(FakeHttpError::RateLimit(FakeRetryAfter::Seconds(1)));
        let service =
            outside.block_on(FakeServer::start(FakeScript::new([write, limit], done))).unwrap();
        let ran = way.run(&stage, &service, &["run", "write a"]);
        assert_eq!(ran.exit, 0, "{} {}: {ran}", way.provider, way.dialect);
        let task = stage.tasks().remove(0);
        assert_eq!((task.moved.attempts, task.moved.counters.consecutive), (1, 0));
        assert_eq!(service.model_calls().len(), 3);
        assert_eq!(stage.questions().len(), 0);
    }
}

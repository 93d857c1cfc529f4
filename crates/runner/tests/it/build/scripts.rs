//! What scripted agents do, and tasks for them.

use std::sync::Arc;

use serde_json::Value;
use unstuck_core::plan::{GateKey, MutationKind, MutationSpec, PullRequest};
use unstuck_testkit::stage::make_model_settings;
use unstuck_world::fake::server::{self, FakeServer};
use unstuck_world::model::Model;
use unstuck_world::provider::ModelSettings;
use unstuck_world::provider::anthropic_api::AnthropicApi;
use unstuck_world::provider::openai_api::{OpenAiApi, OpenAiDialect};
use unstuck_world::scope::ScopeRules;
use unstuck_world::validate::BaselineMode;

/// A model behind a service that answers by a script.
#[derive(Clone)]
pub(crate) struct Mind {
    pub(crate) server: Arc<FakeServer>,
    pub(crate) model: fn(ModelSettings) -> Arc<dyn Model>,
}

impl Mind {
    /// One that speaks as Anthropic's do.
    pub(crate) async fn anthropic(script: server::FakeScript) -> Self {
        Self::speaking(script, |settings| Arc::new(AnthropicApi::new(settings))).await
    }

    /// One that speaks as those of `OpenAI` do.
    pub(crate) async fn openai(script: server::FakeScript) -> Self {
        Self::speaking(script, |settings| {
            Arc::new(OpenAiApi::new(settings, OpenAiDialect::Responses, None))
        })
        .await
    }

    async fn speaking(
        script: server::FakeScript,
        model: fn(ModelSettings) -> Arc<dyn Model>,
    ) -> Self {
        Self { server: Arc::new(FakeServer::start(script).await.unwrap()), model }
    }

    /// The client that talks to it.
    pub(crate) fn client(&self) -> Arc<dyn Model> {
        (self.model)(make_model_settings(&self.server))
    }

    /// The conversations that it was asked to go on with, in order, as Anthropic's are written.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.server.model_calls().iter().map(|call| call.json()["messages"].clone()).collect()
    }
}

/// A task, and what its agent does about it, attempt by attempt.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) attempts: Vec<Vec<String>>,
    pub(crate) rules: ScopeRules,
    pub(crate) pre_commit: Vec<String>,
    pub(crate) pre_push: Vec<String>,
    pub(crate) protect: Vec<String>,
    pub(crate) baseline: BaselineMode,
    pub(crate) depends_on: Vec<String>,
    /// The plan or task file.
    pub(crate) file: Option<String>,
    pub(crate) gate: GateKey,
    pub(crate) mutations: Vec<MutationSpec>,
    /// Who works on it, where that is no scripted agent.
    pub(crate) mind: Option<Mind>,
    /// Where its agent may have pull requests opened.
    pub(crate) pull_request: Option<PullRequest>,
}

impl Job {
    /// A task whose agent makes these attempts; its result is merged.
    pub(crate) fn new<const N: usize>(name: &'static str, attempts: [&[String]; N]) -> Self {
        Self {
            name,
            attempts: attempts.iter().map(|steps| steps.to_vec()).collect(),
            rules: ScopeRules::default(),
            pre_commit: Vec::new(),
            pre_push: Vec::new(),
            protect: Vec::new(),
            baseline: BaselineMode::default(),
            depends_on: Vec::new(),
            file: None,
            gate: GateKey(1),
            mutations: vec![merge()],
            mind: None,
            pull_request: None,
        }
    }

    /// A task that a model works on; its result is merged.
    pub(crate) fn thought_out(name: &'static str, mind: &Mind) -> Self {
        Self { mind: Some(mind.clone()), ..Self::new(name, []) }
    }

    /// With a check before the commit.
    pub(crate) fn checked(mut self, command: &str) -> Self {
        self.pre_commit.push(command.to_owned());
        self
    }

    /// Where exactly the failures of the base pass; by default a person is asked.
    pub(crate) fn comparing(mut self) -> Self {
        self.baseline = BaselineMode::Compare;
        self
    }

    pub(crate) fn allowed(mut self, paths: &[&str]) -> Self {
        self.rules.allowed = list(paths);
        self
    }

    pub(crate) fn ask_first(mut self, paths: &[&str]) -> Self {
        self.rules.ask_first = list(paths);
        self
    }

    pub(crate) fn then(mut self, mutation: MutationSpec) -> Self {
        self.mutations.push(mutation);
        self
    }

    pub(crate) fn after(mut self, name: &str) -> Self {
        self.depends_on.push(name.to_owned());
        self
    }

    /// The script as its file has it.
    pub(crate) fn script(&self) -> String {
        let attempt =
            |steps: &Vec<String>| format!("[[attempt]]\nsteps = [\n{}\n]\n", steps.join(",\n"));
        self.attempts.iter().map(attempt).collect()
    }
}

pub(crate) fn merge() -> MutationSpec {
    MutationSpec {
        key: "merge".to_owned(),
        kind: MutationKind::Merge,
        idempotent: true,
        probe: true,
        ..MutationSpec::default()
    }
}

pub(crate) fn push() -> MutationSpec {
    MutationSpec { key: "push".to_owned(), kind: MutationKind::Push, ..merge() }
}

pub(crate) fn write(path: &str, text: &str) -> String {
    format!("{{ write = {path:?}, text = {text:?} }}")
}

pub(crate) fn run(line: &str) -> String {
    format!("{{ run = {line:?} }}")
}

pub(crate) fn say(text: &str) -> String {
    format!("{{ say = {text:?} }}")
}

pub(crate) fn fail(code: &str) -> String {
    format!("{{ fail = {code:?}, message = \"said so\" }}")
}

pub(crate) fn list(items: &[&str]) -> Vec<String> {
    items.iter().map(|&item| item.to_owned()).collect()
}

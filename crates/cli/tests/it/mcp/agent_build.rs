//! A real build on a real repository, whose agent speaks to the real server of tools.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use unstuck_core::engine::Event;
use unstuck_core::plan::{Call, CommandCall, MutationSpec, TaskSpec};
use unstuck_runner::build::{AgentControl, BuildPerformer, BuildSettings, TaskWorker};
use unstuck_runner::control::{ControlServer, TokenKey};
use unstuck_runner::{PerformScope, SystemClock};
use unstuck_store::MemoryStore;
use unstuck_testkit::stage::{
    RunningProject, TestRepo, make_build_settings, make_fifo, make_runner_setup,
    make_scripted_agent, make_task_settings,
};
use unstuck_world::agent::Agent;
use unstuck_world::provider::Credential;
use unstuck_world::redact::Redactor;
use unstuck_world::tool::{ActionRule, DeclarationPolicy};

use super::client::lines;
use crate::program::{SEARCH_PATH, own_guard, own_search_path};

const NAME: &str = "shop";
/// What an action may use that names its variable.
pub(super) const SECRET: &str = "secret-of-the-shop-4711";

pub(super) struct Stage {
    repo: TestRepo,
    project: RunningProject,
    _server: ControlServer,
}

impl Deref for Stage {
    type Target = RunningProject;

    fn deref(&self) -> &RunningProject {
        &self.project
    }
}

impl Stage {
    /// Starts a build with one task, whose agent runs these lines of shell once it is let go.
    pub(super) async fn start(lines: &[&str]) -> Self {
        let lines = ["read line < $HERE/ready"].iter().chain(lines);
        let steps: Vec<String> = lines.map(|line| format!("{{ run = {line:?} }}")).collect();
        let script = format!("[[attempt]]\nsteps = [{}]", steps.join(", "));
        // Its fence lets it write beside its worktree.
        let agent = make_scripted_agent(&script, own_guard());
        Self::begin(TestRepo::empty(), Arc::new(agent)).await
    }

    /// The same with this agent, which is told the folder that is its own. Codex does without some of
    /// its tools below a temporary directory, so it is not in one.
    pub(super) async fn start_with(agent: impl FnOnce(&Path) -> Arc<dyn Agent>) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let repo = TestRepo::empty_in(folder);
        let agent = agent(&repo.beside("home"));
        Self::begin(repo, agent).await
    }

    async fn begin(repo: TestRepo, agent: Arc<dyn Agent>) -> Self {
        repo.write("README.md", "shop\n");
        repo.commit("Begin");
        for fifo in ["ready", "never"] {
            make_fifo(&repo.beside(fifo));
        }
        let store = MemoryStore::new();
        let setup = make_runner_setup(Arc::new(store.clone()), NAME);
        let holder = setup.holder.clone();
        let project = RunningProject::start_with(store, setup).await;
        let key = TokenKey::open(&repo.beside("token-key")).unwrap();
        let socket = repo.beside("control.sock");
        let redactor = Arc::new(Redactor::new([SECRET]));
        let handle = project.handle.clone();
        let server =
            ControlServer::start_redacting(&socket, handle, key.clone(), holder, redactor).unwrap();
        let control = AgentControl { socket, key, declarable: declarable() };
        let settings = settings(&repo, control, agent).await;
        let (handle, store) = (project.handle.clone(), Arc::new(project.store.clone()));
        let world =
            BuildPerformer::new(settings, Arc::new(handle), store, NAME, Arc::new(SystemClock));
        project.handle.attach_performer(PerformScope::Project, Arc::new(world)).await.unwrap();
        let task = TaskSpec { name: "a".into(), title: "Paint it".into(), ..TaskSpec::default() };
        project.start_build(vec![task], 1).await;
        Self { repo, project, _server: server }
    }

    /// What the agent's server of tools is told, and then the agent is let go.
    pub(super) async fn let_go(&self, calls: &[(&str, Value)]) {
        fs::write(self.path("in"), lines(calls)).unwrap();
        let ready = self.path("ready");
        tokio::task::spawn_blocking(move || fs::write(ready, "go\n").unwrap()).await.unwrap();
    }

    /// A file beside the repository.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.repo.beside(name)
    }

    pub(super) fn wrote(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(super) async fn narrated(&self) -> Vec<String> {
        let told = |event| match event {
            Event::Narrated { text, .. } => Some(text.to_string()),
            _ => None,
        };
        self.find_events(told).await
    }
}

async fn settings(repo: &TestRepo, control: AgentControl, agent: Arc<dyn Agent>) -> BuildSettings {
    let path = own_search_path(SEARCH_PATH).into();
    let environment = [("PATH", path), ("HERE", repo.beside("").into())];
    let secret = |name: &str| (name.to_owned(), Credential::new(SECRET).unwrap());
    BuildSettings {
        environment: environment.map(|(name, value): (_, OsString)| (name.into(), value)).into(),
        credentials: [secret("TOKEN"), secret("OTHER")].into(),
        control: Some(control),
        tasks: [("a".to_owned(), make_task_settings(TaskWorker::Agent(agent)))].into(),
        ..make_build_settings(repo, own_guard(), &[SECRET]).await
    }
}

/// An action as something that speaks to the socket by itself could put it together.
pub(super) fn forged() -> MutationSpec {
    let call = CommandCall {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), "printf %s \"$OTHER\" > $HERE/stolen".to_owned()],
        variables: vec!["OTHER".to_owned()],
        ..CommandCall::default()
    };
    MutationSpec::from_call("forged", Call::Command(call))
}

/// What an agent's actions may use here, and which of them need no leave.
fn declarable() -> DeclarationPolicy {
    let secrets = BTreeSet::from(["TOKEN".to_owned()]);
    let lines = ["printf %s ${#TOKEN}", "sh -c 'echo out'"];
    let rule = |line: &str| ActionRule {
        command: Some(line.to_owned()),
        hosts: Vec::new(),
        secrets: secrets.clone(),
    };
    DeclarationPolicy { allowed: lines.map(rule).into(), pull_request: None, secrets }
}

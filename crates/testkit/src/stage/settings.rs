//! Settings of builds, tasks, agents and models that restrict nothing.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::fault::CheckStage;
use unstuck_core::policy::BudgetLimits;
use unstuck_runner::ResultFiles;
use unstuck_runner::build::{BuildSettings, TaskGates, TaskSettings, TaskWorker};
use unstuck_world::agent::AttemptLimits;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::fake::server::FakeServer;
use unstuck_world::git::CommitAuthor;
use unstuck_world::process::{GuardCommand, Wall};
use unstuck_world::provider::script::{AgentScript, ScriptedAgent};
use unstuck_world::provider::{Credential, ModelSettings, Proxies, TurnDeadlines, prices};
use unstuck_world::redact::Redactor;
use unstuck_world::scope::{PathScope, ScopeRules};
use unstuck_world::validate::{BaselineMode, GateChecks, SecretScanner};
use unstuck_world::workspace::ProjectRepository;

use super::repository::TestRepo;

/// Longer than anything takes.
const PLENTY: Duration = Duration::from_mins(1);

/// Makes the settings of a build from the head of a repository. Its agents and checks may write beside it, and
/// `secrets` must not be committed or shown.
pub async fn make_build_settings(
    repository: &TestRepo,
    guard: GuardCommand,
    secrets: &[&str],
) -> BuildSettings {
    let runs = repository.beside("runs");
    fs::create_dir_all(&runs).unwrap();
    let project = ProjectRepository::open(&repository.program, &repository.root).await.unwrap();
    BuildSettings {
        project,
        start: repository.oid("HEAD"),
        guard,
        runs,
        setup: Vec::new(),
        setup_egress: EgressPolicy::Open,
        check_egress: EgressPolicy::Open,
        proxies: Proxies::default(),
        share: Vec::new(),
        in_place: false,
        budget: BudgetLimits::default(),
        disk_free_bytes_min: 0,
        wall: Wall { writable: Some(vec![repository.beside(".")]), ..Wall::default() },
        says_walls: false,
        allowed: Vec::new(),
        blocked: Vec::new(),
        unlisted: Vec::new(),
        person: CommitAuthor { name: "Ada".to_owned(), email: "ada@example.org".to_owned() },
        command_timeout: PLENTY,
        check_timeout: PLENTY,
        withheld: Vec::new(),
        environment: Vec::new(),
        redactor: Arc::new(Redactor::new(secrets.iter().copied())),
        secrets: Arc::new(SecretScanner::new(secrets.iter().copied())),
        credentials: [].into(),
        results: ResultFiles::new(repository.beside("results")),
        remote: None,
        pull_request: false,
        control: None,
        tasks: [].into(),
    }
}

/// Makes the settings of a task without checks.
pub fn make_task_settings(worker: TaskWorker) -> TaskSettings {
    TaskSettings {
        worker,
        egress: EgressPolicy::Open,
        service_host: None,
        model: None,
        price: None,
        limits: AttemptLimits {
            turns_max: None,
            money_micros_max: None,
            first_byte: PLENTY,
            idle: PLENTY,
            total: PLENTY,
        },
        scope: PathScope::new(&ScopeRules::default()).unwrap(),
        gates: TaskGates {
            pre_commit: make_checks(CheckStage::PreCommit, &[], &[]),
            pre_push: make_checks(CheckStage::PrePush, &[], &[]),
            pre_pr: make_checks(CheckStage::PrePr, &[], &[]),
            baseline: BaselineMode::default(),
        },
        brief: String::new(),
    }
}

/// Makes checks with these commands and protected paths.
pub fn make_checks(stage: CheckStage, commands: &[String], protect: &[String]) -> GateChecks {
    GateChecks::new(stage, commands, protect).unwrap()
}

/// Makes an agent that follows a script.
pub fn make_scripted_agent(script: &str, guard: GuardCommand) -> ScriptedAgent {
    ScriptedAgent::new(AgentScript::parse(script, "script").unwrap(), guard)
}

/// Makes the settings of a model behind a local service.
pub fn make_model_settings(server: &FakeServer) -> ModelSettings {
    ModelSettings {
        model: "model-1".to_owned(),
        base_url: Some(server.url()),
        credential: Credential::new("key-of-the-test"),
        variable: None,
        proxies: Proxies::default(),
        deadlines: TurnDeadlines::default(),
        prices: prices::Prices::default(),
    }
}

//! A place for an agent to work in, and agents to let work there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::{Code, Fault};
use unstuck_testkit::stage::make_fifo;
use unstuck_world::agent::{
    ACTIVITIES_QUEUED_MAX, Activity, Agent, AgentAssignment, AgentEnd, AgentResult, AttemptLimits,
};
use unstuck_world::process::Wall;
use unstuck_world::provider::claude_cli::{self, ClaudeCli, ClaudePermissions};
use unstuck_world::provider::codex_cli::{self, CodexAccess, CodexCli};
use unstuck_world::provider::{AccountAuth, AccountKey, Credential};

use crate::support::guard;

/// Long enough for anything that works.
pub(crate) const PLENTY: Duration = Duration::from_mins(5);
/// Long enough to be told apart from nothing.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

pub(crate) const KEY: &str = "canary-key-4f1d";

/// One of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Claude,
    Codex,
}

pub(crate) const BOTH: [Which; 2] = [Which::Claude, Which::Codex];

pub(crate) struct Stage {
    root: TempDir,
}

impl Stage {
    /// Codex does without some of its tools below a temporary directory, so it is not in one.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for directory in ["work", "home", "person"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        Self { root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The program that does what the script [`Self::assignment`] was given says.
    pub(crate) fn fake(&self, which: Which) -> Box<dyn Agent> {
        self.agent(which, &testdata("agent"), None)
    }

    pub(crate) fn agent(
        &self,
        which: Which,
        program: &Path,
        base_url: Option<String>,
    ) -> Box<dyn Agent> {
        match which {
            Which::Claude => Box::new(ClaudeCli::new(self.claude(program, base_url))),
            Which::Codex => Box::new(CodexCli::new(self.codex(program, base_url))),
        }
    }

    pub(crate) fn claude(
        &self,
        program: &Path,
        base_url: Option<String>,
    ) -> claude_cli::ClaudeSettings {
        claude_cli::ClaudeSettings {
            program: program.to_owned(),
            guard: guard(),
            account: key("ANTHROPIC_API_KEY"),
            home: self.path("home/claude"),
            base_url,
            environment: Vec::new(),
            permissions: ClaudePermissions::Skipped,
            sandboxed: true,
            own_tools: None,
            arguments: Vec::new(),
        }
    }

    pub(crate) fn codex(
        &self,
        program: &Path,
        base_url: Option<String>,
    ) -> codex_cli::CodexSettings {
        codex_cli::CodexSettings {
            commands: None,
            program: program.to_owned(),
            guard: guard(),
            account: key("OPENAI_API_KEY"),
            home: self.path("home/codex"),
            base_url: base_url.map(|url| format!("{url}/v1")),
            environment: Vec::new(),
            access: CodexAccess::Full,
            own_tools: None,
            overrides: Vec::new(),
        }
    }

    /// An assignment for the fake program, which does what `script` says.
    pub(crate) fn scripted(&self, script: &str) -> AgentAssignment {
        let file = self.path("script.sh");
        fs::write(&file, script).unwrap();
        let mut assignment = self.assignment();
        assignment.environment.push(("AGENT_SCRIPT".into(), file.into()));
        assignment.environment.push(("AGENTS".into(), testdata("").into()));
        assignment
    }

    pub(crate) fn assignment(&self) -> AgentAssignment {
        AgentAssignment {
            directory: self.path("work"),
            worktree: self.path("work"),
            lock: self.path("lock"),
            prompt: "Do it.".to_owned(),
            thread: None,
            attempt: 1,
            model: None,
            environment: self.environment(),
            wall: Wall::default(),
            allowed_commands: std::collections::BTreeSet::new(),
            limits: AttemptLimits {
                turns_max: None,
                money_micros_max: None,
                first_byte: PLENTY,
                idle: PLENTY,
                total: PLENTY,
            },
        }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let home = self.path("person");
        let pairs = [("PATH", "/usr/local/bin:/usr/bin:/bin".into()), ("HOME", home.into())];
        pairs.into_iter().map(|(name, value): (_, OsString)| (name.into(), value)).collect()
    }

    /// A fifo in the work directory, by which processes show that they live.
    pub(crate) fn alive(&self) -> PathBuf {
        let fifo = self.path("work/alive");
        make_fifo(&fifo);
        fifo
    }
}

fn key(variable: &str) -> AccountAuth {
    AccountAuth::Key(AccountKey { variable: variable.to_owned(), credential: Credential::new(KEY) })
}

pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/agents").join(name)
}

/// Lets an agent work and takes note of all it does.
pub(crate) async fn work(
    agent: &dyn Agent,
    assignment: AgentAssignment,
) -> (AgentResult, Vec<Activity>) {
    work_until(agent, assignment, &CancellationToken::new()).await
}

pub(crate) async fn work_until(
    agent: &dyn Agent,
    assignment: AgentAssignment,
    stop: &CancellationToken,
) -> (AgentResult, Vec<Activity>) {
    let (tell, mut told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
    let listening = async {
        let mut activities = Vec::new();
        while let Some(activity) = told.recv().await {
            activities.push(activity);
        }
        activities
    };
    tokio::join!(agent.work_on(assignment, tell, stop.clone()), listening)
}

/// The fault that an agent ended with.
pub(crate) fn fault(ended: &AgentResult) -> &Fault {
    match &ended.end {
        AgentEnd::Failed(fault) => fault,
        other => panic!("no fault: {other:?}"),
    }
}

/// The end of a program in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// The work finished.
    Done,
    /// The work failed with this code.
    Failed(Code),
    /// The program did not say.
    Nothing,
}

impl Says {
    pub(crate) fn of(end: Option<&AgentEnd>) -> Self {
        match end.map(code) {
            None => Self::Nothing,
            Some(None) => Self::Done,
            Some(Some(code)) => Self::Failed(code),
        }
    }
}

/// The code that an agent ended with; none where it finished.
pub(crate) fn code(end: &AgentEnd) -> Option<Code> {
    match end {
        AgentEnd::Failed(fault) => Some(fault.code()),
        AgentEnd::Finished { .. } => None,
        AgentEnd::Stopped => panic!("the test did not stop it"),
    }
}

//! A worktree with tools.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use unstuck_core::fault::Fault;
use unstuck_testkit::stage::write_program;
use unstuck_world::commands::{
    CommandEnvironment, CommandPolicy, CommandRules, CommandShims, NetworkIsolation,
};
use unstuck_world::process::Wall;
use unstuck_world::scope::{PathScope, ScopeMode, ScopeRules};
use unstuck_world::tool::{DeclarationPolicy, ToolCall, ToolContext, ToolOutput, Toolbox};

use crate::support::{block_on, guard};

pub(crate) struct Stage {
    pub(crate) root: PathBuf,
    pub(crate) shims: CommandShims,
    tools: Toolbox,
    owned: TempDir,
}

/// What a stage can be different in.
pub(crate) struct Set {
    /// The folder of the project in the worktree.
    pub(crate) folder: &'static str,
    pub(crate) scope: ScopeRules,
    pub(crate) rules: CommandRules,
    pub(crate) network: NetworkIsolation,
    pub(crate) timeout: Duration,
    /// Variables that are there beside the search path.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

impl Default for Set {
    fn default() -> Self {
        Self {
            folder: "",
            scope: ScopeRules {
                mode: ScopeMode::Strict,
                allowed: vec!["src".into()],
                forbidden: vec!["src/locked".into()],
                ask_first: vec!["src/ask".into()],
                ..ScopeRules::default()
            },
            rules: CommandRules::default(),
            network: NetworkIsolation::Open,
            timeout: Duration::from_mins(1),
            variables: Vec::new(),
        }
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(&Set::default())
    }

    pub(crate) fn with(set: &Set) -> Self {
        let owned = tempfile::tempdir().unwrap();
        let base = owned.path().canonicalize().unwrap();
        let root = base.join("tree");
        let programs = base.join("programs");
        for folder in [&root.join("src"), &programs, &base.join("shared")] {
            fs::create_dir_all(folder).unwrap();
        }
        for program in ["gh", "npm"] {
            let script = format!("echo \"the real {program}: $*\"");
            write_program(&programs.join(program), &script);
        }
        let mut path = programs.into_os_string();
        path.push(":/usr/local/bin:/usr/bin:/bin");
        let shims = CommandShims::open_in(&base.join("shims"))
            .unwrap()
            .refusing_mutators(&path, |_| false)
            .unwrap();
        let tools = Toolbox::new(ToolContext {
            root: root.clone(),
            folder: set.folder.into(),
            scope: PathScope::new(&set.scope).unwrap(),
            commands: CommandPolicy::new(&set.rules),
            guard: guard(),
            lock: base.join("lock"),
            environment: environment_of(path, set, shims.folder()),
            shims: shims.clone(),
            wall: Wall { writable: Some(vec![base.join("shared")]), ..Wall::default() },
            network: set.network,
            timeout: set.timeout,
            egress: None,
            declarable: DeclarationPolicy::default(),
        });
        Self { root, shims, tools, owned }
    }

    pub(crate) fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// Somewhere beside the worktree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.owned.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Calls a tool as a model would.
    pub(crate) fn call(&self, tool: &str, input: &Value) -> Result<ToolOutput, Box<Fault>> {
        match ToolCall::parse(tool, input)? {
            ToolCall::Act(act) => {
                block_on(self.tools.perform_action(act, &CancellationToken::new()))
            }
            ToolCall::Speak(_) => panic!("{tool} is not in the box"),
        }
    }

    pub(crate) fn run(&self, command: &str) -> Result<ToolOutput, Box<Fault>> {
        self.call("run_command", &serde_json::json!({ "command": command }))
    }
}

/// Of what this process has and a test gives, only what is on the list.
fn environment_of(path: OsString, set: &Set, shims: &Path) -> CommandEnvironment {
    let own = std::env::vars_os().filter(|(name, _)| name != "PATH");
    let given = set.variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    let all: Vec<(OsString, OsString)> = own.chain(given).chain([("PATH".into(), path)]).collect();
    CommandEnvironment::from_variables(all, &set.rules.environment, shims)
}

//! Claude Code, or what stands in for it, as benchmarks let it work.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_world::agent::{
    ACTIVITIES_QUEUED_MAX, Agent as _, AgentAssignment, AgentEnd, AttemptLimits,
};
use unstuck_world::process::{GuardCommand, Wall};
use unstuck_world::provider::claude_cli::{ClaudeCli, ClaudePermissions, ClaudeSettings};
use unstuck_world::provider::{AccountAuth, AccountKey, Credential};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
pub(crate) const PROMPT: &str = "Do it.";
const FAR_OFF: Duration = Duration::from_mins(10);

/// The script that stands in for an agent, and does what another script says.
pub(crate) fn stand_in() -> PathBuf {
    Path::new(ROOT).join("testdata/agents/agent").canonicalize().unwrap()
}

/// The environment of one that works below `root` and does what `script` says.
pub(crate) fn environment(root: &Path, script: &str) -> Vec<(OsString, OsString)> {
    let file = root.join("script.sh");
    std::fs::write(&file, script).unwrap();
    let capture = Path::new(ROOT).join("testdata/agents/claude/ok_tool.jsonl");
    let pairs: [(&str, OsString); 4] = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME", root.into()),
        ("AGENT_SCRIPT", file.into()),
        ("CAPTURE", capture.into()),
    ];
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// Lets it work below `root` until it is done.
pub(crate) async fn work(
    root: &Path,
    program: &Path,
    base_url: Option<String>,
    environment: Vec<(OsString, OsString)>,
) {
    let agent = ClaudeCli::new(ClaudeSettings {
        program: program.to_owned(),
        guard: GuardCommand {
            executable: env!("CARGO_BIN_EXE_unstuck-guard").into(),
            arguments: Vec::new(),
        },
        account: AccountAuth::Key(AccountKey {
            variable: "ANTHROPIC_API_KEY".to_owned(),
            credential: Credential::new("none"),
        }),
        home: root.join("home"),
        base_url,
        environment: Vec::new(),
        permissions: ClaudePermissions::Skipped,
        sandboxed: true,
        own_tools: None,
        arguments: Vec::new(),
    });
    let assignment = AgentAssignment {
        directory: root.join("work"),
        worktree: root.join("work"),
        lock: root.join("lock"),
        prompt: PROMPT.to_owned(),
        thread: None,
        attempt: 1,
        model: None,
        environment,
        allowed_commands: std::collections::BTreeSet::new(),
        wall: Wall { writable: Some(vec![root.to_owned()]), ..Wall::default() },
        limits: AttemptLimits {
            turns_max: None,
            money_micros_max: None,
            first_byte: FAR_OFF,
            idle: FAR_OFF,
            total: FAR_OFF,
        },
    };
    let (tell, mut told) = mpsc::channel(ACTIVITIES_QUEUED_MAX);
    let listening = async { while told.recv().await.is_some() {} };
    let working = agent.work_on(assignment, tell, CancellationToken::new());
    let (ended, ()) = tokio::join!(working, listening);
    assert!(matches!(ended.end, AgentEnd::Finished { .. }), "{:?}", ended.end);
}

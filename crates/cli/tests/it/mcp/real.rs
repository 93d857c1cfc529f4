//! The real agents use our tools, against a local service.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use unstuck_core::engine::TaskState;
use unstuck_core::question::Decision;
use unstuck_world::agent::Agent;
use unstuck_world::fake::server::{FakeAnswer, FakeScript, FakeServer};
use unstuck_world::provider::claude_cli::{self, ClaudeCli, ClaudePermissions, ShellRules};
use unstuck_world::provider::codex_cli::{self, CodexAccess, CodexCli, find_native_program};
use unstuck_world::provider::{AccountAuth, AccountKey, Credential};

use super::agent_build::Stage;
use crate::program::own_guard;

/// A real program: named by the environment, or put there by `scripts/agents`.
fn program(variable: &str, name: &str) -> PathBuf {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../.tools/agents/node_modules/.bin")
        .join(name);
    let found = std::env::var_os(variable).map_or(installed, PathBuf::from);
    let found = found.canonicalize().unwrap_or_else(|error| {
        panic!("{}: {error}; ./scripts/agents installs it", found.display())
    });
    find_native_program(&found)
}

fn key(variable: &str) -> AccountAuth {
    AccountAuth::Key(AccountKey {
        variable: variable.to_owned(),
        credential: Credential::new("canary-key-4f1d"),
    })
}

fn claude(home: &Path, url: String) -> Arc<dyn Agent> {
    Arc::new(ClaudeCli::new(claude_cli::ClaudeSettings {
        program: program("UNSTUCK_TEST_CLAUDE", "claude"),
        guard: own_guard(),
        account: key("ANTHROPIC_API_KEY"),
        home: home.to_owned(),
        base_url: Some(url),
        environment: Vec::new(),
        permissions: ClaudePermissions::Listed(ShellRules::default()),
        sandboxed: true,
        own_tools: Some(env!("CARGO_BIN_EXE_unstuck").into()),
        arguments: Vec::new(),
    }))
}

fn codex(home: &Path, url: &str, access: CodexAccess) -> Arc<dyn Agent> {
    Arc::new(CodexCli::new(codex_cli::CodexSettings {
        commands: None,
        program: program("UNSTUCK_TEST_CODEX", "codex"),
        guard: own_guard(),
        account: key("OPENAI_API_KEY"),
        home: home.to_owned(),
        base_url: Some(format!("{url}/v1")),
        environment: Vec::new(),
        access,
        own_tools: Some(env!("CARGO_BIN_EXE_unstuck").into()),
        overrides: Vec::new(),
    }))
}

fn call(tool: &str, input: &Value) -> FakeAnswer {
    FakeAnswer::with_call(&format!("mcp__unstuck__{tool}"), input)
}

/// A model that tells something and is done.
async fn tells(start: impl AsyncFnOnce(&FakeServer) -> Stage) {
    let script = [
        call("narrate", &json!({"text": "I look around."})),
        call("task_done", &json!({"summary": "There was nothing to do."})),
    ];
    let server =
        FakeServer::start(FakeScript::new(script, FakeAnswer::with_text("Done."))).await.unwrap();
    let stage = start(&server).await;
    stage.wait_until_quiet().await;
    let told = stage.narrated().await;
    for wanted in ["I look around.", "There was nothing to do."] {
        assert!(told.iter().any(|text| text == wanted), "{told:?}");
    }
    assert_eq!(stage.task_states().await, [TaskState::Done]);
}

/// A model that asks: it is stopped there, and reads the answer in the same conversation.
async fn asks(start: impl AsyncFnOnce(&FakeServer) -> Stage) {
    let ask = call("ask_human", &json!({"question": "Which colour?"}));
    let server =
        FakeServer::start(FakeScript::new([ask], FakeAnswer::with_text("Done."))).await.unwrap();
    let stage = start(&server).await;
    stage.wait_until_quiet().await;
    assert!(matches!(stage.task_states().await[..], [TaskState::Parked { .. }]));
    stage.answer(Decision::ProvideGuidance, Some("Blue, like the door.")).await;
    stage.wait_until_quiet().await;
    assert_eq!(stage.task_states().await, [TaskState::Done]);
    let last = server.model_calls().pop().unwrap().json().to_string();
    assert!(last.contains("Which colour?") && last.contains("Blue, like the door."), "{last}");
}

/// A model that says again and again that it is done: once is enough.
async fn repeats(start: impl AsyncFnOnce(&FakeServer) -> Stage) {
    let done = call("task_done", &json!({"summary": "There was nothing to do."}));
    let server = FakeServer::start(done).await.unwrap();
    let stage = start(&server).await;
    stage.wait_until_quiet().await;
    assert_eq!(stage.task_states().await, [TaskState::Done]);
    // Twice, because it changed nothing and is asked once more.
    let calls = server.model_calls().len();
    assert!(calls <= 2 * 3, "{calls} calls");
}

// B43
#[tokio::test]
#[ignore = "needs the real Claude Code: ./scripts/test --agents"]
async fn claude_code_uses_our_tools_within_its_permissions() {
    let start =
        async |server: &FakeServer| Stage::start_with(|home| claude(home, server.url())).await;
    tells(start).await;
    asks(start).await;
    repeats(start).await;
}

#[tokio::test]
#[ignore = "needs the real Codex: ./scripts/test --agents"]
async fn codex_uses_our_tools_with_and_without_its_sandbox() {
    for access in [CodexAccess::Workspace, CodexAccess::Full] {
        let start = async |server: &FakeServer| {
            Stage::start_with(|home| codex(home, &server.url(), access)).await
        };
        tells(start).await;
        asks(start).await;
        repeats(start).await;
    }
}

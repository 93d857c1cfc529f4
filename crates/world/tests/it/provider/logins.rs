//! The login of the person: an agent program renews it, and reaches nothing else of its folder.

use std::fs;
use std::path::PathBuf;

use unstuck_world::agent::{Agent, AgentAssignment};
use unstuck_world::process::Wall;
use unstuck_world::provider::AccountAuth;
use unstuck_world::provider::claude_cli::ClaudeCli;
use unstuck_world::provider::codex_cli::CodexCli;

use crate::provider::agents::{BOTH, Stage, Which, code, work};

/// The file of a login, its text, and a renewal of it.
const fn login_of(which: Which) -> (&'static str, &'static str, &'static str) {
    match which {
        Which::Claude => (
            ".credentials.json",
            r#"{"claudeAiOauth":{"accessToken":"a1","refreshToken":"r1","expiresAt":1000}}"#,
            r#"{"claudeAiOauth":{"accessToken":"a2","refreshToken":"r2","expiresAt":2000}}"#,
        ),
        Which::Codex => (
            "auth.json",
            r#"{"tokens":{"access_token":"a1","refresh_token":"r1"},"last_refresh":"2026-01-01"}"#,
            r#"{"tokens":{"access_token":"a2","refresh_token":"r2"},"last_refresh":"2026-01-02"}"#,
        ),
    }
}

/// A person's folder with a login, and the agent that works with it.
fn logged_in(stage: &Stage, which: Which) -> (PathBuf, Box<dyn Agent>) {
    let (file, text, _) = login_of(which);
    let folder = stage.path("person/login");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), text).unwrap();
    fs::write(folder.join("settings.json"), "{}").unwrap();
    let program = super::agents::testdata("agent");
    let account = AccountAuth::Login(folder.clone());
    let agent: Box<dyn Agent> = match which {
        Which::Claude => {
            let mut settings = stage.claude(&program, None);
            settings.account = account;
            Box::new(ClaudeCli::new(settings))
        }
        Which::Codex => {
            let mut settings = stage.codex(&program, None);
            settings.account = account;
            Box::new(CodexCli::new(settings))
        }
    };
    (folder, agent)
}

fn replay(which: Which) -> &'static str {
    match which {
        Which::Claude => "cat \"$AGENTS/claude/ok_tool.jsonl\"",
        Which::Codex => "cat \"$AGENTS/codex/tool.jsonl\"",
    }
}

fn walled(stage: &Stage, script: &str) -> AgentAssignment {
    let writable = Some(vec![stage.path("work")]);
    AgentAssignment { wall: Wall { writable, ..Wall::default() }, ..stage.scripted(script) }
}

/// The names of the files in a folder of agents that hold a login.
fn copies(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![stage.path("home")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if [".credentials.json", "auth.json"]
                .iter()
                .any(|&name| entry.file_name() == name)
            {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

// B44: neither hooks nor instructions for the person's own sessions are written.
#[tokio::test]
async fn a_program_with_a_login_changes_nothing_else_of_its_folder() {
    for which in BOTH {
        let stage = Stage::new();
        let (folder, agent) = logged_in(&stage, which);
        let (file, text, _) = login_of(which);
        let own = folder.display();
        let script = format!(
            "echo hook > {own}/settings.json; touch {own}/CLAUDE.md; echo gone > {own}/{file}\n\
             [ -f \"${{CLAUDE_CONFIG_DIR:-$CODEX_HOME}}/{file}\" ] && touch has-login\n{}",
            replay(which)
        );
        let (ended, _) = work(&*agent, walled(&stage, &script)).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
        assert!(stage.path("work/has-login").exists(), "{which:?}");
        assert_eq!(fs::read_to_string(folder.join("settings.json")).unwrap(), "{}", "{which:?}");
        assert!(!folder.join("CLAUDE.md").exists(), "{which:?}");
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), text, "{which:?}");
        assert_eq!(copies(&stage), Vec::<String>::new(), "{which:?}: a copy stayed");
    }
}

#[tokio::test]
async fn a_login_that_a_program_renews_is_the_persons() {
    for which in BOTH {
        let stage = Stage::new();
        let (folder, agent) = logged_in(&stage, which);
        let (file, _, renewed) = login_of(which);
        let script = format!(
            "cd \"${{CLAUDE_CONFIG_DIR:-$CODEX_HOME}}\"; echo '{renewed}' > new; mv new {file}\n{}",
            replay(which)
        );
        let (ended, _) = work(&*agent, walled(&stage, &script)).await;
        assert_eq!(code(&ended.end), None, "{which:?}: {ended:?}");
        let now: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join(file)).unwrap()).unwrap();
        let new: serde_json::Value = serde_json::from_str(renewed).unwrap();
        assert_eq!(now, new, "{which:?}");
        assert_eq!(copies(&stage), Vec::<String>::new(), "{which:?}: a copy stayed");
    }
}

//! Checks before an agent program is started, and preparations for it.

use std::fs;
use std::os::unix::fs::symlink;

use unstuck_core::fault::Code;
use unstuck_world::agent::Agent;
use unstuck_world::provider::AccountAuth;
use unstuck_world::provider::claude_cli::{ClaudeCli, ClaudePermissions, ShellRules};
use unstuck_world::provider::codex_cli::{self, CodexCli};

use crate::provider::agents::{BOTH, Stage, fault, testdata, work};

// T4.6: told before anything runs, and again if a run tries.
#[tokio::test]
async fn a_missing_program_is_not_available() {
    for which in BOTH {
        let stage = Stage::new();
        let agent = stage.agent(which, &stage.path("no-such-program"), None);
        assert_eq!(agent.check_ready().await.unwrap_err().code(), Code::ProviderNotAvailable);
        let (ended, activities) = work(&*agent, stage.assignment()).await;
        assert_eq!(fault(&ended).code(), Code::ProviderNotAvailable, "{which:?}");
        assert_eq!(activities, []);
    }
}

#[tokio::test]
async fn without_a_way_in_it_is_not_begun() {
    let stage = Stage::new();
    let login = AccountAuth::Login(stage.path("person"));
    let mut claude = stage.claude(&testdata("agent"), None);
    claude.account = login.clone();
    let mut codex = stage.codex(&testdata("agent"), None);
    codex.account = login;
    for agent in
        [Box::new(ClaudeCli::new(claude)) as Box<dyn Agent>, Box::new(CodexCli::new(codex))]
    {
        assert_eq!(agent.check_ready().await.unwrap_err().code(), Code::AuthMissing);
    }
}

#[tokio::test]
async fn codex_renews_the_login_of_the_person_in_place() {
    let stage = Stage::new();
    let login = stage.path("person/auth.json");
    let renewed = |day: u32| format!(r#"{{"last_refresh":"{day}","tokens":{{}}}}"#);
    fs::write(&login, renewed(0)).unwrap();
    let mut settings = stage.codex(&testdata("agent"), None);
    settings.account = AccountAuth::Login(stage.path("person"));
    let ours = settings.home.join("auth.json");
    fs::create_dir_all(&settings.home).unwrap();
    // An earlier version linked the login.
    symlink(&login, &ours).unwrap();
    let agent = CodexCli::new(settings);
    agent.check_ready().await.unwrap();
    for day in 1..3 {
        let script = format!("echo '{}' > \"$CODEX_HOME/auth.json\"; exit 1", renewed(day));
        work(&agent, stage.scripted(&script)).await;
        assert!(fs::symlink_metadata(&ours).is_err());
        assert_eq!(fs::read_to_string(&login).unwrap(), renewed(day));
    }
}

// T4.18: refused before it runs, for who is root without a sandbox.
#[tokio::test]
async fn prompts_are_not_skipped_as_root_without_a_sandbox() {
    let root = rustix::process::geteuid().is_root();
    for (permissions, sandboxed, denied) in [
        (ClaudePermissions::Skipped, false, root),
        (ClaudePermissions::Skipped, true, false),
        (ClaudePermissions::Listed(ShellRules::default()), false, false),
    ] {
        let stage = Stage::new();
        let mut settings = stage.claude(&testdata("agent"), None);
        (settings.permissions, settings.sandboxed) = (permissions, sandboxed);
        let found = ClaudeCli::new(settings).check_ready().await.err().map(|fault| fault.code());
        assert_eq!(found, denied.then_some(Code::PermissionSkipDenied));
    }
}

#[test]
fn a_program_that_is_no_script_of_npm_is_itself() {
    let agent = testdata("agent");
    assert_eq!(codex_cli::find_native_program(&agent), agent);
}

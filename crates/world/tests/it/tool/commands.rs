//! Running commands.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::ActionOutcome;
use unstuck_core::fault::{Class, ClassifiedBy, Code, Fault, Kind};
use unstuck_world::commands::{CommandRules, NetworkIsolation};
use unstuck_world::process::{Connections, EnforcementLevel, Wall};
use unstuck_world::tool::{RunCommand, WorktreeAction};

use crate::support::block_on;
use crate::tool::worktree::{Set, Stage};

const LISTEN: &str =
    "python3 -c 'import socket; socket.socket().bind((\"127.0.0.1\", 0)); print(\"listens\")'";

// T1.16: what a command comes to, seen through the real tool.
#[test]
fn a_command_that_fails_is_judged_by_how_it_ended_and_what_it_wrote() {
    let stage = Stage::new();
    let verdict = |command: &str| stage.run(command).unwrap().verdict.map(|fault| fault.code());
    assert_eq!(verdict("true"), None);
    assert_eq!(verdict("echo fine; echo a | grep b"), None, "grep only answers no");
    assert_eq!(verdict("exit 3"), None, "silence diagnoses nothing");
    assert_eq!(verdict("echo 'FAILED test_dates - assert 1 == 2'; exit 1"), Some(Code::LogicError));
    assert_eq!(verdict("no-such-program-anywhere"), Some(Code::ToolMissing));
    let refused = "echo 'curl: (7) Failed to connect to x port 80: Connection refused' >&2; exit 7";
    assert_eq!(verdict(refused), Some(Code::EnvConnection));
    assert_eq!(
        verdict("echo 'fatal: Authentication failed' >&2; exit 128"),
        Some(Code::AuthInvalid)
    );
    assert_eq!(verdict("kill -SEGV $$"), Some(Code::ToolCrash));
    let fault = stage.run("echo 'error: disk full'; exit 1").unwrap().verdict.unwrap();
    assert_eq!(fault.class(), Class::EnvError);
    assert!(matches!(fault.classified_by, ClassifiedBy::Rule(_)), "{:?}", fault.classified_by);
}

#[test]
fn what_a_command_wrote_is_shown_with_its_end() {
    let stage = Stage::new();
    let shown = stage.run("pwd; echo more; exit 4").unwrap();
    assert_eq!(shown.outcome, ActionOutcome::Failed);
    assert!(shown.text.starts_with(&stage.root.display().to_string()), "{}", shown.text);
    assert!(shown.text.ends_with("more\n[it ended with status 4]"), "{}", shown.text);
    assert_eq!(stage.run("true").unwrap().text, "[it ended well and wrote nothing]");
    let long = stage.run("seq 1 100000").unwrap().text;
    assert!(long.starts_with("1\n2\n") && long.ends_with("99999\n100000"), "{long:.40}");
    assert!(long.contains("left out") && long.len() < 32_000, "{}", long.len());
}

// TX15, B7: nothing of it lives on.
#[test]
fn a_command_has_an_end() {
    let set = Set { timeout: Duration::from_secs(2), ..Set::default() };
    let stage = Stage::with(&set);
    let shown = stage
        .call(
            "run_command",
            &json!({"command": "setsid sleep 600 & sleep 600", "timeout_seconds": 1}),
        )
        .unwrap();
    assert_eq!(shown.verdict.unwrap().code(), Code::OperationTimeout);
    let left = stage.run("sleep 600 & echo started").unwrap().text;
    assert_eq!(left, "started\n[a process it left behind was ended]");
}

#[test]
fn a_command_that_is_stopped_ends_and_is_no_fault() {
    let stage = Stage::new();
    let stop = CancellationToken::new();
    stop.cancel();
    let command = RunCommand { command: "sleep 600".to_owned(), timeout_seconds: None };
    let shown =
        block_on(stage.tools().perform_action(WorktreeAction::Run(command), &stop)).unwrap();
    assert_eq!(shown.verdict, None);
    assert_eq!(shown.text, "[it was stopped]");
}

#[test]
fn a_command_gets_what_is_on_the_list_and_nothing_else() {
    let set = Set {
        rules: CommandRules { environment: vec!["SHOP_*".to_owned()], ..CommandRules::default() },
        variables: vec![
            ("GITHUB_TOKEN", "canary-1"),
            ("ANTHROPIC_API_KEY", "canary-2"),
            ("SSH_AUTH_SOCK", "canary-3"),
            ("LC_ALL", "C"),
            ("SHOP_MODE", "night"),
        ],
        ..Set::default()
    };
    let stage = Stage::with(&set);
    let shown = stage.run("env").unwrap().text;
    assert!(!shown.contains("canary"), "{shown}");
    assert!(shown.contains("LC_ALL=C") && shown.contains("SHOP_MODE=night"), "{shown}");
    let variables = stage.tools().enforced_restrictions().variables;
    assert!(variables.contains(&"SHOP_MODE".to_owned()), "{variables:?}");
    assert!(!variables.contains(&"GITHUB_TOKEN".to_owned()), "{variables:?}");
}

// T4.18: before anything runs.
#[test]
fn a_blocked_command_does_not_run() {
    let rules = CommandRules { blocked: vec!["touch".to_owned()], ..CommandRules::default() };
    let stage = Stage::with(&Set { rules, ..Set::default() });
    for command in ["touch src/a", "echo x > src/a; touch src/b", "sh -c 'touch src/a'"] {
        let fault = stage.run(command).unwrap_err();
        assert_eq!(fault.code(), Code::PermissionCommandBlocked, "{command}");
    }
    assert!(!stage.root.join("src/a").exists(), "not even the part before it");
    assert_eq!(stage.run("rm -rf ~").unwrap_err().code(), Code::PermissionCommandBlocked);
}

// B16: seen in the line.
#[test]
fn what_cannot_be_taken_back_is_refused_with_the_way_that_is_open() {
    let stage = Stage::new();
    for (n, command) in ["git push origin main", "gh pr create --fill"].iter().enumerate() {
        let shown = stage.run(command).unwrap();
        assert_eq!((shown.outcome, shown.verdict), (ActionOutcome::Failed, None), "an observation");
        assert!(shown.text.contains("unstuck mutate"), "{}", shown.text);
        assert_eq!(stage.shims.count_refused(), n + 1);
    }
    let third = stage.run("cd src && npm publish").unwrap_err();
    assert_eq!(asked_about(&third), ("npm publish", &["npm publish".to_owned()][..], true));
    let push = stage.run("git push --tags").unwrap_err();
    assert_eq!(asked_about(&push), ("git push --tags", &[][..], true), "it cannot be declared");
}

/// What a person is asked about, what they can allow, and whether it cannot be undone.
fn asked_about(fault: &Fault) -> (&str, &[String], bool) {
    let Kind::PermissionCommandBlocked(asked) = &fault.kind else { panic!("{fault}") };
    (&asked.what, &asked.commands, asked.irreversible)
}

// B16: seen by the shims, where the line does not show it.
#[test]
fn a_script_that_would_publish_is_refused_as_well() {
    let stage = Stage::new();
    stage.put("src/release.sh", "git -c a.b=c push origin HEAD && gh pr create\n");
    stage.put("src/publish.sh", "npm --prefix x publish --tag y\n");
    let refused = stage.run("sh src/release.sh").unwrap();
    assert_eq!((refused.outcome, refused.verdict), (ActionOutcome::Failed, None));
    assert!(refused.text.contains("`git push`") && refused.text.contains("unstuck mutate"));
    assert_eq!(stage.shims.count_refused(), 1);
    assert!(stage.run("sh src/publish.sh").unwrap().text.contains("`npm publish`"));
    let third = stage.run("sh src/release.sh").unwrap_err();
    assert_eq!(asked_about(&third), ("sh src/release.sh", &[][..], true), "it cannot be declared");
}

// B16
#[test]
fn everything_else_reaches_the_real_program() {
    let stage = Stage::new();
    let script = "gh pr list --author 'a b'; npm test -- --push; git --version; git stash push -h";
    stage.put("src/x.sh", script);
    let shown = stage.run("sh src/x.sh").unwrap().text;
    assert!(shown.contains("the real gh: pr list --author a b"), "{shown}");
    assert!(shown.contains("the real npm: test -- --push"), "{shown}");
    assert!(shown.contains("git version"), "{shown}");
    assert_eq!(stage.shims.count_refused(), 0);
    let shims = stage.tools().enforced_restrictions().shims;
    assert!(["git", "gh", "npm"].iter().all(|name| shims.iter().any(|shim| shim == name)));
}

#[test]
fn without_a_network_nothing_is_reached_or_it_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let network = block_on(NetworkIsolation::for_rules(&CommandRules::default()));
    let stage = Stage::with(&Set { network, ..Set::default() });
    assert_eq!(stage.tools().enforced_restrictions().network, network);
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    let shown = stage.run(&format!("bash -c '{script}'")).unwrap().text;
    assert_eq!(shown.contains("reached"), !network.is_off(), "{network:?}: {shown}");
    assert_eq!(listener.accept().is_ok(), !network.is_off());
}

// B45: a fence of ours is no outage: nothing is waited for, and it is said what it was.
#[test]
fn what_fails_for_want_of_a_network_is_said_to_be_ours() {
    let network = block_on(NetworkIsolation::for_rules(&CommandRules::default()));
    let stage = Stage::with(&Set { network, ..Set::default() });
    for line in [
        "echo 'curl: (7) Failed to connect to example.org port 443: Connection refused' >&2; exit 7",
        "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6",
        "echo 'npm error network request to https://registry.npmjs.org failed, ECONNREFUSED' >&2; exit 1",
    ] {
        let shown = stage.run(line).unwrap();
        assert_eq!(shown.kept_from.is_some(), network.is_off(), "{line}: {shown:?}");
        assert_eq!(shown.verdict.is_none(), network.is_off(), "{line}: {shown:?}");
        assert_eq!(shown.text.contains("commands.network"), network.is_off(), "{shown:?}");
    }
    let red = stage.run("echo 'AssertionError: expected 5, got 4' >&2; exit 1").unwrap();
    assert_eq!(red.kept_from, None, "{red:?}");
}

#[test]
fn with_a_network_it_is_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let stage = Stage::new();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    let shown = stage.run(&format!("bash -c '{script}'")).unwrap().text;
    assert!(shown.contains("reached"), "{shown}");
    assert!(stage.run(LISTEN).unwrap().text.contains("listens"));
}

#[test]
fn landlock_refuses_to_listen_as_well() {
    let stage = Stage::with(&Set { network: NetworkIsolation::Landlock, ..Set::default() });
    let closed = Wall { network: Connections::Closed(Vec::new()), ..Wall::default() };
    let held = closed.try_out();
    let shown = stage.run(LISTEN).unwrap().text;
    // In a namespace of its own a command talks to itself.
    let listens = held.namespaces || held.network == EnforcementLevel::NotPossible;
    assert_eq!(shown.contains("listens"), listens, "{held:?}: {shown}");
}

#[test]
fn a_command_writes_inside_and_nowhere_else() {
    let stage = Stage::new();
    let (outside, shared) = (stage.beside("outside"), stage.beside("shared"));
    fs::write(&outside, "as it was").unwrap();
    let inside = format!(
        "echo a >src/new && mv src/new moved && echo b >{}/x && echo c >/dev/null && echo well",
        shared.display()
    );
    assert_eq!(stage.run(&inside).unwrap().text, "well");
    assert_eq!(
        (stage.get("moved"), fs::read_to_string(shared.join("x")).unwrap()),
        ("a\n".to_owned(), "b\n".to_owned())
    );
    let held = stage.tools().enforced_restrictions().held.files;
    if held != EnforcementLevel::Fully {
        return assert_ne!(held, EnforcementLevel::NotWanted);
    }
    let there = || {
        let entries = fs::read_dir(outside.parent().unwrap()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    let before = there();
    for line in [
        "echo x >$O",
        "echo x >>$O",
        "truncate -s 0 $O",
        "rm -f $O",
        "mv $O src/taken",
        "ln $O src/hard",
        "ln -s $O src/link; echo x >src/link",
        "mkdir $O.d",
        "cp src/a $O.copy",
        "mv moved $O.moved",
        "setsid sh -c \"echo x >$O\"",
    ] {
        stage.put("src/a", "a");
        let shown = stage.run(&format!("O={}; {line}", outside.display())).unwrap();
        assert_eq!(shown.outcome, ActionOutcome::Failed, "{line}: {}", shown.text);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "as it was", "{line}");
        assert_eq!(there(), before, "{line}");
    }
}

//! Green, red, and neither.

use std::time::Duration;

use unstuck_core::engine::RunId;
use unstuck_core::fault::{CheckStage, ClassifiedBy, Code, Fault, Kind};
use unstuck_world::scope::{PathScope, ScopeRules};
use unstuck_world::validate::{Baseline, GateChecks, GateVerdict};

use super::{ANY, checks, held, run};
use crate::support::block_on;
use crate::support::task_worktree::{NOW, Stage};

fn red(stage: &Stage, command: &str) -> Fault {
    match run(stage, &stage.fresh(), &checks(&[command]), &[], None) {
        GateVerdict::Red { fault, .. } => *fault,
        other => panic!("{command}: {other:?}"),
    }
}

#[test]
fn no_checks_are_not_green() {
    let stage = Stage::with(&[("a", "1")]);
    let verdict = run(&stage, &stage.fresh(), &checks(&[]), &[], None);
    assert!(matches!(verdict, GateVerdict::NothingToCheck));
}

#[test]
fn checks_run_in_the_worktree_until_one_is_red() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1"), (".gitignore", "ran\n")]);
    let verdict = run(&stage, &workspace, &checks(&["test -f a", "true"]), &[], None);
    let GateVerdict::Green(seen) = verdict else { panic!("{verdict:?}") };
    assert_eq!(seen.green, ["test -f a", "true"]);
    let verdict = run(&stage, &workspace, &checks(&["true", "exit 2", "touch ran"]), &[], None);
    let GateVerdict::Red { fault, seen } = verdict else { panic!("{verdict:?}") };
    assert_eq!((fault.source.as_str(), seen.green.len()), ("validate:pre_commit#2", 1));
    assert!(!workspace.directory().join("ran").exists());
}

// T4.25: command, exit code, output and phase.
#[test]
fn a_red_check_carries_its_facts() {
    let stage = Stage::with(&[("a", "1")]);
    let command = "echo assertion failed: 1 == 2; exit 3";
    let fault = red(&stage, command);
    let Kind::ValidationPreCommit(context) = &fault.kind else { panic!("{fault}") };
    assert_eq!((context.command.as_str(), context.exit), (command, Some(3)));
    assert_eq!(context.output, "assertion failed: 1 == 2");
    let workspace = stage.fresh();
    for (gate, code) in
        [(CheckStage::PrePush, Code::ValidationPrePush), (CheckStage::PrePr, Code::ValidationPrePr)]
    {
        let checks = GateChecks::new(gate, &["false".to_owned()], &[]).unwrap();
        let GateVerdict::Red { fault, .. } = run(&stage, &workspace, &checks, &[], None) else {
            panic!()
        };
        assert_eq!(fault.code(), code);
    }
}

// T4.25, B3: what is no verdict on the change has a code of its own, and a rejected login or an
// outage in a test none.
#[test]
fn each_end_has_its_code() {
    let stage = Stage::with(&[("a", "1")]);
    let table = [
        ("exit 1", Code::ValidationPreCommit),
        ("kill -SEGV $$", Code::ToolCrash),
        ("echo 'double free or corruption (out)'; kill -ABRT $$", Code::ToolCrash),
        ("echo 'a.c:3: main: Assertion failed'; kill -ABRT $$", Code::ValidationPreCommit),
        ("sh -c 'echo expected 5, got 4; kill -ABRT $$'; exit $?", Code::ValidationPreCommit),
        ("sh -c 'kill -KILL $$'; exit $?", Code::ToolCrash),
        ("echo 'curl: (7) Failed to connect: Connection refused' >&2; exit 7", Code::EnvConnection),
        // The machine has space.
        ("echo 'write error: No space left on device'; exit 1", Code::ValidationPreCommit),
        ("echo '401 Unauthorized: invalid credentials'; exit 1", Code::ValidationPreCommit),
        ("echo 'permission denied'; exit 1", Code::ValidationPreCommit),
        ("echo 'expected 200 got 500'; exit 1", Code::ValidationPreCommit),
        ("echo 'AssertionError: 503 != 200'; exit 1", Code::ValidationPreCommit),
        ("echo 'FAILED t.py::test_limit - rate limit exceeded'; exit 1", Code::ValidationPreCommit),
    ];
    for (command, code) in table {
        let fault = red(&stage, command);
        assert_eq!(fault.code(), code, "{command}");
        assert_eq!(fault.source, "validate:pre_commit#1");
        let by_rule = matches!(fault.classified_by, ClassifiedBy::Rule(_));
        assert_eq!(by_rule, matches!(code, Code::EnvConnection | Code::EnvDiskFull), "{command}");
    }
}

// B15: behind a pipe, the exit code is that of the last program; a runner's own summary counts more.
#[test]
fn a_pipe_hides_no_failed_tests() {
    let stage =
        Stage::with(&[("said", "FAILED t.py::test_a - assert 1 == 2\n1 failed in 0.02s\n")]);
    for command in ["(cat said; exit 1) | tail -3", "sh -c 'cat said | tee log'"] {
        let fault = red(&stage, command);
        assert_eq!(fault.code(), Code::ValidationPreCommit, "{command}");
        assert!(fault.message.contains("the last program in the pipe"), "{}", fault.message);
        let Kind::ValidationPreCommit(context) = &fault.kind else { panic!("{fault}") };
        assert!(context.output.contains("pipefail"), "{}", context.output);
    }
    for command in [
        "cat said",
        "cat said | grep -c failed",
        "echo 'ERROR: 2 uploads failed' | tee log",
        "bash -o pipefail -c 'cat said | tail -3'",
    ] {
        let verdict = run(&stage, &stage.fresh(), &checks(&[command]), &[], None);
        assert!(matches!(verdict, GateVerdict::Green(_)), "{command}: {verdict:?}");
    }
}

// B15: what earlier runs of a check have left does not make it red; by-products of tools stay.
#[test]
fn what_a_check_has_left_does_not_make_it_red() {
    let files = [
        ("a", "1"),
        ("out/kept", "1"),
        (".gitignore", "*.db\nnode_modules\n"),
        ("package.json", "{}"),
    ];
    let (stage, workspace) = Stage::with_worktree(&files);
    let scope = PathScope::new(&ScopeRules::default()).unwrap();
    let once = "mkdir -p node_modules && touch node_modules/x && mkdir new && echo 1 > new/log && set -C && \
                echo 1 > out/report && echo 1 > shop.db && grep -q 1 a";
    let checks = checks(&[once]);
    let at = (RunId(1), NOW);
    let shell = stage.shell();
    block_on(workspace.note_ignored_before_checks()).unwrap();
    let gates = [&checks];
    let measure = Baseline::measure(&workspace, (&gates, ANY), &shell);
    let base = block_on(workspace.watch_check(&[], at, measure)).unwrap().unwrap();
    assert!(workspace.directory().join("shop.db").exists());

    let run = || {
        let changes = block_on(workspace.list_changes()).unwrap();
        let ran = checks.run(&workspace, held(&scope), Some(&base), &shell, at);
        block_on(workspace.watch_check(&changes, at, ran)).unwrap().unwrap()
    };
    std::fs::write(workspace.directory().join("of-the-agent"), "2").unwrap();
    let GateVerdict::Green(seen) = run() else { panic!() };
    let left: Vec<&str> = seen.leftovers[once].iter().filter_map(|path| path.to_str()).collect();
    assert_eq!(left, ["new/log", "out/report", "shop.db"]);
    assert!(seen.flaky.is_empty() && seen.green.len() == 1);
    for kept in ["of-the-agent", "out/kept", "node_modules/x"] {
        assert!(workspace.directory().join(kept).exists(), "{kept}");
    }
    // A check that is red because of the work says so, and not what is in its way.
    std::fs::write(workspace.directory().join("a"), "2").unwrap();
    let GateVerdict::Red { fault, .. } = run() else { panic!() };
    let Kind::ValidationPreCommit(context) = &fault.kind else { panic!("{fault}") };
    assert!(!context.output.contains("exists"), "{}", context.output);
}

#[test]
fn a_check_that_hangs_or_crashes_only_with_the_change_is_red() {
    let stage = Stage::with(&[("a", "1")]);
    let table = [
        ("grep 1 a || sleep 1000", Some(Duration::from_millis(50)), "took longer than"),
        ("grep 1 a || kill -SEGV $$", None, "signal 11"),
    ];
    for (command, limit, said) in table {
        let workspace = stage.fresh();
        let mut shell = stage.shell();
        let scope = PathScope::new(&ScopeRules::default()).unwrap();
        let checks = checks(&[command]);
        let base = block_on(Baseline::measure(&workspace, (&[&checks], ANY), &shell)).unwrap();
        shell.timeout = limit.unwrap_or(shell.timeout);
        std::fs::write(workspace.directory().join("a"), "2").unwrap();
        let ran = checks.run(&workspace, held(&scope), Some(&base), &shell, (RunId(1), NOW));
        let Ok(GateVerdict::Red { fault, .. }) = block_on(ran) else { panic!() };
        assert_eq!(fault.code(), Code::ValidationPreCommit, "{command}");
        let Kind::ValidationPreCommit(context) = &fault.kind else { panic!() };
        assert!(context.output.contains(said), "{}", context.output);
        assert!(context.output.contains("without the change"), "{}", context.output);
    }
}

#[test]
fn a_check_that_takes_too_long_is_a_timeout() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    let mut shell = stage.shell();
    shell.timeout = Duration::from_millis(50);
    let scope = PathScope::new(&ScopeRules::default()).unwrap();
    let checks = checks(&["sleep 1000"]);
    let ran = checks.run(&workspace, held(&scope), None, &shell, (RunId(1), NOW));
    let Ok(GateVerdict::Red { fault, .. }) = block_on(ran) else { panic!() };
    assert_eq!(fault.code(), Code::OperationTimeout);
}

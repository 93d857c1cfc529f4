//! What was red before any agent worked.

use unstuck_core::fault::Code;
use unstuck_world::validate::{Baseline, BaselineRequirement, GateVerdict};

use super::{ANY, checks, run};
use crate::support::block_on;
use crate::support::task_worktree::{Stage, put};

const OLD: &str =
    "test ! -f old-bug || { echo \"error: expected 5, got $(cat old-bug)\"; exit 1; }";

// B15: what fails exactly as it did at the base is told apart from what fails in another way, and
// another value in the same message is another way.
#[test]
fn a_check_that_fails_as_at_the_base_is_told_from_one_that_fails_in_another_way() {
    let (stage, workspace) = Stage::with_worktree(&[("old-bug", "-1"), ("a", "1")]);
    let checks = checks(&["true", OLD]);
    let baseline =
        block_on(Baseline::measure(&workspace, (&[&checks], ANY), &stage.shell())).unwrap();
    let (command, red) = baseline.red_checks().next().unwrap();
    assert_eq!((command, red.exit, red.output.as_str()), (OLD, 1, "error: expected 5, got -1"));
    let stored = serde_json::to_vec(&baseline).unwrap();
    let baseline: Baseline = serde_json::from_slice(&stored).unwrap();

    put(&workspace, "a", "2");
    let verdict = run(&stage, &workspace, &checks, &[], Some(&baseline));
    let GateVerdict::Green(seen) = verdict else { panic!("{verdict:?}") };
    assert_eq!((seen.green.len(), seen.red_at_base.len()), (1, 1));
    assert_eq!(seen.red_at_base[0].command, OLD);

    put(&workspace, "old-bug", "6");
    let verdict = run(&stage, &workspace, &checks, &[], Some(&baseline));
    assert!(
        matches!(verdict, GateVerdict::Red { fault, .. } if fault.code() == Code::ValidationPreCommit)
    );
    // A worktree that an agent has worked in is no base.
    let late =
        block_on(Baseline::measure(&workspace, (&[&checks], ANY), &stage.shell())).unwrap_err();
    assert_eq!(late.code(), Code::PreconditionMissing);
}

// B15: a check that cannot run is never red as before; a person is asked before anything is spent.
#[test]
fn a_check_that_cannot_run_is_no_red_base() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    let cases = [
        ("no-such-program --all", "no-such-program"),
        ("python3 -m no_such_module", "no_such_module"),
        ("sh -c 'kill -SEGV $$'", "signal"),
        ("sh -c 'echo free: invalid pointer; kill -ABRT $$'", "signal"),
    ];
    for (command, named) in cases {
        let checks = checks(&[command]);
        let fault = block_on(Baseline::measure(&workspace, (&[&checks], ANY), &stage.shell()));
        let fault = fault.unwrap_err();
        assert_eq!(fault.code(), Code::PreconditionMissing, "{command}: {fault}");
        assert!(fault.message.contains(named), "{}", fault.message);
        // Without a base, after an agent has worked, it is no red check either.
        let verdict = run(&stage, &workspace, &checks, &[], None);
        let GateVerdict::Red { fault, .. } = verdict else { panic!("{verdict:?}") };
        assert_ne!(fault.code(), Code::ValidationPreCommit, "{command}");
    }
}

// B15: a part of the project that is not there is the work of a task that speaks of it; otherwise a
// person is asked, with the line to write.
#[test]
fn a_missing_part_of_the_project_is_the_work_or_a_question() {
    let files =
        [("Makefile", "test:\n\t@true\n"), ("closed.sh", "exit 0\n"), ("crlf.sh", "#!/bin/sh\r\n")];
    let (stage, workspace) = Stage::with_worktree(&files);
    let cases = [
        (
            "make tset",
            "write `pre_commit = [\"make test\"]` below [validate] in unstuck.toml",
            "tset",
        ),
        ("./scripts/check.sh", "there is no ./scripts/check.sh", "scripts/check.sh"),
        ("./closed.sh", "`pre_commit = [\"sh ./closed.sh\"]`", "closed.sh"),
        ("sh crlf.sh; exit 2", "ends in CRLF", "crlf.sh"),
    ];
    for (command, said, named) in cases {
        let checks = checks(&[command]);
        let measure = |words| {
            let wanted = BaselineRequirement { words, ..ANY };
            block_on(Baseline::measure(&workspace, (&[&checks], wanted), &stage.shell()))
        };
        let fault = measure("add a farewell").unwrap_err();
        assert_eq!(fault.code(), Code::PreconditionMissing, "{command}");
        let cause = fault.cause.as_deref().unwrap_or_default();
        assert!(cause.contains(said) && cause.contains(command), "{cause}");
        let base = measure(&format!("see to `{named}`")).unwrap();
        assert_eq!(base.red_checks().next().unwrap().0, command);
        // After the work it is a red check, and never one as before.
        let verdict = run(&stage, &workspace, &checks, &[], Some(&base));
        let GateVerdict::Red { fault, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(fault.code(), Code::ValidationPreCommit, "{command}");
    }
}

/// A check that is red once and then green on the same files is unreliable, not red.
#[test]
fn a_flaky_check_is_green_and_said_to_be_flaky() {
    let (stage, workspace) = Stage::with_worktree(&[("a", "1")]);
    let once = stage.repo.beside("was-here");
    let flaky = format!("test -f {0} || {{ touch {0}; exit 1; }}", once.display());
    let checks = checks(&[&flaky]);
    let verdict = run(&stage, &workspace, &checks, &[], None);
    let GateVerdict::Green(seen) = verdict else { panic!("{verdict:?}") };
    assert_eq!((seen.green, seen.flaky), (vec![flaky.clone()], vec![flaky]));
}

/// Ends as `how` says, with the words of `said`.
const TESTS: &str = "cat said; exit $(cat how)";
const TWO: &str = "test tests::adds ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; \
    0 measured; 0 filtered out; finished in 0.00s\n";
const ONE: &str = "test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; \
    finished in 0.00s\n";
const BOTH: &str = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
    finished in 0.00s\n";

// B15: a check that passes because the failed test does not run any more, or is not heeded, has not
// tested it.
#[test]
fn a_check_that_passes_without_what_failed_before_proves_less() {
    let proves_less = |(before, ended): (&str, &str), now: &str| {
        let stage = Stage::with(&[("said", before), ("how", ended)]);
        let workspace = stage.fresh();
        let checks = checks(&[TESTS]);
        let base =
            block_on(Baseline::measure(&workspace, (&[&checks], ANY), &stage.shell())).unwrap();
        put(&workspace, "said", now);
        put(&workspace, "how", "0");
        let verdict = run(&stage, &workspace, &checks, &[], Some(&base));
        let GateVerdict::Green(seen) = verdict else { panic!("{verdict:?}") };
        seen.proves_less.first().map(|fault| fault.message.clone())
    };
    let fewer = Some(format!("{TESTS} runs fewer tests than before the work"));
    let fails = Some(format!("{TESTS} ends with success although tests fail"));
    assert_eq!(proves_less((TWO, "1"), BOTH), None);
    assert_eq!(proves_less((TWO, "1"), ONE), fewer);
    assert_eq!(proves_less((TWO, "1"), "all is well\n"), fewer);
    assert_eq!(proves_less((TWO, "1"), TWO), fails);
    assert_eq!(proves_less((BOTH, "0"), BOTH), None);
    let green = Some(format!("`{TESTS}` passes with fewer tests than before: 1 instead of 2"));
    assert_eq!(proves_less((BOTH, "0"), ONE), green);
    // A runner that never says how many there were is believed.
    assert_eq!(proves_less(("ok\n", "0"), "fine\n"), None);
}

//! An action whose answer was lost: looked up, or asked about; never simply repeated.

use unstuck_core::question::QuestionKind;

use crate::program::OutputText as _;
use crate::project::Project;

/// Charges, then fails in the words of a lost connection at its first try.
const CHARGE: &str = "echo try >>tries; [ -f kept ] && { echo x >>charges; }; [ -f up ] && exit 0; \
                      touch up; echo 'curl: (56) Recv failure: Connection reset by peer' >&2; exit 56";

fn script(probe: &str) -> String {
    format!("unstuck mutate --key charge {probe} -- sh charge.sh; s=$?; echo $s >>ended; exit $s")
}

fn stage(charge: &str) -> Project {
    let stage = Project::new();
    std::fs::write(stage.path("charge.sh"), charge).unwrap();
    stage
}

// TX6, TX8: it got through, and the probe knows the receipt.
#[test]
fn a_probe_that_finds_it_settles_it() {
    let stage = stage(CHARGE);
    std::fs::write(stage.path("kept"), "").unwrap();
    let probe = "--probe '[ -s charges ] && echo found'";
    let ran = stage.run_exec(&["--name", "pay"], &script(probe));
    assert_eq!((ran.status.code(), ran.out().as_str()), (Some(0), "found\n"), "{}", ran.err());
    assert_eq!((stage.wrote("charges").as_str(), stage.wrote("ended").as_str()), ("x\n", "0\n"));
}

// TX6: it did not get through, and nothing is still on its way: the script hears that it failed.
#[test]
fn a_probe_that_finds_nothing_lets_it_be_tried_again() {
    let stage = stage(CHARGE);
    let probe = "--settle 0 --probe '[ -s charges ]'";
    stage.run_exec(&["--name", "pay"], &script(probe)).exits(0);
    assert_eq!(stage.wrote("ended"), "56\n0\n", "the retry of the script did it");
    assert_eq!(stage.wrote("tries"), "try\ntry\n");
}

// T3.12: without a probe, and with one that cannot tell.
#[test]
fn what_no_probe_can_tell_is_asked_when_the_script_has_ended() {
    for probe in ["", "--probe 'exit 9'"] {
        let stage = stage(CHARGE);
        let options = ["--name", "pay", "--max-wait", "0"];
        stage.run_exec(&options, &script(probe)).exits(3);
        assert_eq!(stage.wrote("ended"), "120\n");
        let question = stage.question();
        assert_eq!(question.kind, QuestionKind::Happened);
        let run = &stage.runs("pay")[0];
        assert_eq!(serde_json::to_value(run.status).unwrap(), "paused:reconciliation");
        assert!(stage.answer(&question, "it_happened").status.success());
        stage.run_exec(&options, &script(probe)).exits(0);
        assert_eq!(
            (stage.wrote("ended").as_str(), stage.wrote("tries").as_str()),
            ("120\n0\n", "try\n")
        );
    }
}

// T3.12: a probe that hangs cannot tell either; it is ended with the rest of its time.
#[test]
fn a_probe_that_hangs_is_ended_and_a_person_is_asked() {
    let probe = "--timeout 2s --probe 'echo look >>looks; exec sleep 1000'";
    let charge = "echo x >>charges; echo 'curl: (56) Recv failure: Connection reset by peer' >&2; \
                  exit 56";
    let stage = stage(charge);
    let options = ["--name", "pay", "--max-wait", "0"];
    for _ in 0..2 {
        stage.run_exec(&options, &script(probe)).exits(3);
    }
    assert_eq!((stage.wrote("ended").as_str(), stage.wrote("looks").as_str()), ("120\n", "look\n"));
    assert_eq!(stage.question().kind, QuestionKind::Happened);
    assert!(stage.answer(&stage.question(), "it_happened").status.success());
    stage.run_exec(&options, &script(probe)).exits(0);
    assert_eq!(stage.wrote("charges"), "x\n", "it is done once");
    assert!(stage.run_locks().is_empty());
}

// TX15: what takes too long is ended with all it has started.
#[test]
fn a_command_that_takes_too_long_is_gone_before_anybody_looks() {
    let charge =
        "setsid sh -c 'echo $$ >pid; exec sleep 1000' & while [ ! -s pid ]; do :; done; wait";
    let stage = stage(charge);
    let probe =
        "--timeout 1s --settle 0 --probe 'kill -0 $(cat pid) 2>alive && echo alive; exit 1'";
    let ran = stage.run_exec(&["--name", "pay", "--max-wait", "0"], &script(probe));
    assert_eq!(stage.wrote("ended").lines().next(), Some("124"), "{}", ran.err());
    assert!(stage.wrote("alive").contains("o such process"), "{}", stage.wrote("alive"));
}

// T3.12: a script that stops over an unknown outcome is healthy; it goes on from the answer.
#[test]
fn after_the_answer_the_script_goes_on_and_is_not_called_broken() {
    for (answer, tries) in [("it_happened", "try\n"), ("it_did_not", "try\ntry\n")] {
        let stage = stage("echo try >>tries; [ -f up ] && exit 0; touch up; kill -9 $$");
        let script = "set -e; unstuck mutate --key charge -- sh charge.sh; echo after >>after";
        let options = ["--name", "pay", "--max-wait", "0"];
        stage.run_exec(&options, script).exits(3);
        let question = stage.question();
        assert_eq!(question.kind, QuestionKind::Happened);
        assert!(stage.answer(&question, answer).status.success());
        let ran = stage.run_exec(&options, script);
        assert_eq!(ran.status.code(), Some(0), "{answer}: {}", ran.err());
        assert_eq!(stage.wrote("after"), "after\n", "{answer}");
        assert_eq!(stage.wrote("tries"), tries, "{answer}");
        assert_eq!(stage.questions().len(), 1, "nothing else was asked: {answer}");
    }
}

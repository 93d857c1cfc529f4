//! Inside a script: a key counts for good, or for one firing with all its retries.

use unstuck_core::fault::Code;
use unstuck_core::question::QuestionKind;

use crate::program::OutputText as _;
use crate::project::Project;

// TX8: a retry after an applied action sees the original result.
#[test]
fn a_retry_gets_what_came_back_the_first_time() {
    let stage = Project::new();
    let script = "r=$(unstuck mutate --key charge --scope firing -- sh -c 'echo x >>charges; echo receipt-$$'); \
                  echo $r >>receipts; [ -f up ] && exit 0; touch up; \
                  exec unstuck fail --code NETWORK_UNAVAILABLE";
    for firings in 1..=2 {
        stage.run_exec(&["--name", "pay"], script).exits(0);
        // The next firing is another occasion.
        assert_eq!(stage.wrote("charges"), "x\n".repeat(firings));
    }
    let receipts = stage.wrote("receipts");
    let receipts: Vec<&str> = receipts.lines().collect();
    assert_eq!(receipts.len(), 3);
    assert_eq!(receipts[0], receipts[1]);
    assert_ne!(receipts[1], receipts[2]);
}

// TX8
#[test]
fn a_key_is_used_up_for_good_unless_it_is_said_to_count_for_one_firing() {
    let stage = Project::new();
    let script = "unstuck mutate --key tell -- sh -c 'echo x >>told; echo told'";
    for _ in 0..2 {
        let ran = stage.run_exec(&["--name", "pay"], script);
        assert_eq!((ran.status.code(), ran.out().as_str()), (Some(0), "told\n"));
    }
    let outside = stage
        .unstuck(&["mutate", "--key", "tell", "--", "sh", "-c", "echo x >>told; echo told"])
        .output()
        .unwrap();
    assert_eq!((outside.status.code(), outside.out().as_str()), (Some(0), "told\n"));
    assert_eq!(stage.wrote("told"), "x\n");
}

// T3.12: the service acts and drops the line; the script dies of it, and nothing is sent again.
#[test]
fn a_charge_whose_line_was_dropped_is_made_once_and_asked_about() {
    let stage = Project::new();
    let script = "unstuck mutate --key pay -- sh -c 'echo x >>charges; exit 22' || exit 75";
    stage.run_exec(&["--name", "pay", "--max-wait", "0"], script).exits(3);
    assert_eq!(stage.wrote("charges"), "x\n");
    assert_eq!(stage.question().kind, QuestionKind::Happened);
}

// B18: a script that ends each time before its action is known not to have happened never gets it done.
#[test]
fn a_script_that_never_waits_for_its_action_is_asked_about() {
    let stage = Project::new();
    let script = "unstuck mutate --key pay --probe 'exit 1' --settle 1s --max-wait 0 -- \
                  sh -c 'echo x >>sent; exit 5' || exit 9";
    let said = stage.run_exec(&["--name", "pay", "--max-wait", "0"], script).exits(3).err();
    assert!(stage.wrote("sent").lines().count() <= 3);
    assert!(
        said.contains("ended again before it was known") || said.contains("did not happen"),
        "{said}"
    );
    assert!(!said.contains("tried to repair"), "{said}");
}

#[test]
fn the_other_side_can_recognise_the_same_action() {
    let stage = Project::new();
    let script = "send='echo $UNSTUCK_IDEMPOTENCY_KEY >>keys; [ -f up ]'; \
                  unstuck mutate --key a --not-done 1 -- sh -c \"$send\" || { touch up; unstuck mutate \
                  --key a -- sh -c \"$send\"; unstuck mutate --key b -- sh -c \"$send\"; }";
    assert_eq!(stage.run_exec(&["--name", "pay"], script).status.code(), Some(0));
    let keys = stage.wrote("keys");
    let keys: Vec<&str> = keys.lines().collect();
    assert!(keys[0].len() == 32 && keys[0] == keys[1] && keys[1] != keys[2], "{keys:?}");
}

#[test]
fn a_key_that_is_used_twice_is_refused_and_the_script_hears_it() {
    let stage = Project::new();
    let script = "unstuck mutate --key a -- echo one; unstuck mutate --key a -- echo two; \
                  echo \"status $?\"";
    let ran = stage.run_exec(&["--name", "pay"], script);
    assert_eq!(ran.out(), "one\nstatus 121\n", "{}", ran.err());
}

// B18: a child whose run is over has nothing to say any more.
#[test]
fn what_a_script_leaves_behind_does_nothing_for_it() {
    let stage = Project::new();
    let script = "echo \"$UNSTUCK_SOCKET $UNSTUCK_TOKEN\" >way";
    assert_eq!(stage.run_exec(&["--name", "pay"], script).status.code(), Some(0));
    stage.fifo("up");
    stage.fifo("go");
    let other = stage.start_exec(&["--name", "other"], "echo >up; read line <go");
    stage.hear("up");
    let way = stage.wrote("way");
    let (socket, token) = way.trim().split_once(' ').unwrap();
    for (args, status) in [
        (&["mutate", "--key", "k", "--", "touch", "done"][..], 121),
        (&["fail", "--code", "AUTH_EXPIRED"][..], 77),
    ] {
        let mut late = stage.unstuck(args);
        let late = late.env("UNSTUCK_SOCKET", socket).env("UNSTUCK_TOKEN", token).output().unwrap();
        assert_eq!(late.status.code(), Some(status), "{}", late.err());
        assert!(late.err().contains("has ended"), "{}", late.err());
    }
    assert!(!stage.path("done").exists());
    stage.let_go("go");
    assert_eq!(other.wait().code(), Some(0));
}

// T3.3: acting in a phase that reads or decides is a violation, and nothing happens.
#[test]
fn a_script_acts_only_in_the_phase_that_acts() {
    for (phase, status) in [("read", 3), ("decide", 3), ("act", 0)] {
        let stage = Project::new();
        let options = ["--name", "pay", "--phase", phase, "--max-wait", "0"];
        let ran = stage.run_exec(&options, "unstuck mutate --key k -- touch done || true");
        assert_eq!(ran.status.code(), Some(status), "{phase}: {}", ran.err());
        assert_eq!(stage.path("done").exists(), status == 0, "{phase}");
        if status == 3 {
            let question = stage.question();
            assert_eq!(question.code, Some(Code::LogicPhaseViolation));
            assert!(question.evidence.command.is_some_and(|command| command.contains("mutate")));
            assert!(ran.err().contains("only the phase"), "{}", ran.err());
        }
    }
}

//! A script whose own code is broken: an agent repairs it within its fence, or a person is asked.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

use rustix::process::Signal;
use unstuck_core::fault::Code;

use super::broken::{CHECK, SCRIPT, Shop, right, writes};
use crate::program::OutputText as _;
use crate::project::Project;

// After something irreversible was done, a changed script might do the rest differently.
#[test]
fn after_an_action_a_repair_is_only_proposed() {
    let shop = Shop::new(&[&right()]);
    let acts = "unstuck mutate --key pay -- sh -c 'echo x >>paid.txt' || exit 9\n";
    fs::write(shop.0.path("sync.sh"), format!("{acts}{SCRIPT}")).unwrap();
    shop.commit("pay first");
    let question = shop.asks(&[]);
    assert_eq!(shop.log(), ["pay first", "first"]);
    assert!(shop.branches().contains("unstuck/repair/job"), "{}", shop.branches());
    assert_eq!(shop.0.wrote("paid.txt"), "x\n");
    // A person takes it over, and the rest runs; what was paid stays paid.
    shop.git(&["merge", "--quiet", "unstuck/repair/job"]);
    let first = question.text.options[0].value;
    assert!(shop.0.answer(&question, first.as_str()).status.success());
    shop.run(&["--max-wait", "0"]).exits(0);
    assert_eq!(
        (shop.0.wrote("paid.txt").as_str(), shop.0.wrote("done.txt").as_str()),
        ("x\n", "12\n")
    );
}

// T3.11: what no rule knows is the script's own fault, and calls for a repair.
#[test]
fn a_renamed_field_is_repaired_committed_and_the_script_runs_again() {
    let shop = Shop::new(&[&right()]);
    let ran = shop.run(&[]);
    shop.is_repaired(&ran);
    assert_eq!(shop.faults(), [Code::LogicError]);
    let said = ran.err();
    assert!(said.contains("Repairing"), "{said}");
    let message = shop.git(&["log", "-1", "--format=%B%n%an"]);
    assert!(message.contains("It failed with LOGIC_ERROR: KeyError: 'total'"), "{message}");
    assert!(message.contains("Changed: sync.sh") && message.ends_with("Ada"), "{message}");
    // The next firing has nothing to repair.
    assert_eq!(shop.run(&[]).status.code(), Some(0));
    assert_eq!(shop.0.wrote("done.txt"), "12\n12\n");
    assert_eq!(shop.log().len(), 2);
}

#[test]
fn a_repair_that_does_not_pass_is_followed_by_another_one() {
    let shop = Shop::new(&[&writes("sum"), &right()]);
    shop.is_repaired(&shop.run(&[]));
    assert_eq!(shop.faults(), [Code::LogicError, Code::ValidationPreCommit]);
}

// T3.11: a repair that passes the check and still fails is no success.
#[test]
fn a_repair_that_passes_the_check_and_does_not_help_is_repaired_again() {
    let useless = writes("total").replace("exit 1", "exit 1 # amount=");
    let shop = Shop::new(&[&useless, &right()]);
    shop.run(&[]).exits(0);
    assert_eq!(shop.faults(), [Code::LogicError, Code::LogicError]);
    assert_eq!(shop.log().len(), 3);
    assert_eq!(shop.0.wrote("done.txt"), "12\n");
}

#[test]
fn what_lies_outside_the_fence_is_taken_back_and_counts_as_failed() {
    let rows = [
        (r#"{ write = "notes.txt", text = "theirs\n" }"#, Code::ScopeOutsideAllowed),
        // A check that is loosened passes nothing.
        (r#"{ write = "check.sh", text = "exit 0\n" }"#, Code::ScopeOutsideAllowed),
        (r#"{ write = "unstuck.toml", text = "" }"#, Code::ScopeForbidden),
        (r#"{ write = ".github/workflows/a.yml", text = "" }"#, Code::ScopeForbidden),
        (r#"{ run = "chmod +x sync.sh" }"#, Code::ScopeForbidden),
        (r#"{ say = "There is nothing to do." }"#, Code::LogicNoProgress),
    ];
    for (steps, code) in rows {
        let wrong = match code {
            Code::LogicNoProgress => steps.to_owned(),
            _ => format!("{}, {steps}", right()),
        };
        let shop = Shop::new(&[&wrong, &right()]);
        shop.is_repaired(&shop.run(&[]));
        assert_eq!(shop.faults(), [Code::LogicError, code], "{steps}");
        assert_eq!(shop.git(&["diff", "--name-only", "HEAD~1"]), "sync.sh", "{steps}");
        let mode = fs::metadata(shop.0.path("sync.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0, "{steps}");
    }
}

// T3.8
#[test]
fn when_the_repairs_are_used_up_a_person_is_asked_and_reads_what_was_tried() {
    let loosens = r#"{ write = "check.sh", text = "exit 0\n" }"#;
    let nothing = r#"{ say = "I see nothing wrong." }"#;
    let shop = Shop::new(&[&writes("sum"), nothing, loosens]);
    let question = shop.asks(&[]);
    let tried = [Code::ValidationPreCommit, Code::LogicNoProgress, Code::ScopeOutsideAllowed];
    assert_eq!(shop.faults(), [&[Code::LogicError], &tried[..]].concat());
    assert!(question.operator_text.starts_with("Repair budget exhausted (3)"), "{question:?}");
    assert_eq!(question.text.attempts.len(), 3, "{question:?}");
    assert!(question.text.problem.contains("I tried to repair it three times"), "{question:?}");
    // Nothing is in use, and no further repair begins until a person answers.
    assert_eq!((shop.log(), shop.0.wrote("check.sh")), (vec!["first".to_owned()], CHECK.into()));
    assert_eq!(shop.run(&["--max-wait", "0"]).status.code(), Some(3));
    assert_eq!(shop.faults().len(), 4);
    // A hint gives a fresh set of repairs.
    fs::write(shop.0.path("agent.toml"), format!("[[attempt]]\nsteps = [{}]\n", right())).unwrap();
    let id = question.id.to_string();
    let hint = ["inbox", "answer", &id, "provide_guidance", "--guidance", "It is amount now."];
    let answered = shop.0.unstuck(&hint).output().unwrap();
    assert!(answered.status.success(), "{}", answered.err());
    shop.run(&[]).exits(0);
    assert_eq!(shop.log()[0], "Repair job: Read the field by its new name");
}

#[test]
fn a_proposed_repair_leaves_the_tree_alone_until_a_person_takes_it_over() {
    let shop = Shop::new(&[&right()]);
    let ran = shop.run(&["--repair=propose", "--max-wait", "0"]).exits(3);
    assert!(ran.err().contains("git merge unstuck/repair/job"), "{}", ran.err());
    let question = shop.0.question();
    assert_eq!(shop.log(), ["first"]);
    assert_eq!(shop.0.wrote("sync.sh"), SCRIPT);
    assert_eq!(shop.branches(), "main\nunstuck/repair/job");
    assert!(question.operator_text.contains("unstuck/repair/job"), "{question:?}");
    assert!(question.text.problem.contains("prepared a repair"), "{question:?}");
    shop.git(&["merge", "--quiet", "unstuck/repair/job"]);
    let answered = shop.0.answer(&question, "provide_credentials");
    assert!(answered.status.success(), "{}", answered.err());
    shop.run(&["--repair=propose"]).exits(0);
    assert_eq!(shop.0.wrote("done.txt"), "12\n");
}

#[test]
fn what_a_person_has_not_committed_is_not_touched() {
    let shop = Shop::new(&[&right()]);
    let own = format!("# mine\n{SCRIPT}");
    fs::write(shop.0.path("sync.sh"), &own).unwrap();
    let question = shop.asks(&[]);
    assert!(question.operator_text.contains("unstuck/repair/job"), "{question:?}");
    assert_eq!((shop.0.wrote("sync.sh"), shop.log()), (own, vec!["first".to_owned()]));
}

#[test]
fn changes_in_other_files_are_not_in_the_way() {
    let shop = Shop::new(&[&right()]);
    fs::write(shop.0.path("notes.txt"), "not finished\n").unwrap();
    shop.run(&[]).exits(0);
    assert_eq!(shop.0.wrote("notes.txt"), "not finished\n");
    assert_eq!(shop.git(&["status", "--porcelain"]), " M notes.txt");
    assert_eq!(shop.log().len(), 2);
}

/// A step that says that it is there, and waits.
fn waits(shop: &Project) -> String {
    let (up, go) = (shop.path("up"), shop.path("go"));
    format!("{{ run = \"echo >{}; read line <{}\" }}, ", up.display(), go.display())
}

#[test]
fn a_repair_is_checked_again_on_what_the_person_committed_meanwhile() {
    let shop = Shop::new(&[]);
    let steps = format!("[[attempt]]\nsteps = [{}{}]\n", waits(&shop.0), right());
    fs::write(shop.0.path("agent.toml"), steps).unwrap();
    shop.commit("agent");
    shop.0.fifos(&["up", "go"]);
    let mut exec = shop.exec(&[]).process_group(0).spawn().unwrap();
    shop.0.hear("up");
    fs::write(shop.0.path("notes.txt"), "more\n").unwrap();
    shop.git(&["commit", "--quiet", "--all", "--message=meanwhile"]);
    shop.0.let_go("go");
    assert_eq!(exec.wait().unwrap().code(), Some(0));
    let titles = ["Repair job: Read the field by its new name", "meanwhile", "agent", "first"];
    assert_eq!(shop.log(), titles);
    assert_eq!(shop.0.wrote("notes.txt"), "more\n");
}

#[test]
fn a_guest_has_its_script_repaired_as_well() {
    let shop = Shop::new(&[&right()]);
    shop.0.fifos(&["up", "go"]);
    let other = shop.0.start_exec(&["--name", "other"], "echo >up; read line <go");
    shop.0.hear("up");
    let ran = shop.run(&[]);
    shop.0.let_go("go");
    assert_eq!(other.wait().code(), Some(0));
    for fifo in ["up", "go"] {
        fs::remove_file(shop.0.path(fifo)).unwrap();
    }
    shop.is_repaired(&ran);
}

// B13: a process that is killed in the middle of a repair leaves nothing running, and it goes on.
#[test]
fn a_repair_goes_on_after_a_kill_and_is_committed_once() {
    let shop = Shop::new(&[]);
    let steps = format!("[[attempt]]\nsteps = [{}{}]\n", waits(&shop.0), right());
    fs::write(shop.0.path("agent.toml"), steps).unwrap();
    shop.commit("agent");
    shop.0.fifos(&["up", "go"]);
    let mut exec = shop.exec(&[]).process_group(0).spawn().unwrap();
    shop.0.hear("up");
    rustix::process::kill_process(rustix::process::Pid::from_child(&exec), Signal::KILL).unwrap();
    assert_eq!(exec.wait().unwrap().signal(), Some(9));
    let mut exec = shop.exec(&[]).process_group(0).spawn().unwrap();
    shop.0.hear("up");
    shop.0.let_go("go");
    assert_eq!(exec.wait().unwrap().code(), Some(0));
    assert_eq!(shop.log(), ["Repair job: Read the field by its new name", "agent", "first"]);
    assert_eq!(shop.0.wrote("done.txt"), "12\n");
    assert_eq!(shop.0.job("job").moved.firing, 1);
    assert_eq!(shop.0.crashes(), [false]);
}

#[test]
fn without_a_fence_or_an_agent_a_person_is_asked_at_once() {
    let shop = Shop::new(&[&right()]);
    let question = shop.asks(&["--repair=off"]);
    assert!(question.text.problem.contains("No repairs are set up for it"), "{question:?}");
    // A line of shell names no file.
    let shop = Shop::new(&[&right()]);
    let script = "echo \"KeyError: 'total'\" >&2; exit 1";
    let mut exec = shop.0.exec(&["--name", "job", "--max-wait", "0", "--repair"], script);
    let ran = exec.env("HOME", shop.0.path("")).output().unwrap().exits(3);
    assert!(ran.err().contains("names no file of this project"), "{}", ran.err());
    assert_eq!(shop.faults(), [Code::LogicError]);
    assert_eq!(shop.log(), ["first"]);
}

//! Jobs whose own code is broken: what a repair has to pass, and when it is only proposed.

use std::fs;

use unstuck_core::fault::Code;

use crate::exec::broken::{SCRIPT, Shop, right, writes};
use crate::program::OutputText as _;

/// The script itself, which is to change nothing outside when it is only tried.
const DRY_RUN: &str = "dry_run = 'echo \"dry $UNSTUCK_DRY_RUN\" >&2; sh sync.sh'";

/// A repair that the check accepts and that does not help.
fn useless() -> String {
    writes("total").replace("sum=$(", r"# amount=\nsum=$(")
}

#[test]
fn a_repair_whose_dry_run_fails_is_not_committed_and_another_one_is_tried() {
    let shop = Shop::job(DRY_RUN, &[&useless(), &right()]);
    let ran = shop.run_job();
    shop.is_repaired(&ran);
    assert_eq!(shop.faults(), [Code::LogicError, Code::ValidationPreCommit]);
}

#[test]
fn when_no_repair_passes_its_dry_run_a_person_is_asked_and_nothing_is_changed() {
    let keys = format!("{DRY_RUN}\nrepair = {{ attempts = 2 }}");
    let shop = Shop::job(&keys, &[&useless(), &useless().replace("KeyError", "No such key")]);
    shop.run_job().exits(3);
    let question = shop.0.question();
    assert!(question.operator_text.starts_with("Repair budget exhausted (2)"), "{question:?}");
    let tried = "Repair 1: “changed sync.sh”. It changed one file and a check failed.";
    assert_eq!(question.text.attempts[0], tried);
    let failure = format!("{:?}", shop.0.job("job").moved.failure);
    assert!(failure.contains("dry 1"), "it knows that it is only tried: {failure}");
    assert_eq!(shop.log(), ["first"]);
    assert_eq!((shop.0.wrote("sync.sh").as_str(), shop.0.wrote("done.txt").as_str()), (SCRIPT, ""));
}

/// A job that pays before it breaks.
fn pays(keys: &str) -> Shop {
    let shop = Shop::job(keys, &[]);
    let acts = "unstuck mutate --key pay -- sh -c 'echo x >>paid.txt' || exit 9\n";
    let script = |name: &str| format!("{acts}{}", SCRIPT.replace("total", name));
    fs::write(shop.0.path("sync.sh"), script("total")).unwrap();
    let step = serde_json::to_string(&script("amount")).unwrap();
    let agent = format!("[[attempt]]\nsteps = [{{ write = \"sync.sh\", text = {step} }}]\n");
    fs::write(shop.0.path("agent.toml"), agent).unwrap();
    fs::write(shop.0.path(".gitignore"), "done.txt\npaid.txt\n").unwrap();
    shop.commit("pay first");
    shop
}

#[test]
fn after_an_action_the_repair_of_a_job_waits_on_a_branch() {
    let shop = pays("");
    shop.run_job().exits(3);
    assert_eq!(shop.log(), ["pay first", "first"]);
    assert_eq!(shop.branches(), "main\nunstuck/repair/job");
    let question = shop.0.question();
    assert!(question.text.problem.contains("prepared a repair"), "{question:?}");
    assert_eq!((shop.0.wrote("paid.txt").as_str(), shop.0.wrote("done.txt").as_str()), ("x\n", ""));
}

#[test]
fn a_job_may_have_its_repair_used_even_after_an_action() {
    let shop = pays("repair = { after_mutation = true }");
    shop.run_job().exits(0);
    assert_eq!((shop.log().len(), shop.branches().as_str()), (3, "main"));
    let wrote = (shop.0.wrote("paid.txt"), shop.0.wrote("done.txt"));
    assert_eq!((wrote.0.as_str(), wrote.1.as_str()), ("x\n", "12\n"), "it is paid for once");
}

//! A change of an agent outside its fence is found, taken back and kept, however it was done.

use std::fs;

use unstuck_core::fault::{Code, Kind};
use unstuck_testkit::stage::TestRepo;
use unstuck_world::process::{EnforcementLevel, Wall};

use crate::build::build_project::{Set, Stage};
use crate::build::scripts::{Job, run, say, write};

// B5, T4.12
#[tokio::test]
async fn every_way_out_of_the_fence_is_found_and_taken_back() {
    let repo = TestRepo::with(&[("src/a.rs", "a\n"), ("README", "read\n"), ("LICENSE", "free\n")]);
    let out = [
        write("src/a.rs", "changed\n"),
        run("echo shell > shell.txt"),
        run("echo committed > committed.txt; git add committed.txt; git commit -qm sneaky"),
        run("ln -s /etc/passwd link"),
        run("git mv README src/README"),
        run("rm LICENSE"),
    ];
    let job = Job::new("a", [&out, &[run("test -e LICENSE && echo back > src/back")]]);
    let stage = Stage::build(repo, vec![job.allowed(&["src/**"])]).await;
    stage.done().await;
    let faults = stage.faults().await;
    assert_eq!(faults.len(), 1, "{faults:?}");
    let Kind::ScopeOutsideAllowed(files) = &faults[0].kind else { panic!("{:?}", faults[0]) };
    let mut found = files.files.clone();
    found.sort();
    assert_eq!(found, ["LICENSE", "README", "committed.txt", "link", "shell.txt"]);
    let patch = files.patch.as_deref().unwrap();
    let kept = fs::read_to_string(patch).unwrap();
    for part in ["+committed", "+shell", "-free", "-read", "+/etc/passwd"] {
        assert!(kept.contains(part), "{part} is not in {kept}");
    }
    let prompt = &stage.assignments("a")[1].prompt;
    assert!(prompt.contains("outside your scope were taken back"), "{prompt}");
    assert!(prompt.contains(patch), "{prompt}");
    let branch = Stage::branch();
    assert_eq!(stage.repo.files_changed_by(&branch), ["src/README", "src/a.rs", "src/back"]);
}

#[tokio::test]
async fn what_the_machine_keeps_agents_from_is_said_once() {
    let jobs = ["a", "b"].map(|name| Job::new(name, [&[say("I begin.")]]));
    let set = Set { says_walls: true, ..Set::default() };
    let stage = Stage::with(set, TestRepo::with(&[]), jobs.into()).await;
    stage.done().await;
    let wall = Wall { writable: Some(Vec::new()), ..Wall::default() };
    let words = match wall.try_out().files {
        EnforcementLevel::NotPossible | EnforcementLevel::NotWanted => {
            "This machine cannot keep agents from writing outside"
        }
        EnforcementLevel::Fully | EnforcementLevel::Partly => "Agents cannot write outside",
    };
    let said = stage.narrations().await;
    let about = said.iter().filter(|text| text.starts_with(words));
    assert_eq!(about.count(), 1, "{said:?}");
    assert_eq!(said.len(), 3, "{said:?}");
}

// T4.12: what must not be changed weighs more than what is only outside.
#[tokio::test]
async fn a_forbidden_change_is_taken_back_and_charged() {
    let mut job = Job::new("a", [&[write("secret.key", "x\n")], &[write("fine.txt", "x\n")]]);
    job.rules.forbidden = vec!["*.key".to_owned()];
    let stage = Stage::build(TestRepo::with(&[]), vec![job]).await;
    stage.done().await;
    let faults = stage.faults().await;
    assert_eq!(faults[0].code(), Code::ScopeForbidden);
    let signature = faults[0].signature;
    let counted = stage.look(move |state| state.signatures().count(signature)).await;
    assert_eq!(counted, 0, "it was given back when the task got past it");
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["fine.txt"]);
}

// B31: inside the fence or not
#[tokio::test]
async fn what_a_check_leaves_is_no_change_of_the_agent() {
    let job = Job::new("a", [&[write("src/a", "x\n")]]).allowed(&["src/**"]);
    let job = job.checked("echo log > check.log; echo made > src/made");
    let stage = Stage::build(TestRepo::with(&[]), vec![job]).await;
    stage.done().await;
    assert_eq!(stage.faults().await.len(), 0);
    assert_eq!(stage.repo.files_changed_by(&Stage::branch()), ["src/a"]);
}

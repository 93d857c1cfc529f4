//! A secret that an agent may use reaches no place that is kept.

use unstuck_core::fault::{Code, Kind};
use unstuck_testkit::stage::TestRepo;

use crate::build::build_project::{CANARY, Stage};
use crate::build::scripts::{Job, fail, run, say, write};

// B9, TX16
#[tokio::test]
async fn a_secret_in_environment_output_words_and_change_is_in_no_event() {
    let leaks = [
        say(&format!("The key is {CANARY}.")),
        run("echo $CANARY; echo error: $CANARY >&2; exit 1"),
        write(&format!("{CANARY}.txt"), "x\n"),
        write("key.txt", &format!("key = {CANARY}\n")),
    ];
    let clean = [run(&format!("rm -f key.txt {CANARY}.txt")), write("page", "x\n")];
    let failing = [fail("PROVIDER_CRASH").replace("said so", CANARY), write("b", "b\n")];
    let check = "test ! -e key.txt || { echo \"error: $CANARY is refused\" >&2; exit 1; }";
    let jobs = vec![Job::new("a", [&leaks, &clean]).checked(check), Job::new("b", [&failing])];
    let stage = Stage::build(TestRepo::with(&[]), jobs).await;
    stage.done().await;
    let journal = serde_json::to_string(&stage.events().await).unwrap();
    assert!(journal.contains("[redacted]"), "nothing was redacted, so nothing was proved");
    assert!(!journal.contains(CANARY));
    let prompt = &stage.assignments("a")[1].prompt;
    assert!(prompt.contains("is refused") && !prompt.contains(CANARY), "{prompt}");
    let log = stage.repo.git(["log", "-p", &Stage::branch()]);
    assert!(!log.contains(CANARY));
}

// B9
#[tokio::test]
async fn a_change_with_a_secret_is_not_committed() {
    let leak = [write("config", &format!("one\nkey = {CANARY}\n"))];
    let clean = [write("config", "one\nkey = from the environment\n")];
    let stage = Stage::build(TestRepo::with(&[]), vec![Job::new("a", [&leak, &clean])]).await;
    stage.done().await;
    let faults = stage.faults().await;
    assert_eq!(faults[0].code(), Code::ValidationPreCommit);
    let Kind::ValidationPreCommit(found) = &faults[0].kind else { panic!("{faults:?}") };
    assert!(found.output.starts_with("config:2:"), "{found:?}");
    assert!(!stage.repo.git(["log", "-p", &Stage::branch()]).contains(CANARY));
}

//! What a repair has to pass before it is used.

use unstuck_core::fault::Code;

use crate::repair::broken_job::{CANARY, Job, Stage};

/// Fails until it says that all is good.
const BROKEN: &str = "echo \"KeyError: 'total'\" >&2\nexit 1\n";
const RIGHT: &str = r#"{ write = "run.sh", text = "echo good\n" }"#;

fn job(repairs: &[&str]) -> Job {
    Job {
        script: BROKEN,
        repairs: repairs.iter().map(|&steps| steps.to_owned()).collect(),
        scope: vec!["**"],
        proof: vec!["sh check.sh"],
        protect: vec!["check.sh"],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_is_loosened_is_put_back_even_where_the_scope_names_it() {
    let loosens =
        r#"{ write = "check.sh", text = "exit 0\n" }, { write = "run.sh", text = ":\n" }"#;
    let stage = Stage::new(job(&[loosens, RIGHT])).await;
    stage.fire().await;
    stage.over().await.unwrap();
    assert_eq!(stage.fault_codes().await, [Code::LogicError, Code::ValidationPreCommit]);
    assert_eq!(stage.repo.files_changed_by("main"), ["run.sh"]);
    assert_eq!(stage.repo.subjects("main").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_is_told_that_it_is_one_and_has_to_pass() {
    let proof = vec!["test \"$UNSTUCK_DRY_RUN\" = 1", "sh run.sh"];
    let still = r#"{ write = "run.sh", text = "exit 3\n" }"#;
    let stage = Stage::new(Job { proof, ..job(&[still, RIGHT]) }).await;
    stage.fire().await;
    stage.over().await.unwrap();
    assert_eq!(stage.fault_codes().await, [Code::LogicError, Code::ValidationPreCommit]);
}

// TX16
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_with_a_secret_in_it_is_not_committed() {
    let leaks = format!(r#"{{ write = "run.sh", text = "echo good {CANARY}\n" }}"#);
    let stage = Stage::new(job(&[&leaks, RIGHT])).await;
    stage.fire().await;
    stage.over().await.unwrap();
    assert_eq!(stage.fault_codes().await, [Code::LogicError, Code::ValidationPreCommit]);
    assert_eq!(stage.repo.file_at("main", "run.sh").unwrap(), "echo good");
    assert!(!stage.repo.git(["log", "-p", "main"]).contains(CANARY));
}

//! A repair that is ordered once more: its result was lost with the process that had it.

use unstuck_core::engine::EffectOutcome;

use crate::repair::broken_job::{Job, Stage};

fn job() -> Job {
    Job {
        script: "exit 1\n",
        repairs: vec![r#"{ run = "echo good >>run.sh" }"#.to_owned()],
        scope: vec!["run.sh"],
        proof: vec!["sh check.sh"],
        protect: vec![],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_that_is_in_use_is_neither_made_nor_committed_again() {
    let stage = Stage::new(job()).await;
    let mut heads = Vec::new();
    for run in [1, 2] {
        // Another process each time.
        let world = stage.world().await;
        let outcome = stage.perform(&world, run).await.outcome;
        assert!(matches!(outcome, EffectOutcome::Repaired { branch: None, .. }), "{outcome:?}");
        heads.push(stage.repo.git(["rev-parse", "HEAD"]));
    }
    assert_eq!(heads[0], heads[1]);
    assert_eq!(stage.repo.file_at("main", "run.sh").unwrap(), "exit 1\ngood");
    assert_eq!(stage.repo.subjects("main").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_that_is_proposed_stays_on_its_one_branch() {
    let stage = Stage::new(job()).await;
    stage.repo.write("run.sh", "not finished\n");
    let in_hand = stage.repo.checkout_state();
    for run in [1, 2] {
        let world = stage.world().await;
        let outcome = stage.perform(&world, run).await.outcome;
        let EffectOutcome::Repaired { branch: Some(branch), .. } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(&*branch, "unstuck/repair/nightly");
    }
    let refs = stage.repo.git(["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(refs, "main\nunstuck/repair/nightly");
    assert_eq!(stage.repo.checkout_state(), in_hand);
}

//! `unstuck clean`: what a build that is over has left behind, on a real repository.

use std::fs;
use std::sync::Arc;

use unstuck_core::engine::{BuildId, Command, RunId, Start, TaskId};
use unstuck_core::plan::Plan;
use unstuck_core::time::Time;
use unstuck_testkit::stage::{commit_all, make_tasks};
use unstuck_world::process::Wall;
use unstuck_world::workspace::{
    ProjectRepository, Shell, Workspace, WorkspaceKey, WorkspacePreparation,
};

use crate::program::{Ran, SEARCH_PATH, finish, own_guard, unstuck};
use crate::shop::Shop;

const BUILD: BuildId = BuildId(0);
const DONE: WorkspaceKey = WorkspaceKey { build: BUILD, task: TaskId(0) };
const CHANGED: WorkspaceKey = WorkspaceKey { build: BUILD, task: TaskId(1) };

/// A build that is over, with one unchanged worktree and one with a change.
struct Left(Shop);

impl Left {
    fn new() -> Self {
        let left = Self(Shop::new());
        left.0.init_repository();
        fs::write(left.0.root().join("a.txt"), "1\n").unwrap();
        commit_all(left.0.root(), "First");
        left.0.finish_build(&["notes", "importing"]);
        left.worktree(DONE);
        let changed = left.worktree(CHANGED);
        fs::write(changed.directory().join("a.txt"), "half done\n").unwrap();
        left
    }

    fn worktree(&self, place: WorkspaceKey) -> Workspace {
        let shell = Shell {
            guard: own_guard(),
            lock: self.0.root().join(".unstuck/lock"),
            inherits_environment: true,
            environment: Vec::new(),
            timeout: std::time::Duration::from_mins(1),
            wall: Wall::default(),
        };
        self.0.runtime.block_on(async {
            let project = ProjectRepository::open("git", self.0.root()).await.unwrap();
            let start = project.resolve_head().await.unwrap();
            let head = project.ensure_build_head(place.build, &start).await.unwrap();
            let wanted = WorkspacePreparation {
                place,
                run: RunId(u64::from(place.task.0)),
                start: Start::Fresh,
                head,
                share: Vec::new(),
                setup: Vec::new(),
                in_place: false,
                now: Time::EPOCH,
            };
            Workspace::prepare(&project, &wanted, &shell).await.unwrap()
        })
    }

    fn git(&self, args: &[&str]) -> String {
        self.0.git(args)
    }

    fn clean(&self, args: &[&str]) -> Ran {
        finish(self.0.command(&[&["clean"], args].concat()).env("PATH", SEARCH_PATH))
    }

    fn has(&self, task: u32) -> bool {
        self.0.root().join(format!(".unstuck/worktrees/t{task}")).is_dir()
    }

    fn branches(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
    }
}

/// The output without numbers: the space that a file takes depends on the disk.
fn page(ran: &Ran) -> String {
    let line = |line: &str| {
        let words =
            line.split(' ').map(|word| if word.parse::<u64>().is_ok() { "N" } else { word });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    ran.stdout.lines().map(line).collect()
}

#[test]
fn help_of_clean() {
    insta::assert_snapshot!(unstuck(&["clean", "--help"]));
}

#[test]
fn what_holds_nothing_unsaved_goes_and_the_rest_is_named() {
    let left = Left::new();
    let found = left.clean(&["--dry-run"]);
    assert!(left.has(0) && left.has(1) && found.exit == 0, "{found}");
    insta::assert_snapshot!("would_go", page(&found));
    let refused = left.clean(&[]).exits(2);
    assert!(refused.stderr.contains("hint: without a terminal, add --yes"), "{refused}");
    assert!(left.has(0));
    let removed = left.clean(&["--yes"]);
    insta::assert_snapshot!("gone", page(&removed));
    assert!(!left.has(0) && left.has(1));
    let kept = left.0.root().join(".unstuck/worktrees/t1/a.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "half done\n");
    assert_eq!(left.branches(), "main\nunstuck/b0.t1");
    let again = left.clean(&["--yes", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&json["freed_bytes"], json["things"].as_array().unwrap().len()), (&0.into(), 2));
}

#[test]
fn a_branch_stays_until_the_person_has_it() {
    let left = Left::new();
    let new = left.0.root().join("new.txt");
    fs::write(&new, "new\n").unwrap();
    left.git(&["add", "new.txt"]);
    let tree = left.git(&["write-tree"]);
    left.git(&["rm", "-q", "-f", "new.txt"]);
    let work = left.git(&["commit-tree", &tree, "-p", "HEAD", "-m", "Work"]);
    left.git(&["branch", "-f", "unstuck/b0", &work]);
    let kept = left.clean(&["--yes"]);
    assert!(
        kept.stdout.contains("1 commit is in none of your branches: `unstuck land b0`"),
        "{kept}"
    );
    assert!(left.branches().contains("unstuck/b0\n"));
    // One that brings the same under another name is as good.
    left.git(&["commit", "-q", "--allow-empty", "-m", "Mine"]);
    left.git(&["cherry-pick", "unstuck/b0"]);
    assert_eq!(left.clean(&["--yes"]).exit, 0);
    assert_eq!(left.branches(), "main\nunstuck/b0.t1");
}

#[test]
fn while_a_process_is_at_work_nothing_goes() {
    let left = Left::new();
    let night = left.0.hold();
    let ran = left.clean(&["--yes"]);
    left.0.let_go(night);
    assert!(left.has(0));
    insta::assert_snapshot!("at_work", ran);
}

#[test]
fn a_build_that_is_not_over_keeps_everything() {
    let left = Left::new();
    assert_eq!(left.clean(&["--dry-run"]).exit, 0);
    assert_eq!(left.0.unstuck(&["retry", "notes"]).exit, 2, "it is done");
    let night = left.0.hold();
    let plan = Arc::new(Plan::new(make_tasks(["tidy"])).unwrap());
    left.0.send(&night, Command::StartBuild { plan, slots: 1, in_place: false });
    left.0.until(&night, |state| state.build(BuildId(1)).is_some());
    left.0.let_go(night);
    left.worktree(WorkspaceKey { build: BuildId(1), task: TaskId(2) });
    let ran = left.clean(&["--yes"]);
    assert!(ran.stdout.contains("build b1 is not over"), "{ran}");
    assert!(left.has(2) && !left.has(0));
}

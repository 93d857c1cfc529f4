//! `unstuck land`: what a build did comes into the person's branch, on a real repository.

use std::fs;
use std::process::Command as Child;

use crate::program::{SEARCH_PATH, finish, unstuck};
use crate::shop::Shop;

/// A repository with a build that has made two commits from where `main` was.
struct Landing(Shop);

impl Landing {
    fn new() -> Self {
        let here = Self(Shop::new());
        here.0.finish_build(&["notes"]);
        here.0.init_repository();
        here.commit(&[("a.txt", "1\n2\n3\n"), ("b.txt", "1\n")], "First");
        here.git(&["checkout", "-q", "-b", "unstuck/b0"]);
        here.commit(&[("a.txt", "1\n2\nthree\n")], "Spell the three");
        here.commit(&[("notes.md", "# Notes\n")], "Add the notes");
        here.git(&["checkout", "-q", "main"]);
        here
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.root().join(name)
    }

    fn git(&self, args: &[&str]) -> String {
        self.0.git(args)
    }

    fn commit(&self, files: &[(&str, &str)], message: &str) {
        for (name, text) in files {
            fs::write(self.path(name), text).unwrap();
        }
        self.git(&["add", "-A"]);
        let date = "2026-01-02T03:04:05Z";
        let mut git = Child::new("git");
        git.current_dir(self.0.root()).args(["commit", "-q", "-m", message]);
        assert!(
            git.env("GIT_COMMITTER_DATE", date)
                .env("GIT_AUTHOR_DATE", date)
                .status()
                .unwrap()
                .success()
        );
    }

    fn land(&self, args: &[&str]) -> crate::program::Ran {
        finish(self.0.command(&[&["land"], args].concat()).env("PATH", SEARCH_PATH))
    }

    /// Everything that must not change where it is refused.
    fn everything(&self) -> String {
        [self.git(&["rev-parse", "HEAD"]), self.git(&["status", "--porcelain"])].join("\n")
    }

    fn refused(&self, args: &[&str]) -> String {
        let before = self.everything();
        let ran = self.land(args);
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{ran}");
        assert_eq!(self.everything(), before);
        ran.stderr
    }
}

#[test]
fn help_of_land() {
    insta::assert_snapshot!(unstuck(&["land", "--help"]));
}

#[test]
fn without_a_flag_it_only_shows_what_would_come() {
    let here = Landing::new();
    let before = here.everything();
    insta::assert_snapshot!("shown", here.land(&[]));
    assert_eq!(here.everything(), before);
    let json: serde_json::Value = serde_json::from_str(&here.land(&["--json"]).stdout).unwrap();
    assert_eq!(json["commits"][1]["title"], "Add the notes");
    assert_eq!((&json["files"][1]["what"], &json["onto"]), (&"new".into(), &"main".into()));
    assert_eq!(
        (&json["landed"], &json["conflicts"]),
        (&serde_json::Value::Null, &serde_json::json!([]))
    );
}

#[test]
fn a_branch_that_stood_still_moves_on() {
    let here = Landing::new();
    insta::assert_snapshot!("moved_on", here.land(&["b0", "--merge"]));
    assert_eq!(here.git(&["rev-parse", "main"]), here.git(&["rev-parse", "unstuck/b0"]));
    assert_eq!(fs::read_to_string(here.path("notes.md")).unwrap(), "# Notes\n");
    assert_eq!(here.git(&["status", "--porcelain"]), "");
    let again = here.land(&["--merge"]);
    assert_eq!(again.stdout, "Everything of build b0 is in main already.\n", "{again}");
}

#[test]
fn a_branch_that_went_on_gets_a_merge_commit() {
    let here = Landing::new();
    here.commit(&[("b.txt", "two\n")], "Mine");
    let (mine, theirs) = (here.git(&["rev-parse", "main"]), here.git(&["rev-parse", "unstuck/b0"]));
    assert_eq!(here.land(&["--merge"]).exit, 0);
    assert_eq!(
        here.git(&["log", "-1", "--format=%P %an %s"]),
        format!("{mine} {theirs} Ada Merge branch 'unstuck/b0'")
    );
    assert_eq!(fs::read_to_string(here.path("a.txt")).unwrap(), "1\n2\nthree\n");
    assert_eq!(fs::read_to_string(here.path("b.txt")).unwrap(), "two\n");
    assert_eq!(here.git(&["status", "--porcelain"]), "");
}

#[test]
fn or_the_commits_of_the_build_on_top() {
    let here = Landing::new();
    here.commit(&[("a.txt", "1\n2\nthree\n")], "Mine, which the build did as well");
    let mine = here.git(&["rev-parse", "main"]);
    let theirs = here.git(&["rev-parse", "unstuck/b0"]);
    assert_eq!(here.land(&["--rebase"]).exit, 0);
    assert_eq!(here.git(&["log", "--format=%s", &format!("{mine}..main")]), "Add the notes");
    assert_eq!(here.git(&["rev-parse", "main~1", "unstuck/b0"]), format!("{mine}\n{theirs}"));
    assert_eq!(here.git(&["status", "--porcelain"]), "");
    for again in [&[][..], &["--merge"], &["--rebase"]] {
        let again = here.land(again);
        assert_eq!(again.stdout, "Everything of build b0 is in main already.\n", "{again}");
    }
}

#[test]
fn what_is_not_committed_is_never_touched() {
    let here = Landing::new();
    fs::write(here.path("b.txt"), "half done\n").unwrap();
    let uncommitted = here.refused(&["--merge"]);
    here.git(&["checkout", "-q", "b.txt"]);
    fs::write(here.path("notes.md"), "my own notes\n").unwrap();
    let in_the_way = here.refused(&["--rebase"]);
    assert_eq!(fs::read_to_string(here.path("notes.md")).unwrap(), "my own notes\n");
    fs::remove_file(here.path("notes.md")).unwrap();
    fs::write(here.path("mine.md"), "not in the way\n").unwrap();
    assert_eq!(here.land(&["--merge"]).exit, 0);
    insta::assert_snapshot!("not_touched", [uncommitted, in_the_way].join("\n"));
}

#[test]
fn check_marks_alone_do_not_keep_the_work_out() {
    let here = Landing::new();
    here.commit(&[("plan.md", "# Plan\n\n- [ ] a\n- [ ] b\n")], "Plan");
    let ticked = "# Plan\n\n- [x] a\n- [-] b\n";
    fs::write(here.path("plan.md"), ticked).unwrap();
    let shown = here.land(&[]);
    assert!(shown.stdout.contains("It fits."), "{shown}");
    let landed = here.land(&["--merge"]);
    assert!(
        landed.stdout.contains("The check marks in plan.md are not committed yet."),
        "{landed}"
    );
    assert_eq!(fs::read_to_string(here.path("plan.md")).unwrap(), ticked);
    assert_eq!(fs::read_to_string(here.path("notes.md")).unwrap(), "# Notes\n");
    assert_eq!(here.git(&["diff", "--name-only"]), "plan.md");
}

/// Commits a plan on `main`, and the build's own version of it.
fn plan_on_both_sides(text: &str, of_build: &str) -> Landing {
    let here = Landing::new();
    here.commit(&[("plan.md", text)], "Plan");
    here.git(&["checkout", "-q", "-B", "unstuck/b0"]);
    here.commit(&[("plan.md", of_build)], "Write into the plan");
    here.git(&["checkout", "-q", "main"]);
    here
}

#[test]
fn check_marks_stay_in_a_file_that_the_build_changes() {
    let here = plan_on_both_sides("- [ ] a\n- [ ] b\n", "- [ ] a\n  A note.\n- [ ] b\n");
    fs::write(here.path("plan.md"), "- [x] a\n- [ ] b\n").unwrap();
    assert_eq!(here.land(&["--merge"]).exit, 0);
    let text = fs::read_to_string(here.path("plan.md")).unwrap();
    assert_eq!(text, "- [x] a\n  A note.\n- [ ] b\n");
    assert_eq!(here.git(&["show", "HEAD:plan.md"]), "- [ ] a\n  A note.\n- [ ] b");
    assert_eq!(here.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn check_marks_that_fit_nowhere_stop_the_landing() {
    let here = plan_on_both_sides("- [ ] a\n- [ ] b\n", "- [ ] other\n- [ ] b\n");
    fs::write(here.path("plan.md"), "- [x] a\n- [ ] b\n").unwrap();
    let said = here.refused(&["--merge"]);
    assert!(said.contains("the build also changes plan.md"), "{said}");
    fs::write(here.path("plan.md"), "- [x] b\n- [ ] b\n").unwrap();
    let said = here.refused(&["--merge"]);
    assert!(said.contains("changes that are not committed: plan.md"), "{said}");
    let text = fs::read_to_string(here.path("plan.md")).unwrap();
    assert_eq!(text, "- [x] b\n- [ ] b\n");
}

#[test]
fn what_git_ignores_is_not_written_over() {
    let here = Landing::new();
    fs::write(here.path(".git/info/exclude"), "notes.md\n").unwrap();
    fs::write(here.path("notes.md"), "my own notes\n").unwrap();
    let said = here.land(&[]);
    assert!(
        said.stdout.contains("It cannot be brought yet: untracked files are in the way"),
        "{said}"
    );
    let file = here.refused(&["--merge"]);
    assert!(file.contains("in the way: notes.md"), "{file}");
    assert_eq!(fs::read_to_string(here.path("notes.md")).unwrap(), "my own notes\n");
    fs::remove_file(here.path("notes.md")).unwrap();
    fs::create_dir_all(here.path("notes.md/below")).unwrap();
    fs::write(here.path("notes.md/below/keep"), "mine\n").unwrap();
    let folder = here.refused(&["--rebase"]);
    assert!(folder.contains("in the way: notes.md/below/keep"), "{folder}");
    assert_eq!(fs::read_to_string(here.path("notes.md/below/keep")).unwrap(), "mine\n");
    fs::remove_file(here.path("notes.md/below/keep")).unwrap();
    here.git(&["checkout", "-q", "--detach"]);
    let said = here.land(&[]);
    assert!(said.stdout.contains("It cannot be brought yet: you are on no branch"), "{said}");
}

#[test]
fn what_does_not_fit_changes_nothing_and_names_the_files() {
    let here = Landing::new();
    here.commit(&[("a.txt", "1\n2\n3 of mine\n")], "Mine");
    insta::assert_snapshot!("does_not_fit", here.land(&[]));
    let said = [here.refused(&["--merge"]), here.refused(&["--rebase"])];
    assert_eq!(said[0], said[1]);
    insta::assert_snapshot!("conflicts", said[0]);
}

#[test]
fn where_there_is_nothing_to_bring_it_to_or_from() {
    let here = Landing::new();
    here.git(&["checkout", "-q", "--detach"]);
    let detached = here.refused(&["--merge"]);
    here.git(&["branch", "-q", "-D", "unstuck/b0"]);
    let said = [
        detached,
        here.refused(&[]),
        here.refused(&["b7"]),
        here.refused(&["--merge", "--rebase"]),
    ];
    insta::assert_snapshot!("nothing_to_bring", said.join("\n"));
}

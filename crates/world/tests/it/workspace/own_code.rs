//! Commands in a worktree meet the worktree's own code: submodules, variables, links, Python.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use unstuck_core::engine::{RunId, Start};
use unstuck_core::fault::{Code, Kind};
use unstuck_testkit::stage::{TestRepo, run_git, write_file};

use crate::support::block_on;
use crate::support::task_worktree::{PLACE, Stage, changed, paths, put, text};

/// A repository with another one at `lib`, which the person has as well.
fn with_submodule() -> (Stage, TestRepo) {
    let library = TestRepo::with(&[("lib.txt", "one\n")]);
    let stage = Stage::with(&[("a", "1\n")]);
    let url = library.root.display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "lib"];
    stage.repo.git(add);
    stage.repo.git(["commit", "--quiet", "--message=lib"]);
    let first = stage.repo.oid("HEAD");
    stage.repo.git(["update-ref", "refs/heads/unstuck/b1", first.as_str()]);
    (Stage { first, ..stage }, library)
}

// B33: from the person's own copy, with no network and no trace in their settings
#[test]
fn submodules_are_there_before_anything_runs() {
    let (stage, library) = with_submodule();
    drop(library);
    let config = fs::read(stage.repo.path(".git/config")).unwrap();
    let workspace = stage.fresh();
    assert_eq!(text(&workspace, "lib/lib.txt"), "one\n");
    assert_eq!(changed(&workspace), paths(&[]));
    assert_eq!(fs::read(stage.repo.path(".git/config")).unwrap(), config);
    // What tests leave in it is no change either, and it is whole again from the base.
    put(&workspace, "lib/out.log", "x\n");
    assert_eq!(changed(&workspace), paths(&[]));
    put(&workspace, "lib/lib.txt", "changed\n");
    let restored = block_on(workspace.restore_repository(RunId(1))).unwrap();
    let fault = block_on(workspace.find_work_elsewhere(&restored)).unwrap().unwrap();
    assert!(fault.message.contains("submodule lib"), "{}", fault.message);
    let workspace = stage.prepare(Start::FromBase, 2);
    assert_eq!(text(&workspace, "lib/lib.txt"), "one\n");
    let removed = block_on(workspace.remove_worktree(RunId(2))).unwrap();
    assert_eq!(removed, unstuck_world::workspace::RemovalOutcome::Gone);
}

// B33: one that cannot be had is a matter for the person, with the command that helps
#[test]
fn a_submodule_that_cannot_be_had_is_said() {
    let (stage, library) = with_submodule();
    fs::remove_dir_all(stage.repo.path(".git/modules")).unwrap();
    fs::remove_dir_all(stage.repo.path("lib")).unwrap();
    drop(library);
    let fault = stage.try_prepare(&stage.preparation(Start::Fresh, 1)).unwrap_err();
    assert_eq!(fault.code(), Code::PreconditionMissing);
    let Kind::PreconditionMissing(missing) = &fault.kind else { panic!("{fault:?}") };
    assert!(missing.what.contains("git submodule update --init"), "{}", missing.what);
}

// B32: commits on a branch that the agent left are no attempt without a change
#[test]
fn work_that_was_left_on_a_branch_is_told() {
    let cases = [
        (
            "git checkout -q -b feature && echo 2 > a && git commit -qam mine && git checkout -q -",
            "on the branch feature",
        ),
        ("echo 2 > a && git stash -q", "in the stash"),
    ];
    for (script, place) in cases {
        let stage = Stage::with(&[("a", "1\n")]);
        let workspace = stage.fresh();
        let mut agent = Command::new("sh");
        agent.current_dir(workspace.directory()).args(["-c", script]);
        for (name, value) in block_on(workspace.build_agent_environment(RunId(1))).unwrap() {
            agent.env(name, value.unwrap());
        }
        assert!(agent.status().unwrap().success());
        let restored = block_on(workspace.restore_repository(RunId(1))).unwrap();
        let fault = block_on(workspace.find_work_elsewhere(&restored)).unwrap().unwrap();
        assert_eq!(fault.code(), Code::ValidationPreCommit);
        assert!(fault.message.contains(place), "{}", fault.message);
        let Kind::ValidationPreCommit(context) = &fault.kind else { panic!("{fault:?}") };
        let cure = context.output.lines().find_map(|line| line.strip_prefix("Bring it back: "));
        let cure: Vec<&str> = cure.unwrap().split(' ').skip(1).collect();
        run_git(workspace.directory(), cure);
        assert_eq!(text(&workspace, "a"), "2\n");
    }
}

// B32: commits from before the work are no part of what an agent may drop unseen
#[test]
fn commits_that_the_work_takes_back_are_found() {
    let stage = Stage::with(&[("a", "1\n"), ("b", "1\n")]);
    stage.repo.write("a", "2\n");
    let first = stage.repo.commit("Raise a");
    stage.repo.git(["update-ref", "refs/heads/unstuck/b1", first.as_str()]);
    let stage = Stage { first, ..stage };
    let workspace = stage.fresh();
    let work = |script: &str| {
        let mut agent = Command::new("sh");
        agent.current_dir(workspace.directory()).args(["-c", script]);
        for (name, value) in block_on(workspace.build_agent_environment(RunId(1))).unwrap() {
            agent.env(name, value.unwrap());
        }
        assert!(agent.status().unwrap().success(), "{script}");
        block_on(workspace.restore_repository(RunId(1))).unwrap();
        block_on(workspace.find_undone_commits()).unwrap()
    };
    assert_eq!(work("echo 2 > b && git commit -qam mine"), None);
    let undone = work("git reset -q --hard HEAD~2").unwrap();
    assert_eq!(undone.to_sentence(), "The work takes back the commit “Raise a” in a.");
    let fault = undone.to_fault();
    let Kind::ValidationPreCommit(context) = &fault.kind else { panic!("{fault:?}") };
    let cure = context.output.split("bring them back: ").nth(1).unwrap();
    assert_eq!(work(cure), None);
    assert_eq!(text(&workspace, "a"), "2\n");
}

// B32: whichever branch it stays on, what is in the worktree is the work
#[test]
fn work_on_another_branch_that_is_checked_out_counts() {
    let (_stage, workspace) = Stage::with_worktree(&[("a", "1\n")]);
    for how in ["git checkout -q -b feature", "git checkout -q --detach"] {
        let script = format!("{how} && echo {} > a && git commit -qam mine", how.len());
        let mut agent = Command::new("sh");
        agent.current_dir(workspace.directory()).args(["-c", &script]);
        assert!(agent.status().unwrap().success());
        assert_eq!(changed(&workspace), paths(&["a"]), "{how}");
    }
}

fn environment(stage: &Stage, variables: &[(&str, String)]) -> Vec<(OsString, OsString)> {
    let variables: Vec<(OsString, OsString)> =
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    stage.project.redirect_environment(PLACE, &variables)
}

// B33: an editable install of the person's checkout does not lead a check out of the worktree
#[test]
fn python_imports_the_worktrees_own_code() {
    let stage =
        Stage::with(&[("pyproject.toml", ""), ("src/shop/__init__.py", "WHERE = 'base'\n")]);
    let site = stage.repo.beside("site");
    let checkout = stage.repo.root.display().to_string();
    fs::create_dir_all(&site).unwrap();
    // What `pip install -e` writes: a path, and a finder that maps a package to its folder.
    fs::write(site.join("shop.pth"), format!("{checkout}/src\nimport __editable___till_finder\n"))
        .unwrap();
    fs::write(
        site.join("__editable___till_finder.py"),
        format!(
            "import sys, importlib.util\nMAPPING = {{'till': '{checkout}/src/shop'}}\nclass Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n        if name in MAPPING:\n            return importlib.util.spec_from_file_location(name, MAPPING[name] + '/__init__.py')\nsys.meta_path.append(Finder)\n"
        ),
    )
    .unwrap();
    let workspace = stage.fresh();
    put(&workspace, "src/shop/__init__.py", "WHERE = 'worktree'\n");
    write_file(&stage.repo.path("src/shop/__init__.py"), "WHERE = 'checkout'\n");
    let led = environment(&stage, &[("PYTHONPATH", format!("{checkout}/src:/opt/none"))]);
    let see = |script: &str| {
        let script = format!(
            "import site, sitecustomize\nsite.addsitedir({site:?})\nsitecustomize.lead()\n{script}"
        );
        let mut python = Command::new("python3");
        python.current_dir(workspace.directory()).env_remove("PYTHONPATH");
        python.envs(led.iter().cloned()).args(["-c", &script]);
        let output = python.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(see("import shop, till; print(shop.WHERE, till.WHERE)"), "worktree worktree\n");
    // A package that the agent removed is gone, and not found in the checkout.
    fs::remove_dir_all(workspace.directory().join("src/shop")).unwrap();
    let found = see("import importlib.util as u; print(u.find_spec('shop'))");
    assert_eq!(found, "None\n");
}

// B33: packages of the project's own are the worktree's, for Node.js too
#[test]
fn links_of_a_workspace_lead_to_the_worktree() {
    let stage = Stage::with(&[("packages/core/index.js", "1\n"), ("packages/cli/bin.js", "1\n")]);
    for folder in ["node_modules/@shop", "node_modules/.bin", "node_modules/left-pad"] {
        fs::create_dir_all(stage.repo.path(folder)).unwrap();
    }
    symlink("../../packages/core", stage.repo.path("node_modules/@shop/core")).unwrap();
    symlink("../../packages/cli/bin.js", stage.repo.path("node_modules/.bin/shop")).unwrap();
    symlink("../left-pad", stage.repo.path("node_modules/.bin/pad")).unwrap();
    let workspace = stage.fresh();
    let link = |name: &str| fs::read_link(workspace.directory().join("node_modules").join(name));
    assert_eq!(link("@shop/core").unwrap(), workspace.directory().join("packages/core"));
    assert_eq!(link(".bin/shop").unwrap(), workspace.directory().join("packages/cli/bin.js"));
    assert!(link(".bin/pad").is_err(), "packages of others are found where they are");
    assert_eq!(changed(&workspace), paths(&[]));
}

//! What is in a worktree, and what of it is the agent's work: on the program itself.

use std::fs;
use std::process::Command;

use unstuck_core::engine::Event;
use unstuck_core::fault::Code;

use crate::project::Project;

const GREEN: &str = r#"{write = "work/a.txt", text = "fine\n"}"#;

fn met(stage: &Project) -> Vec<(Code, String)> {
    let met = |event: &Event| match event {
        Event::FaultMet { fault, .. } => Some((fault.code(), fault.message.clone())),
        _ => None,
    };
    stage.events().iter().filter_map(|recorded| met(&recorded.event)).collect()
}

fn committed(stage: &Project) -> Vec<String> {
    let changed = stage.git(&["diff", "--name-only", "main", "unstuck/b0"]);
    changed.lines().map(str::to_owned).collect()
}

// B31: setup, checks and the agent's own test runs fill folders that git does not ignore
#[test]
fn only_the_agents_work_is_committed() {
    let stage = Project::with_agents();
    stage.write("package.json", "{}");
    stage.write("Cargo.toml", "");
    stage.agent(
        "write-a",
        &[r#"{run = "mkdir -p target/debug work/__pycache__ && echo x > target/debug/x && echo x > work/__pycache__/a.pyc"}, {write = "work/a.txt", text = "fine\n"}"#],
    );
    stage.write(
        "check.sh",
        "mkdir -p reports && date > reports/junit.xml; echo x >> notes.txt; test -f work/a.txt\n",
    );
    stage.write("notes.txt", "mine\n");
    stage.write("unstuck.toml", "[agent]\nprovider = \"script\"\nscript = \"agents/{task}.toml\"\n[validate]\npre_commit = [\"sh check.sh\"]\n[scope]\nallowed = [\"work/**\"]\n[run]\nsetup = [\"mkdir -p node_modules/left-pad deps && echo x > node_modules/left-pad/x && echo x > deps/x\"]\n");
    stage.commit();
    stage.run(&["run", "write a"]).exits(0);
    assert_eq!(committed(&stage), ["work/a.txt"]);
    assert_eq!(met(&stage), [], "nothing was taken back from the agent");
}

// B32: commits on a branch that was left again are told to the agent and never shipped as nothing
#[test]
fn work_that_was_left_on_a_branch_is_told() {
    let stage = Project::with_agents();
    let away = r#"{run = "git checkout -q -b feature && mkdir -p work && echo fine > work/a.txt && git add -A && git commit -q -m mine && git checkout -q -"}"#;
    stage.agent("write-a", &[away, GREEN]);
    stage.commit();
    stage.run(&["run", "write a"]).exits(0);
    let met = met(&stage);
    assert_eq!(met.len(), 1, "{met:?}");
    assert!(met[0].1.contains("your work is on the branch feature"), "{met:?}");
    assert_eq!(committed(&stage), ["work/a.txt"]);
    assert_eq!(stage.git(&["branch", "--list", "feature"]), "");
}

// B33: a submodule that the person has is in the worktree, without any network
#[test]
fn submodules_are_there_when_checks_run() {
    let library = Project::with_agents();
    let stage = Project::with_agents();
    let url = library.path("").display().to_string();
    stage.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "lib"]);
    stage.write("check.sh", "test -f lib/check.sh && test -f work/a.txt\n");
    stage.agent("write-a", &[GREEN]);
    stage.commit();
    drop(library);
    stage.run(&["run", "write a"]).exits(0);
    assert_eq!(committed(&stage), ["work/a.txt"]);
}

// B33: what was installed from the checkout with `pip install -e` is imported from the worktree
#[test]
fn checks_import_the_worktrees_own_package() {
    let stage = Project::with_agents();
    stage.write("pyproject.toml", "[project]\nname = \"shop\"\nversion = \"1\"\n");
    stage.write("src/shop/__init__.py", "def total():\n    return 1\n");
    stage.write("check.sh", "python3 -c 'import shop; assert shop.total() == 1'\n");
    stage.write(".gitignore", "/env\n/.local\n");
    stage.agent(
        "rename-total",
        &[r#"{run = "printf 'def amount():\\n    return 1\\n' > src/shop/__init__.py"}"#],
    );
    stage.agent("move-shop", &[r#"{run = "git mv src/shop src/store"}"#]);
    stage.commit();
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--without-pip"]).arg(stage.path("env"));
    assert!(venv.status().unwrap().success());
    let library = stage.path("env/lib");
    let python = fs::read_dir(&library).unwrap().next().unwrap().unwrap().path();
    let link = format!("{}\n", stage.path("src").display());
    fs::write(python.join("site-packages/shop.pth"), link).unwrap();
    for task in ["rename total", "move shop"] {
        let mut unstuck = stage.unstuck(&["run", task, "--max-wait", "0"]);
        let path = format!("{}:/usr/bin:/bin", stage.path("env/bin").display());
        let output =
            unstuck.env("PATH", path).env("VIRTUAL_ENV", stage.path("env")).output().unwrap();
        let ran = crate::program::ran(output);
        assert_ne!(ran.exit, 0, "a broken change of the package is not done: {ran}");
        assert!(met(&stage).iter().any(|(code, _)| *code == Code::ValidationPreCommit), "{ran}");
    }
}

// B34: said before anything is spent, with the line to write
#[test]
fn a_check_that_cannot_run_stops_the_run_before_it_begins() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[GREEN]);
    stage.write("unstuck.toml", "[agent]\nprovider = \"script\"\nscript = \"agents/{task}.toml\"\n[validate]\npre_commit = [\"cd work && no-such-tool test\"]\n");
    stage.commit();
    let ran = stage.run(&["run", "write a"]).exits(78);
    assert!(ran.stderr.contains("no-such-tool is not on the path"), "{ran}");
    assert!(ran.stderr.contains("unstuck.toml"), "{ran}");
    let doctor = stage.run(&["doctor"]).exits(78);
    assert!(doctor.stdout.contains("✘ checks"), "{doctor}");
    // Without any check a run begins, and it is said.
    stage
        .write("unstuck.toml", "[agent]\nprovider = \"script\"\nscript = \"agents/{task}.toml\"\n");
    stage.commit();
    let ran = stage.run(&["run", "write a"]).exits(0);
    assert!(ran.stderr.contains("nothing is checked before a commit"), "{ran}");
}

// B34: a check has its own time
#[test]
fn a_check_that_takes_too_long_at_the_base_is_asked_about_before_money_is_spent() {
    let stage = Project::with_agents();
    stage.agent("write-a", &[GREEN]);
    stage.write("unstuck.toml", "[agent]\nprovider = \"script\"\nscript = \"agents/{task}.toml\"\n[validate]\npre_commit = [\"echo waiting; sleep 600\"]\ntimeout = \"1s\"\n");
    stage.commit();
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let asked = stage.run(&["inbox", "show", "0"]);
    for said in ["sleep 600” took longer than", "validate.timeout", "waiting\n"] {
        assert!(asked.stdout.contains(said), "{said}: {asked}");
    }
    assert!(!asked.stdout.contains("is not there"), "{asked}");
    assert_eq!(met(&stage)[0].0, Code::PreconditionMissing);
}

// B34: a base whose objects are gone, no commit at all, and no branch
#[test]
fn a_base_that_cannot_be_used_is_said() {
    let stage = Project::with_agent("write-a", &[GREEN]);
    stage.git(&["checkout", "--quiet", "--detach"]);
    let ran = stage.run(&["run", "write a"]);
    assert_eq!(ran.exit, 0, "no branch is needed: {ran}");
    let blob = stage.git(&["rev-parse", "HEAD:check.sh"]);
    let (folder, rest) = blob.trim().split_at(2);
    let object = stage.path(".git/objects").join(folder).join(rest);
    fs::remove_file(object).unwrap();
    let ran = stage.run(&["run", "write a"]).exits(78);
    assert!(ran.stderr.contains("the last commit cannot be read"), "{ran}");
    assert!(ran.stderr.contains("git fsck"), "{ran}");

    let stage = Project::with_agents();
    stage.git(&["checkout", "--quiet", "--orphan", "empty"]);
    stage.run(&["run", "write a"]).exits(78);
}

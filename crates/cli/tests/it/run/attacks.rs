//! What an agent does to git, its own or the person's, leaves the person's repository as it was, and
//! nothing that it planted is run by the program: with the wall that this machine has, and without
//! namespaces, where the repository lies in a temporary folder that agents may write to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use unstuck_testkit::stage::write_program;

use crate::program::finish;
use crate::project::Project;

/// What the person's repository holds: refs and the branch that is checked out, files that git obeys,
/// and objects.
#[derive(Debug, PartialEq, Eq)]
struct Repository {
    refs: String,
    status: String,
    files: BTreeMap<String, Vec<u8>>,
}

/// Runs `script` as the agent of a task that also does its work, and tells what became of the
/// person's repository.
struct Attacked {
    stage: Project,
    before: Repository,
    objects: BTreeSet<String>,
}

impl Attacked {
    /// `without` names layers of the wall that are taken away.
    fn by(script: &str, without: &str) -> Self {
        let stage = Project::with_agents();
        stage.write(".gitignore", "/victim\n/planted-ran\n/planted*\n/.local\n/copy\n");
        stage.write("agents/write-a.toml", "");
        stage.write("victim", "the person's own\n");
        let planted = "echo ran >\"$(dirname \"$0\")/planted-ran\"\ncat";
        write_program(&stage.path("planted"), planted);
        stage.git(&["config", "user.name", "Ada"]);
        stage.git(&["config", "user.email", "ada@example.org"]);
        // What is refused is no failure of the agent's.
        let root = stage.path("").display().to_string();
        let steps = format!(
            r#"{{write = "work/a.txt", text = "fine\n"}}, {{run = '''R="{root}"; echo x >"$R/planted-reached"; ( {script} ) >/dev/null 2>&1; true'''}}"#
        );
        stage.agent("write-a", &[&steps]);
        stage.commit();
        // Something that no ref leads to, and that git would throw away.
        let tree = stage.git(&["rev-parse", "HEAD^{tree}"]);
        stage.git(&["commit-tree", tree.trim(), "-m", "the person may want this back"]);
        let before = repository(&stage);
        let objects = objects(&stage);
        let ran = finish(
            stage
                .unstuck(&["run", "write a", "--max-wait", "0"])
                .env("UNSTUCK_WITHOUT_LAYERS", without),
        );
        assert_eq!(ran.exit, 0, "{script}: {ran}");
        Self { stage, before, objects }
    }

    /// The work has landed, the repository is as it was, and nothing planted was run.
    fn leaves_nothing(&self, script: &str) {
        let Self { stage, before, objects: known } = self;
        assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n", "{script}");
        assert_eq!(repository(stage), *before, "{script}");
        let there = objects(stage);
        let lost: Vec<_> = known.difference(&there).collect();
        assert!(lost.is_empty(), "{script}: {lost:?}");
        stage.git(&["fsck", "--strict", "--no-dangling"]);
        let victim = fs::read_to_string(stage.path("victim")).unwrap();
        assert_eq!(victim, "the person's own\n", "{script}");
        assert!(!stage.path("planted-ran").exists(), "{script}: what was planted was run");
    }
}

fn repository(stage: &Project) -> Repository {
    let refs = stage.git(&["for-each-ref", "--format=%(objectname) %(refname)"]);
    let persons = |line: &&str| !line.contains("refs/unstuck/") && !line.contains("heads/unstuck/");
    let refs = refs.lines().filter(persons).collect::<Vec<_>>().join("\n");
    let mut files = BTreeMap::new();
    for name in ["HEAD", "config", "hooks", "info", "index"] {
        read(&stage.path(".git"), name, &mut files);
    }
    Repository { refs, status: stage.git(&["status", "--porcelain", "--branch"]), files }
}

fn read(folder: &Path, name: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let path = folder.join(name);
    if !path.is_dir() {
        files.insert(name.to_owned(), fs::read(&path).unwrap());
        return;
    }
    for entry in fs::read_dir(&path).unwrap() {
        let inner = format!("{name}/{}", entry.unwrap().file_name().to_str().unwrap());
        read(folder, &inner, files);
    }
}

fn objects(stage: &Project) -> BTreeSet<String> {
    let all = stage.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    all.lines().map(str::to_owned).collect()
}

fn attack(scripts: &[&str]) {
    for script in scripts {
        for without in ["", "bubblewrap", "bubblewrap,landlock,seccomp"] {
            let attacked = Attacked::by(script, without);
            attacked.leaves_nothing(script);
            // Without namespaces nothing kept it from the person's files here.
            let reached = attacked.stage.path("planted-reached").exists();
            assert!(reached || without.is_empty(), "{script}: the attack came to nothing");
        }
    }
}

/// Settings that run a program, for the repository that `git` is told of.
const SETTINGS: &str = r#"
P="$R/planted"
for setting in core.fsmonitor core.sshCommand core.pager core.editor diff.external gpg.program \
    filter.x.clean filter.x.smudge filter.x.process diff.x.textconv diff.x.command merge.x.driver; do
    $G config "$setting" "$P"
done
$G config alias.status "!$P"; $G config core.hooksPath "$R/planted-hooks"; $G config commit.gpgSign true
mkdir -p "$R/planted-hooks"
for hook in pre-commit commit-msg post-commit reference-transaction post-checkout post-index-change; do
    cp "$P" "$R/planted-hooks/$hook"; cp "$P" "$($G rev-parse --git-dir)/hooks/$hook"
done
echo '* filter=x diff=x merge=x' >"$($G rev-parse --git-dir)/info/attributes"
"#;

// B16
#[test]
fn settings_hooks_and_attributes_that_an_agent_plants_are_not_run() {
    let own = format!("G=git; {SETTINGS}");
    let persons = format!("cd \"$R\"; G=git; {SETTINGS}");
    let named = "printf '* filter=x diff=x\\n' >>.git/info/attributes; \
                 git config filter.x.clean \"$R/planted\"; \
                 git config --file .git/config.worktree filter.x.clean \"$R/planted\"; \
                 git config extensions.worktreeConfig true";
    attack(&[&own, &persons, named]);
}

// B16
#[test]
fn a_common_folder_that_an_agent_names_is_not_used() {
    let redirect = r#"cp -r "$(git rev-parse --git-common-dir)" "$R/copy"; echo "$R/copy" >.git/commondir;
        git --git-dir="$R/copy" config filter.x.clean "$R/planted"; mkdir -p .git/info;
        echo '* filter=x' >.git/info/attributes; echo '* filter=x' >"$R/copy/info/attributes""#;
    let link = r#"cp -r .git "$R/copy"; git --git-dir="$R/copy" config filter.x.clean "$R/planted";
        echo '* filter=x' >"$R/copy/info/attributes"; rm -rf .git; echo "gitdir: $R/copy" >.git"#;
    let symlink = r#"mv .git "$R/copy"; ln -s "$R/copy" .git;
        git --git-dir="$R/copy" config core.fsmonitor "$R/planted""#;
    attack(&[redirect, link, symlink]);
}

// B16
#[test]
fn an_agent_that_removes_what_git_names_removes_its_own() {
    attack(&[
        r#"rm -rf "$(git rev-parse --git-common-dir)""#,
        "git reflog expire --expire=now --all; git gc -q --prune=now",
        "rm -rf .git; git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm x",
        "git branch -m elsewhere; git checkout -q --detach; git branch -D elsewhere",
        "git config core.worktree \"$R\"; git reset -q --hard",
    ]);
}

// B16
#[test]
fn refs_tags_and_the_checked_out_branch_of_the_person_come_back() {
    attack(&[
        r#"git tag evil; git branch evil; git -C "$R" tag evil; git -C "$R" branch evil"#,
        r#"C=$(git commit-tree -m evil "HEAD^{tree}"); cp -r .git/objects "$R/.git/";
           rm -rf "$R/.git/logs/refs/heads/main"; echo "$C" >"$R/.git/refs/heads/main""#,
        r#"echo "ref: refs/heads/evil" >"$R/.git/HEAD""#,
        r#"rm -f "$R/.git/refs/heads/main" "$R/.git/packed-refs""#,
    ]);
}

// B16
#[test]
fn the_objects_of_the_person_come_back() {
    attack(&[
        r#"cd "$R" && git reflog expire --expire=now --expire-unreachable=now --all && git gc -q --prune=now"#,
        r#"rm -rf "$R/.git/objects""#,
        r#"rm -rf "$R/.git/refs" "$R/.git/objects" "$R/.git/logs" "$R/.git/HEAD""#,
    ]);
}

// B16: what the program writes into the agent's repository follows no link out of it
#[test]
fn links_that_an_agent_plants_are_not_followed() {
    attack(&[
        r#"for name in index index.new index.unstuck-new HEAD.unstuck-new COMMIT_EDITMSG config HEAD packed-refs; do
               rm -f ".git/$name"; ln -s "$R/victim" ".git/$name"; done"#,
        r#"rm -rf .git/info .git/hooks .git/objects/info; for name in info hooks objects/info; do
               ln -s "$R" ".git/$name"; done"#,
        r#"rm -rf .git/refs; ln -s "$R" .git/refs"#,
        r#"rm -rf .git/objects; ln -s "$R/.git/objects" .git/objects"#,
        r#"echo "$R/copy" >.git/objects/info/alternates; mkfifo .git/objects/pipe; rm .git/HEAD; mkfifo .git/HEAD"#,
    ]);
}

// B16
#[test]
fn a_repository_within_the_worktree_runs_nothing() {
    attack(&[r#"mkdir -p work/inner && cd work/inner && git init -q && echo x >x && git add x &&
           git -c user.name=a -c user.email=a@b commit -qm x && git config core.fsmonitor "$R/planted" &&
           git config filter.x.clean "$R/planted" && echo '* filter=x' >.git/info/attributes; rm -rf .git"#]);
}

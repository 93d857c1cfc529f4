//! Checks the start commit of builds and the needs of its worktrees beside git, and finds checks and
//! symbolic links that name the operator's own checkout by its path: in a worktree they would test the
//! files of the checkout, which no agent changes. Untracked files there are not part of the work.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::fault::Code;
use unstuck_world::git::{Git, Oid, find_local_submodules};
use unstuck_world::provider;
use unstuck_world::validate::find_defining_files;

use super::{CHECKS, OWN_CODE, PreflightConcern};
use crate::render::words;
use crate::settings::FILE;

const REPOSITORY: &str = "repository";
const SUBMODULES: &str = "submodules";
const LARGE_FILES: &str = "git-lfs";
/// The variable with which Git LFS leaves pointers as they are.
const SKIP_POINTERS: &str = "GIT_LFS_SKIP_SMUDGE";
/// The beginning of a pointer.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1";
/// Maximum number of files that are read to find a pointer.
const POINTERS_MAX: usize = 20;
/// Folders of installed packages, which agents do not change.
const INSTALLED: [&str; 3] = [".venv", "venv", "node_modules"];

/// Returns the concerns about the start commit. A repository that cannot be opened at all is reported
/// elsewhere.
pub(super) async fn inspect_repository(root: &Path) -> Vec<PreflightConcern> {
    let git = Git::new("git", root);
    let (Ok(layout), Ok(head)) = (git.read_layout().await, git.resolve_head().await) else {
        return Vec::new();
    };
    let mut concerns = Vec::new();
    if let Err(fault) = git.require_objects(&head).await {
        let says = format!("the last commit cannot be read: {}", fault.message);
        let todo = "`git fsck` says what is missing, `git fetch` may bring it back";
        concerns.push(PreflightConcern::new_stop(REPOSITORY, Code::GitStatusFailed, says, todo));
        return concerns;
    }
    if git.current_branch().await == Ok(None) {
        let says = "you are on no branch (HEAD is detached), and `unstuck land` brings work only to a \
                    branch";
        let todo = "`git switch -c NAME` makes one of the commit that is checked out";
        let code = Code::PreconditionMissing;
        concerns.push(PreflightConcern::new_warning(REPOSITORY, code, says.to_owned(), todo));
    }
    let local = find_local_submodules(&layout.common_dir);
    let submodules = git.list_submodules(head.as_str()).await.unwrap_or_default();
    let absent = submodules.iter().filter(|one| {
        local.iter().all(|(name, _)| *name != one.name)
            && !root.join(&one.path).join(".git").exists()
    });
    let absent: Vec<&str> = absent.map(|one| one.path.as_str()).collect();
    if !absent.is_empty() {
        let says = format!(
            "{} is not here yet; every worktree would fetch it from where it comes from",
            absent.join(", ")
        );
        let todo = "`git submodule update --init --recursive`";
        concerns.push(PreflightConcern::new_warning(
            SUBMODULES,
            Code::PreconditionMissing,
            says,
            todo,
        ));
    }
    concerns.extend(inspect_large_files(&git, &head).await);
    concerns
}

/// Returns a concern if files of the start commit are kept with Git LFS, which is not installed. A run does
/// not begin with pointers in the place of files, unless the person wants git to leave them.
async fn inspect_large_files(git: &Git, head: &Oid) -> Option<PreflightConcern> {
    let path = env::var_os("PATH");
    if provider::find_program(OsStr::new("git-lfs"), path.as_deref()).is_some() {
        return None;
    }
    let named = git.find_files_with_word(head, "filter=lfs").await.unwrap_or_default();
    named.iter().find(|file| file.file_name() == Some(OsStr::new(".gitattributes")))?;
    let pointer = find_pointer(git, head).await;
    let is_wanted = env::var_os(SKIP_POINTERS).is_some();
    let what = pointer.as_ref().map_or_else(
        || "files are".to_owned(),
        |file| {
            format!("{} and perhaps other files are", words::plain_line(&file.to_string_lossy()))
        },
    );
    let says = format!(
        "{what} kept with Git LFS, and git-lfs is not on the path: worktrees hold pointers instead of \
         them"
    );
    Some(if pointer.is_some() && !is_wanted {
        let todo = format!(
            "install git-lfs, then `git lfs pull`; or set {SKIP_POINTERS}=1 if the work does not need \
             these files"
        );
        PreflightConcern::new_stop(LARGE_FILES, Code::ToolMissing, says, todo)
    } else {
        let todo = "install git-lfs, then `git lfs pull`";
        PreflightConcern::new_warning(LARGE_FILES, Code::ToolMissing, says, todo)
    })
}

/// Returns a file that is a pointer of Git LFS. Other files may mention its format.
async fn find_pointer(git: &Git, head: &Oid) -> Option<PathBuf> {
    let files = git.find_files_with_word(head, POINTER).await.unwrap_or_default();
    for file in files.into_iter().take(POINTERS_MAX) {
        let text = git.read_file_at(head, &file).await.ok().flatten().unwrap_or_default();
        if text.starts_with(POINTER.as_bytes()) {
            return Some(file);
        }
    }
    None
}

/// Returns a concern for each reference to the checkout at `root`.
pub(super) async fn inspect_checkout(root: &Path, checks: &[String]) -> Vec<PreflightConcern> {
    let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let git = Git::new("git", root);
    let Ok(head) = git.resolve_head().await else { return Vec::new() };
    let Ok(tracked) = git.list_root_names(&head).await else { return Vec::new() };
    let names = |text: &str| [root, &real].iter().any(|root| names_path(text, root, &tracked));
    let mut concerns = Vec::new();
    for check in checks.iter().filter(|check| names(check)) {
        let says = format!(
            "`{check}` names this folder by its path, so it would test your own checkout instead of \
             what an agent changed"
        );
        let todo = format!("write the path relative to the project in {FILE}");
        concerns.push(PreflightConcern::new_stop(CHECKS, Code::PreconditionMissing, says, todo));
    }
    for file in find_defining_files(root, checks) {
        let Ok(text) = fs::read_to_string(root.join(&file)) else { continue };
        let Some(at) = text.lines().position(&names) else { continue };
        let says = format!(
            "{}:{} names this folder by its path, so the checks would test your own checkout instead \
             of what an agent changed",
            file.display(),
            at + 1
        );
        let todo = format!("write the path relative to the project in {}", file.display());
        concerns.push(PreflightConcern::new_stop(OWN_CODE, Code::PreconditionMissing, says, todo));
    }
    concerns.extend(find_checkout_links(&git, &head, (root, &real)).await);
    concerns
}

/// Returns a concern for each tracked link with an absolute path into the checkout.
async fn find_checkout_links(
    git: &Git,
    head: &Oid,
    (root, real): (&Path, &Path),
) -> Vec<PreflightConcern> {
    let Ok(links) = git.list_links(head).await else { return Vec::new() };
    let leading = links.into_iter().filter_map(|link| {
        let to = fs::read_link(root.join(&link)).ok()?;
        let rest = [root, real].iter().find_map(|root| to.strip_prefix(root).ok())?;
        let rest = rest.to_owned();
        (!is_installed(&rest)).then_some((link, to, rest))
    });
    leading
        .map(|(link, to, rest)| {
            let says = format!(
                "the link {} leads to {}, so the checks would test your own checkout instead of what \
                 an agent changed",
                link.display(),
                to.display()
            );
            let up: PathBuf = link.iter().skip(1).map(|_| "..").collect();
            let relative = up.join(&rest);
            let relative = if relative.as_os_str().is_empty() { ".".into() } else { relative };
            let todo = format!("`ln -sfn {} {}`, and commit it", relative.display(), link.display());
            PreflightConcern::new_stop(OWN_CODE, Code::PreconditionMissing, says, todo)
        })
        .collect()
}

/// Returns whether a text names this folder, or a path in it that is tracked and not installed.
fn names_path(text: &str, root: &Path, tracked: &BTreeSet<PathBuf>) -> bool {
    let Some(root) = root.to_str().filter(|root| root.len() > 1) else { return false };
    text.match_indices(root).any(|(at, _)| {
        let rest = &text[at + root.len()..];
        let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
        let before = text[..at].chars().next_back();
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && c != '/');
        let ends_path = |c: char| c.is_whitespace() || "\"';&|)>:".contains(c);
        let below = rest.split(ends_path).next().unwrap_or_default();
        let below = Path::new(below.trim_start_matches('/'));
        let is_own = below.iter().next().is_none_or(|first| tracked.contains(Path::new(first)));
        ends && begins && is_own && !is_installed(below)
    })
}

fn is_installed(path: &Path) -> bool {
    path.iter().next().is_some_and(|first| INSTALLED.iter().any(|known| first == *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_as_a_whole_and_what_is_installed_does_not_count() {
        let root = Path::new("/home/ada/shop");
        let tracked = ["tests", "Makefile", ".venv"].map(PathBuf::from).into();
        let cases = [
            ("cd /home/ada/shop && make", true),
            ("python3 /home/ada/shop/tests/run.py", true),
            ("ROOT=/home/ada/shop", true),
            ("cd /home/ada/shopping", false),
            ("cd /mnt/home/ada/shop", false),
            ("/home/ada/shop/.venv/bin/pytest -q", false),
            ("cd tests && make", false),
            ("cat \"/home/ada/shop/Makefile\"", true),
            ("test -e /home/ada/shop/was-red || exit 1", false),
        ];
        for (text, expected) in cases {
            assert_eq!(names_path(text, root, &tracked), expected, "{text}");
        }
    }
}

//! Checks the start commit of builds, and the needs of its worktrees beside git.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use unstuck_core::fault::Code;
use unstuck_world::git::{Git, find_local_submodules};
use unstuck_world::provider;

use super::PreflightConcern;

const REPOSITORY: &str = "repository";
const SUBMODULES: &str = "submodules";
const LARGE_FILES: &str = "git-lfs";

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
    let attributes = git.read_file_at(&head, Path::new(".gitattributes")).await.ok().flatten();
    let large =
        attributes.is_some_and(|text| String::from_utf8_lossy(&text).contains("filter=lfs"));
    let path = env::var_os("PATH");
    if large && provider::find_program(OsStr::new("git-lfs"), path.as_deref()).is_none() {
        let says = "files are kept with Git LFS, and git-lfs is not on the path: worktrees hold \
                    pointers instead of them";
        let todo = "install git-lfs, then `git lfs pull`";
        let concern =
            PreflightConcern::new_warning(LARGE_FILES, Code::ToolMissing, says.to_owned(), todo);
        concerns.push(concern);
    }
    concerns
}

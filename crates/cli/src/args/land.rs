//! `unstuck land` on the command line.

use unstuck_core::engine::BuildId;

use super::value::parse_build_id;

/// Bring what a build did into your branch
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows what a build would bring to the branch you are on: its commits, the files they \
        change, and whether they fit. With --merge or --rebase it brings them. Your branch, its \
        index and its files change only if everything fits and nothing of yours is uncommitted; \
        otherwise nothing is changed at all. The build's own branch stays as it is.\n\n\
        With --pr nothing of yours is changed: the build's branch is checked as `validate.pre_push` and \
        `validate.pre_pr` say, sent to `run.remote`, and a pull request is opened with the token in the \
        variable that `github.token_env` names. Asked again, it sends what is new and says where the \
        pull request is.",
    after_long_help = LAND_EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "each of them is a flag of its own")]
pub(crate) struct LandArgs {
    /// The build, such as `7` or `b7`; the newest without it
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    pub(crate) build: Option<BuildId>,

    /// Bring it: move your branch on where that is enough, or make a merge commit
    #[arg(long)]
    pub(crate) merge: bool,

    /// Bring it: put its commits on top of yours, one by one
    #[arg(long, conflicts_with = "merge")]
    pub(crate) rebase: bool,

    /// Send its branch and open a pull request to the branch you are on; never a second one
    #[arg(long, conflicts_with_all = ["merge", "rebase"])]
    pub(crate) pr: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const LAND_EXAMPLES: &str = "\
Examples:
  unstuck land                       what the newest build would bring
  unstuck land --merge               bring it
  unstuck land b7 --rebase           put its commits on top of yours
  unstuck land --pr                  open a pull request instead";

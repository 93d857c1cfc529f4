//! `unstuck run` and `unstuck resume` on the command line.

use unstuck_core::time::Span;

use super::config::ConfigFileArgs;
use super::value::{parse_money, parse_span, parse_time_of_day};
use crate::settings::{MAX_COST, Money, Provider};

/// Run tasks: files, a folder of them, a plan, or a goal in quotes
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs tasks with an agent, each in a worktree and on a branch of its own. What an \
        agent did is checked by Unstuck: the paths it changed, and your checks. Green work lands on \
        the build's branch; your own tree is not touched. A failure gets a code: what passes by \
        itself is waited out, what does not is tried in a different way, and when that does not \
        help you are asked one question while everything else goes on.\n\n\
        Tasks are Markdown files, a folder of them, one plan with `- [ ]` items, or a goal in \
        quotes. Without any, `tasks/` or `.ai/tasks/` of the project is taken.\n\n\
        Everything is on disk before it happens. After a crash or Ctrl-C, `unstuck resume` goes \
        on.",
    after_long_help = RUN_EXAMPLES
)]
pub(crate) struct RunArgs {
    /// Files, a folder, or a goal in quotes
    #[arg(value_name = "TASKS")]
    pub(crate) work: Vec<String>,

    /// How many tasks are worked on side by side
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<u32>,

    /// Who works on them
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<Provider>,

    /// With which model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The most that the build may cost, such as 5 or $5
    #[arg(long, value_name = "MONEY", value_parser = parse_money)]
    pub(crate) max_cost: Option<Money>,

    /// Work in your own tree, which must be clean
    #[arg(long)]
    pub(crate) in_place: bool,

    /// Show what would be done, and do nothing
    #[arg(long = "dry-run")]
    pub(crate) dry: bool,

    /// Go on in the background
    #[arg(long, conflicts_with = "dry")]
    pub(crate) detach: bool,

    #[command(flatten)]
    pub(crate) follow: FollowArgs,
}

/// Go on with what was not finished
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Goes on with every build of the project that has not ended: after a crash, a \
        reboot, Ctrl-C or `unstuck pause`. Answers that were given meanwhile count. What was in \
        flight is looked up first and not done twice.",
    after_long_help = RESUME_EXAMPLES
)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
}

/// How a build is followed.
#[derive(Debug, clap::Args)]
pub(crate) struct FollowArgs {
    /// Pause at this time of day, such as 07:00
    #[arg(long, value_name = "TIME", value_parser = parse_time_of_day)]
    pub(crate) until: Option<jiff::civil::Time>,

    /// Leave when nothing but waiting was left for this long; 0 does not wait at all
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) max_wait: Option<Span>,

    /// Write each event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Say nothing but errors and questions
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) config: ConfigFileArgs,
}

impl RunArgs {
    /// The options that are settings.
    pub(crate) fn setting_flags(&self) -> crate::settings::SettingFlags {
        let mut flags = Vec::new();
        if let Some(jobs) = self.jobs {
            flags.push(("run.jobs", jobs.to_string(), "--jobs"));
        }
        if let Some(provider) = self.provider {
            flags.push(("agent.provider", provider.name().to_owned(), "--provider"));
        }
        if let Some(model) = &self.model {
            flags.push(("agent.model", model.clone(), "--model"));
        }
        if let Some(money) = self.max_cost {
            flags.push((MAX_COST, money.to_string(), "--max-cost"));
        }
        if self.in_place {
            flags.push(("run.in_place", true.to_string(), "--in-place"));
        }
        flags
    }
}

const RUN_EXAMPLES: &str = "\
Examples:
  unstuck run tasks/                          a folder of task files
  unstuck run \"make the login test pass\"      one goal
  unstuck run plan.md --jobs 3 --until 07:00  a plan, three at a time, until the morning
  unstuck run tasks/ --max-cost 5 --detach    in the background, for at most $5
  unstuck run tasks/ --dry-run                what would be done

Exit codes: 0 everything is done; 1 some tasks were not; 3 waiting for a person and --max-wait is
over; 4 paused; 75 limited and --max-wait is over; 77 and 78 when it could not begin.";

const RESUME_EXAMPLES: &str = "\
Examples:
  unstuck resume
  unstuck resume --max-wait 0        from cron: do what can be done now, then leave";

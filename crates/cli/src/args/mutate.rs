//! `unstuck mutate` on the command line.

use std::ffi::OsString;

use unstuck_core::time::Span;

use super::value::parse_span;

/// Do something that cannot be taken back, once
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command that does something which cannot be taken back: charge a card, \
        send a mail, publish a version. The same key is never performed twice: asking again \
        gives what came back the first time, and nothing is run.\n\n\
        What is about to happen is on disk before it happens. When the command is killed, takes too \
        long or ends with any status but 0, it may have got through all the same: then the probe \
        looks, and where there is none or it cannot tell, you are asked, and nothing is repeated \
        until you have said so. Where a status proves that nothing was done, declare it with \
        --not-done.\n\n\
        Its output is what came back, now or the first time. A key is used up for good, in the whole \
        project: `charge-$order` charges each order once, however often the script runs. Where an \
        action is to happen once in every firing of a job, say --scope firing. Inside an agent's \
        shell the action is declared, and happens once after the checks of its task. The command \
        finds a key of our own in UNSTUCK_IDEMPOTENCY_KEY, the same \
        whenever this action is sent: hand it on where the other side takes one.",
    after_long_help = MUTATE_EXAMPLES
)]
pub(crate) struct MutateArgs {
    /// What the action is called; the same key is performed once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: String,

    /// How far the key counts: for good in the whole project, unless it says otherwise
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<MutateKeyScope>,

    /// A shell command that finds out whether it happened: 0 it did, 1 it did not, else it cannot
    /// tell; what it writes is then what came back
    #[arg(long, value_name = "COMMAND")]
    pub(crate) probe: Option<String>,

    /// The exit statuses that mean that it did not happen: 22,7. Without a probe, every status but 0
    /// leaves it open and you are asked
    #[arg(long, value_name = "STATUS", value_delimiter = ',',
          value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) not_done: Vec<u8>,

    /// How long after the call it may still appear, for the probe: 0, 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) settle: Option<Span>,

    /// End the command when it takes longer: 90s, 10m. So is its probe, after a minute at most
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) timeout: Option<Span>,

    /// Give up when something else keeps it from running or being settled for this long: 30s, 5m. Its
    /// own run time does not count
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) max_wait: Option<Span>,

    /// Say nothing but what came back
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How far a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MutateKeyScope {
    /// One firing of the job that it is in with all its retries, or one task of an agent
    Firing,
    /// The whole project, for good
    Project,
}

const MUTATE_EXAMPLES: &str = "\
Examples:
  receipt=$(unstuck mutate --key charge-$order -- curl -fsS -d order=$order https://pay.example/charges)
  unstuck mutate --key invoice-2026-11 --probe './invoices has 2026-11' -- ./invoices send 2026-11
  unstuck mutate --key release-1.4 --timeout 5m --not-done 2 -- ./publish 1.4
  unstuck mutate --key nightly-mail --scope firing -- ./mail-the-team

Exit codes: those of the command; 0 when it was done before; 120 when a person has to say whether
it happened; 121 when it is refused: the key was used for something else, or a person left it out;
75 when --max-wait is over, or 4 where all jobs are paused.";

//! `unstuck mutate` on the command line.

use std::ffi::OsString;

use unstuck_core::time::Span;

use super::value::span;

/// Do something that cannot be taken back, once
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command that does something which cannot be taken back: charge a card, \
        send a mail, publish a version. The same key is never performed twice: whoever asks again \
        gets what came back the first time, and nothing is run.\n\n\
        What is about to happen is on disk before it happens. When the command is killed, takes too \
        long or loses its connection, nobody knows whether it got through: then the probe looks, and \
        where there is none or it cannot tell, you are asked, and nothing is repeated until you \
        have said so.\n\n\
        Its output is what came back, now or the first time. A key is used up for good, in the whole \
        project: `charge-$order` charges each order once, however often the script runs. Where an \
        action is to happen once in every firing of a job, say --scope firing. Inside an agent's \
        shell the action is declared, and happens once after the checks of its task. The command \
        finds a key of our own in UNSTUCK_IDEMPOTENCY_KEY, the same \
        whenever this action is sent: hand it on where the other side takes one.",
    after_long_help = MUTATE_EXAMPLES
)]
pub(crate) struct Mutate {
    /// What the action is called; the same key is performed once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: String,

    /// How far the key counts: for good in the whole project, unless an agent's task declares it
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<KeyScope>,

    /// A shell command that finds out whether it happened: 0 it did, 1 it did not, else it cannot
    /// tell; what it writes is then what came back
    #[arg(long, value_name = "COMMAND")]
    pub(crate) probe: Option<String>,

    /// How long after the call it may still appear, for the probe: 0, 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) settle: Option<Span>,

    /// End the command when it takes longer: 90s, 10m. So is its probe, after a minute at most
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) timeout: Option<Span>,

    /// Say nothing but what came back
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How far a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeyScope {
    /// One firing of the job that it is in, with all its retries
    Firing,
    /// The whole project, for good
    Project,
}

const MUTATE_EXAMPLES: &str = "\
Examples:
  receipt=$(unstuck mutate --key charge-$order -- curl -fsS -d order=$order https://pay.example/charges)
  unstuck mutate --key invoice-2026-11 --probe './invoices has 2026-11' -- ./invoices send 2026-11
  unstuck mutate --key release-1.4 --timeout 5m -- npm publish
  unstuck mutate --key nightly-mail --scope firing -- ./mail-the-team

Exit codes: those of the command; 0 when it was done before; 120 when a person has to say whether
it happened; 121 when it is refused: the key was used for something else, or a person left it out.";

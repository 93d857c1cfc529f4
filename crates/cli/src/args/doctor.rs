//! `unstuck doctor` on the command line.

use super::config::ConfigFileArgs;

/// Say whether a run could begin here, and what to do where it could not
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Looks at everything that a run needs: the settings, git and the repository, the \
        agent and the way into its account, the checks, the store, what this system can keep \
        agents from, room on the disk, and the clock. Each is one line: ✔ fine, ! worth a look, \
        ✘ in the way, with what to do about it.\n\n\
        With --wall it plays the attacker instead: in a folder that is thrown away, behind the wall \
        that a build would use, it tries to write outside, to read what is hidden, to reach other \
        processes and the network, and to break out by system calls, and says what held.\n\n\
        It begins nothing, makes no call that costs anything, and holds up no work on \
        the project.",
    after_long_help = EXAMPLES
)]
pub(crate) struct DoctorArgs {
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Try to break out of the wall around agents, and say what held
    #[cfg(target_os = "linux")]
    #[arg(long)]
    pub(crate) wall: bool,

    #[command(flatten)]
    pub(crate) config: ConfigFileArgs,
}

const EXAMPLES: &str = "\
Examples:
  unstuck doctor
  unstuck doctor --json
  unstuck doctor --wall
  unstuck doctor && unstuck run tasks/

Exit codes: 0 a run could begin, or the wall held against everything; 77 a login, a key or a permission is missing; 78 something else is
in the way.";

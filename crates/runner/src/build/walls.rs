//! The report on which parts of the sandbox this machine enforces, made when the first agent
//! begins.

use std::sync::atomic::Ordering;

use unstuck_world::commands::Network;
use unstuck_world::process::{Held, Hold};

use super::world::Shared;
use crate::world::Order;

/// The enforced sandbox of an agent, and its network access.
pub(super) type Walls = (Held, Reached);

/// The network access of agents.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reached {
    /// The hosts that a proxy lets through.
    AllowedHosts,
    /// The network that their commands have.
    ByCommands(Network),
}

impl Shared {
    /// Reports the enforced sandbox once, because it depends on the machine and is the same for all
    /// tasks. `find_out` tries the sandbox.
    pub(super) async fn tell_walls(&self, order: &Order, find_out: impl FnOnce() -> Walls) {
        if self.settings.says_walls && !self.walls_told.swap(true, Ordering::Relaxed) {
            self.remark(order, &words(find_out())).await;
        }
    }
}

fn words((held, reached): Walls) -> String {
    let files = match held.files {
        Hold::Fully | Hold::Partly => {
            let mut cannot = vec!["write outside their own copy of the project"];
            cannot.extend(held.reading.is_full().then_some("read your home folder"));
            cannot.extend(held.processes.is_full().then_some("touch your other programs"));
            let last = cannot.pop().unwrap_or_default();
            let before = cannot.join(", ");
            let cannot =
                if before.is_empty() { last.to_owned() } else { format!("{before} or {last}") };
            let but = if held.files.is_full() {
                ""
            } else {
                " They can still write to shared temporary folders, and change who may read a file."
            };
            format!("Agents cannot {cannot}.{but}")
        }
        Hold::NotPossible | Hold::NotWanted => {
            "This machine cannot keep agents from writing outside their own copy of the project. What \
             they change in the project is checked in any case."
                .to_owned()
        }
    };
    let network = match reached {
        Reached::AllowedHosts => "They reach the hosts that your settings allow, and no others.",
        Reached::ByCommands(commands) => left_to_commands(commands),
    };
    format!("{files} {network}")
}

const fn left_to_commands(network: Network) -> &'static str {
    match network {
        Network::Open => "They can use the network.",
        Network::NotPossible => "This machine cannot keep their commands off the network.",
        Network::Landlock => "Their commands cannot open ordinary connections.",
        Network::Bubblewrap | Network::Unshare => "Their commands have no network.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unstuck_core::text::lint;

    #[test]
    fn its_texts_are_plain() {
        for hold in [Hold::Fully, Hold::Partly, Hold::NotPossible, Hold::NotWanted] {
            let held = Held { files: hold, reading: hold, processes: hold, ..Held::default() };
            let networks = [
                Network::Open,
                Network::NotPossible,
                Network::Landlock,
                Network::Bubblewrap,
                Network::Unshare,
            ];
            let networks = networks.into_iter().map(Reached::ByCommands);
            for reached in networks.chain([Reached::AllowedHosts]) {
                let words = words((held, reached));
                assert_eq!(lint(&words), [], "{words}");
            }
        }
    }
}

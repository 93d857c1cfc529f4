//! What this machine really keeps agents from, said when the first of them begins.

use std::sync::atomic::Ordering;

use unstuck_world::commands::Network;
use unstuck_world::process::{Held, Hold};

use super::world::Shared;
use crate::world::Order;

/// What stands around an agent, and around the connections of its commands.
pub(super) type Walls = (Held, Network);

impl Shared {
    /// Says it once: it is the machine's, and the same for all. Finding out tries the walls.
    pub(super) async fn tell_walls(&self, order: &Order, find_out: impl FnOnce() -> Walls) {
        if self.settings.says_walls && !self.walls_told.swap(true, Ordering::Relaxed) {
            self.narrate(order, &words(find_out())).await;
        }
    }
}

fn words((held, network): Walls) -> String {
    let files = match held.files {
        Hold::Fully | Hold::Partly => {
            let but = if held.files.is_full() {
                ""
            } else {
                " I can still write to shared temporary folders, and change who may read a file."
            };
            let beside = match (held.reading.is_full(), held.processes.is_full()) {
                (true, true) => " I cannot read your home folder or touch your other programs.",
                (true, false) => " I cannot read your home folder.",
                (false, true) => " I cannot touch your other programs.",
                (false, false) => "",
            };
            format!(
                "This machine keeps me from writing outside my own copy of the project.{but}{beside}"
            )
        }
        Hold::NotPossible | Hold::NotWanted => {
            "This machine cannot keep me from writing outside my own copy of the project. What I change \
             in the project is checked in any case."
                .to_owned()
        }
    };
    let network = match network {
        Network::Open => "I can use the network.",
        Network::NotPossible => "It cannot keep my commands off the network.",
        Network::Landlock => "My commands cannot open ordinary connections.",
        Network::Bubblewrap | Network::Unshare => "My commands have no network.",
    };
    format!("{files} {network}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use unstuck_core::text::lint;

    #[test]
    fn everybody_can_read_it() {
        for hold in [Hold::Fully, Hold::Partly, Hold::NotPossible, Hold::NotWanted] {
            let held = Held { files: hold, reading: hold, processes: hold, ..Held::default() };
            for network in [
                Network::Open,
                Network::NotPossible,
                Network::Landlock,
                Network::Bubblewrap,
                Network::Unshare,
            ] {
                let words = words((held, network));
                assert_eq!(lint(&words), [], "{words}");
            }
        }
    }
}

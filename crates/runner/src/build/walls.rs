//! What this machine really keeps agents from, said when the first of them begins.

use std::sync::atomic::Ordering;

use unstuck_world::commands::Network;
use unstuck_world::process::Hold;

use super::world::Shared;
use crate::world::Order;

/// What stands around an agent: for its files, and for the connections of its commands.
pub(super) type Walls = (Hold, Network);

impl Shared {
    /// Says it once: it is the machine's, and the same for all. Finding out tries the walls.
    pub(super) async fn tell_walls(&self, order: &Order, find_out: impl FnOnce() -> Walls) {
        if self.settings.says_walls && !self.walls_told.swap(true, Ordering::Relaxed) {
            self.narrate(order, &words(find_out())).await;
        }
    }
}

fn words((files, network): Walls) -> String {
    let files = match files {
        Hold::Fully => "This machine keeps me from writing outside my own copy of the project.",
        Hold::Partly => {
            "This machine keeps me from writing outside my own copy of the project, but not from emptying \
             a file."
        }
        Hold::NotPossible | Hold::NotWanted => {
            "This machine cannot keep me from writing outside my own copy of the project. What I change \
             in the project is checked in any case."
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
        for files in [Hold::Fully, Hold::Partly, Hold::NotPossible, Hold::NotWanted] {
            for network in [
                Network::Open,
                Network::NotPossible,
                Network::Landlock,
                Network::Bubblewrap,
                Network::Unshare,
            ] {
                let words = words((files, network));
                assert_eq!(lint(&words), [], "{words}");
            }
        }
    }
}

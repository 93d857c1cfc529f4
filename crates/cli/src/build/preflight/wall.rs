//! Whether an agent that may do everything is kept in.

use unstuck_core::fault::Code;
use unstuck_world::process::Wall;

use super::Concern;
use crate::settings::{FILE, Permissions, Settings};

const WALL: &str = "wall";

/// An agent that may do everything does not begin where the machine cannot keep it in, unless the
/// settings say so.
pub(super) fn inspect(settings: &Settings) -> Option<Concern> {
    let everything = settings.agent.permissions == Permissions::Everything;
    if !everything || settings.wall.allow_missing {
        return None;
    }
    let held = Wall::usual(std::env::var_os("PATH").as_deref()).try_out();
    (!held.is_whole()).then(|| {
        let says =
            "agent.permissions is \"everything\", and this machine cannot keep agents from your \
                    files and programs"
                .to_owned();
        let todo = format!(
            "install bubblewrap (`unstuck doctor --wall` says what it holds), or write \
             `allow_missing = true` below [wall] in {FILE}"
        );
        Concern::stops(WALL, Code::PreconditionMissing, says, todo)
    })
}

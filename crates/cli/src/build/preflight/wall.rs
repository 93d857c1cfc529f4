//! Checks that an agent with all permissions runs in a sandbox.

use unstuck_core::fault::Code;
use unstuck_world::process::Wall;

use super::PreflightConcern;
use crate::settings::{AgentPermissionsSetting, FILE, Settings};

const WALL: &str = "wall";

/// Returns a concern that stops the run if an agent with all permissions would start on a machine without a
/// complete sandbox, unless the settings allow it.
pub(super) fn inspect_sandbox(settings: &Settings) -> Option<PreflightConcern> {
    let everything = settings.agent.permissions == AgentPermissionsSetting::Everything;
    if !everything || settings.wall.allow_missing {
        return None;
    }
    let held = Wall::with_usual_paths(std::env::var_os("PATH").as_deref()).try_out();
    (!held.is_whole()).then(|| {
        let says =
            "agent.permissions is \"everything\", and this machine cannot keep agents from your \
                    files and programs"
                .to_owned();
        let todo = format!(
            "install bubblewrap (`unstuck doctor --wall` says what it holds), or write \
             `allow_missing = true` below [wall] in {FILE}"
        );
        PreflightConcern::new_stop(WALL, Code::PreconditionMissing, says, todo)
    })
}

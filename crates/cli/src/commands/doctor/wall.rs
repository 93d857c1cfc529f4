//! `unstuck doctor --wall`: carries out attacks in a throw-away folder, behind the sandbox that a build
//! would use, and reports which were refused.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use unstuck_world::egress::EgressPolicy;
use unstuck_world::process::attack::{
    ATTACKS, Attack, AttackedPart, AttackerWall, FILE_BYTES, MEMORY_BYTES, THREADS,
};
use unstuck_world::process::{
    Connections, EnforcementLevel, GuardCommand, Launch, ProcessDeadlines, ProcessEnd,
    ResourceLimits, Wall, WallEnforcement,
};
use unstuck_world::workspace::build_wall_around;

use crate::build::installed_providers;
use crate::commands::target::SandboxTestTarget;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, LocalProject};
use crate::render::{Terminal, style, wrap_text};
use crate::settings::{AgentPermissionsSetting, Provider};

const ATTACK_MAX: Duration = Duration::from_secs(10);
/// The remedy for missing namespaces.
const INSTALL: &str = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`) and allow \
     unprivileged user namespaces";

/// The note for Codex on a machine without namespaces.
const OWN_SANDBOX: &str = "Without bubblewrap, Codex works in its own sandbox and not in this one: these \
     attacks show what holds for your setup, checks, hooks and actions. Codex says that its commands cannot \
     write outside the task's copy of the project and the shared temporary folders, and that they have no \
     network; Unstuck has not tried that. They can read your home folder.";

#[derive(Debug, Serialize)]
struct AttackResult {
    attack: &'static str,
    tries: &'static str,
    held: bool,
    /// The layer that refused the attack, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
}

#[derive(Serialize)]
struct SandboxReport<'a> {
    /// Set if every attack was refused.
    held: bool,
    /// The state of the sandbox, as the guard reports it.
    wall: WallEnforcement,
    attacks: &'a [AttackResult],
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<&'static str>,
    /// Set if the agent of the settings works in its own sandbox, which no attack was tried in.
    own_sandbox: bool,
    /// What the attacks do not say about the agent of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

pub(super) fn run_attacks(
    project: &LocalProject,
    json: bool,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let folder = project.unstuck_folder().join("doctor");
    let in_folder = CliError::unusable(&folder);
    let place = AttackFolder::create(&folder, project.root()).map_err(in_folder)?;
    let guard = project::own_guard()?;
    let tried = project::create_runtime()?.block_on(try_all_attacks(&place, &guard));
    place.remove().map_err(in_folder)?;
    let (wall, attacks) = tried?;
    let held = attacks.iter().all(|tried| tried.held);
    let todo = (!held && !wall.namespaces).then_some(INSTALL);
    let agent = &project.settings()?.settings.agent;
    let provider = agent.provider.or_else(|| installed_providers().next());
    let own_sandbox = !wall.namespaces && has_own_sandbox(provider, agent.permissions);
    let note = own_sandbox.then_some(OWN_SANDBOX);
    let report = SandboxReport { held, wall, attacks: &attacks, todo, own_sandbox, note };
    terminal
        .write_result(json, &report, |out| write_attacks(out, &report, terminal.line_width()))?;
    Ok(if held { Exit::Done } else { Exit::Config })
}

/// Returns whether an agent works in a sandbox of its own on a machine without namespaces.
fn has_own_sandbox(provider: Option<Provider>, permissions: AgentPermissionsSetting) -> bool {
    provider == Some(Provider::CodexCli) && permissions == AgentPermissionsSetting::Listed
}

async fn try_all_attacks(
    place: &AttackFolder,
    guard: &GuardCommand,
) -> Result<(WallEnforcement, Vec<AttackResult>), CliError> {
    let in_folder = CliError::unusable(&place.folder);
    let mut held = WallEnforcement::default();
    let mut all = Vec::new();
    for attack in ATTACKS {
        place.restore().map_err(in_folder)?;
        let process = place.prepare_launch(guard, attack).await.map_err(in_folder)?.start().await?;
        held = process.wall_enforcement();
        let ended = process.wait().await;
        let counted = matches!(ended.how, ProcessEnd::BeyondLimit(_));
        let refused =
            matches!(ended.how, ProcessEnd::Exited(status) if Attack::is_refused_by(status));
        let is_held = (refused || counted) && place.target.is_untouched();
        let by = is_held.then(|| refusing_layer(held, attack.against)).flatten();
        all.push(AttackResult { attack: attack.name, tries: attack.tries, held: is_held, by });
    }
    Ok((held, all))
}

fn refusing_layer(held: WallEnforcement, against: AttackedPart) -> Option<&'static str> {
    match against {
        AttackedPart::Calls if held.calls.is_full() => Some("seccomp"),
        AttackedPart::Limits if held.limits.is_full() => Some("limits of the system"),
        AttackedPart::Limits => Some("counting them, which ended it"),
        AttackedPart::Memory if held.memory.is_full() => Some("limits of the system"),
        AttackedPart::Memory => Some("measuring it, which ended it"),
        AttackedPart::FileSize => Some("limits of the system"),
        _ if held.namespaces => Some("namespaces"),
        AttackedPart::Files if held.files != EnforcementLevel::NotPossible => Some("Landlock"),
        AttackedPart::Reading if held.reading != EnforcementLevel::NotPossible => Some("Landlock"),
        AttackedPart::Network if held.network != EnforcementLevel::NotPossible => {
            Some("Landlock and seccomp")
        }
        AttackedPart::Processes if held.processes != EnforcementLevel::NotPossible => {
            Some("Landlock")
        }
        _ => None,
    }
}

/// A throw-away folder around the target.
struct AttackFolder {
    folder: PathBuf,
    root: PathBuf,
    target: SandboxTestTarget,
}

impl AttackFolder {
    fn create(folder: &Path, root: &Path) -> io::Result<Self> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder.join("work"))?;
        let folder = folder.canonicalize()?;
        let target = SandboxTestTarget::create(folder.join("outside"), folder.join("hidden"))?;
        Ok(Self { folder, root: root.to_owned(), target })
    }

    fn work_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    fn restore(&self) -> io::Result<()> {
        fs::remove_dir_all(self.work_folder())?;
        fs::create_dir(self.work_folder())?;
        self.target.restore()
    }

    async fn prepare_launch(&self, guard: &GuardCommand, attack: &Attack) -> io::Result<Launch> {
        let lock = self.folder.join("lock");
        let mut launch = Launch::new(guard.clone(), lock, self.work_folder(), &guard.executable);
        launch.arguments = self.target.attack_arguments(attack)?;
        launch.deadlines =
            ProcessDeadlines { total: Some(ATTACK_MAX), ..ProcessDeadlines::default() };
        launch.wall = self.build_sandbox(guard);
        match attack.behind {
            AttackerWall::Command => launch.wall.network = Connections::Closed(Vec::new()),
            AttackerWall::Check => {
                let socket = self.folder.join("proxy");
                EgressPolicy::Closed
                    .apply_to_run(&socket, &mut launch.wall, &mut Vec::new())
                    .await?;
            }
        }
        Ok(launch)
    }

    fn build_sandbox(&self, guard: &GuardCommand) -> Wall {
        let environment: Vec<_> = std::env::vars_os().collect();
        let private = self.folder.join("private");
        let mut wall = build_wall_around(&self.root, &self.work_folder(), &private, &environment);
        wall.hidden.push(self.target.hidden.clone());
        wall.readable.push(self.folder.clone());
        wall.readable.push(guard.executable.clone());
        wall.limits = ResourceLimits {
            processes: Some(THREADS / 2),
            memory_bytes: Some(MEMORY_BYTES / 2),
            file_bytes: Some(FILE_BYTES / 2),
            ..ResourceLimits::default()
        };
        wall
    }

    fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)
    }
}

fn write_attacks(
    out: &mut impl Write,
    report: &SandboxReport<'_>,
    line_width: usize,
) -> io::Result<()> {
    let SandboxReport { held, attacks, todo, note, .. } = *report;
    let width = attacks.iter().map(|tried| tried.attack.len()).max().unwrap_or_default();
    for AttackResult { attack, tries, held, by } in attacks {
        let (mark, look) = if *held { ("✔", style::HINT) } else { ("✘", style::ERROR) };
        let came = match (held, by) {
            (true, Some(by)) => format!("refused by {by}"),
            (true, None) => "refused by the system".to_owned(),
            (false, _) => "got through".to_owned(),
        };
        writeln!(out, "{look}{mark}{look:#} {attack:width$}  {tries}: {came}")?;
    }
    let through = attacks.iter().filter(|tried| !tried.held).count();
    let verdict = match (held, todo) {
        (true, _) => format!("The wall held against all {} attacks.", attacks.len()),
        (false, None) => format!("{through} of {} attacks got through.", attacks.len()),
        (false, Some(todo)) => {
            format!("{through} of {} attacks got through → {todo}", attacks.len())
        }
    };
    writeln!(out, "\n{}", wrap_text(&verdict, 0, line_width))?;
    note.map_or(Ok(()), |note| writeln!(out, "{}", wrap_text(note, 0, line_width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codex_with_listed_permissions_has_a_sandbox_of_its_own() {
        let listed = AgentPermissionsSetting::Listed;
        assert!(has_own_sandbox(Some(Provider::CodexCli), listed));
        assert!(!has_own_sandbox(Some(Provider::CodexCli), AgentPermissionsSetting::Everything));
        assert!(!has_own_sandbox(Some(Provider::ClaudeCli), listed));
        assert!(!has_own_sandbox(None, listed));
    }
}

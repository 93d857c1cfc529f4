//! The scripted part of the demo: the tasks, the actions of the agents, and the shop with its repository, its
//! remote and a hosting account with a revoked key. The results are determined as in any build, by git and by
//! the shop's own tests.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use unstuck_core::engine::EffectKind;
use unstuck_core::fault::{Fault, Tool};
use unstuck_core::plan::{
    Call, CommandCall, GateKey, MutationKind, MutationSpec, Plan, ProbeCommand, TaskSpec,
};
use unstuck_core::time::Span;

use crate::error::CliError;

/// The account of all agents of the night.
const ACCOUNT: GateKey = GateKey(1);

pub(super) struct DemoChapter {
    pub(super) name: &'static str,
    title: &'static str,
    needs: &'static [&'static str],
    /// Paths that may be changed.
    pub(super) allowed: &'static [&'static str],
    /// The check that must be green.
    pub(super) check: &'static str,
    /// The script of the agent, attempt by attempt.
    pub(super) script: &'static str,
    last: DemoLastStep,
}

enum DemoLastStep {
    Merged,
    Pushed,
    Deployed,
}

/// All tasks, in the order of the plan.
pub(super) const CHAPTERS: [DemoChapter; 6] = [
    DemoChapter {
        name: "timeouts",
        title: "Add timeouts",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/client.sh",
        script: include_str!("agents/timeouts.toml"),
        last: DemoLastStep::Merged,
    },
    DemoChapter {
        name: "webhook",
        title: "Payment webhook",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/webhook.sh",
        script: include_str!("agents/webhook.toml"),
        last: DemoLastStep::Merged,
    },
    DemoChapter {
        name: "preview",
        title: "Deploy the preview",
        needs: &[],
        allowed: &["preview.conf"],
        check: "test -s preview.conf",
        script: include_str!("agents/preview.toml"),
        last: DemoLastStep::Deployed,
    },
    DemoChapter {
        name: "importer",
        title: "Faster importer",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/importer.sh",
        script: include_str!("agents/importer.toml"),
        last: DemoLastStep::Merged,
    },
    DemoChapter {
        name: "notes",
        title: "Release notes",
        needs: &["timeouts"],
        allowed: &["NOTES.md"],
        check: "test -s NOTES.md",
        script: include_str!("agents/notes.toml"),
        last: DemoLastStep::Pushed,
    },
    DemoChapter {
        name: "tidy",
        title: "Tidy the settings page",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/settings.sh",
        script: include_str!("agents/tidy.toml"),
        last: DemoLastStep::Merged,
    },
];

pub(super) fn night_plan() -> Arc<Plan> {
    // The tasks are defined above: names are unique, and there are no cycles.
    Plan::new(CHAPTERS.iter().map(DemoChapter::to_spec).collect())
        .map_or_else(|_| unreachable!("the story's plan holds"), Arc::new)
}

impl DemoChapter {
    fn to_spec(&self) -> TaskSpec {
        let mut mutations = vec![git_mutation("merge", MutationKind::Merge)];
        match self.last {
            DemoLastStep::Merged => {}
            DemoLastStep::Pushed => mutations.push(git_mutation("push", MutationKind::Push)),
            DemoLastStep::Deployed => mutations.push(deploy_mutation()),
        }
        TaskSpec {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            goal: format!("{}.", self.title),
            depends_on: self.needs.iter().map(|&need| need.to_owned()).collect(),
            gate: ACCOUNT,
            validate: Some(vec![self.check.to_owned()]),
            mutations: mutations.into_iter().map(Arc::new).collect(),
            ..TaskSpec::default()
        }
    }
}

fn git_mutation(key: &str, kind: MutationKind) -> MutationSpec {
    MutationSpec {
        key: key.to_owned(),
        kind,
        idempotent: true,
        probe: true,
        ..MutationSpec::default()
    }
}

fn deploy_mutation() -> MutationSpec {
    let shell = |more: &[&str]| ["deploy.sh"].iter().chain(more).map(|&a| a.to_owned()).collect();
    let call =
        CommandCall { program: "sh".to_owned(), arguments: shell(&[]), ..CommandCall::default() };
    let look = ProbeCommand {
        program: "sh".to_owned(),
        arguments: shell(&["--there"]),
        ..ProbeCommand::default()
    };
    // The script returns when it is done, so a result that is missing then does not appear later.
    let settle_ms = Span::ZERO;
    let spec = MutationSpec::from_call("preview", Call::Command(call)).with_probe_command(look);
    MutationSpec { settle_ms, ..spec }
}

/// Returns the virtual time that a piece of work takes. Real work takes no virtual time.
pub(super) fn virtual_duration(task: &str, work: EffectKind, attempt: u32) -> Span {
    match work {
        EffectKind::Attempt { .. } => {
            let length = u64::try_from(task.len()).unwrap_or_default();
            Span::from_secs(35 + 37 * length % 180 + 60 * u64::from(attempt))
        }
        EffectKind::Check => Span::from_secs(40),
        EffectKind::Perform { .. } => Span::from_secs(3),
        _ => Span::from_secs(1),
    }
}

const FILES: [(&str, &str); 11] = [
    ("README.md", include_str!("shop/README.md")),
    ("deploy.sh", include_str!("shop/deploy.sh")),
    ("billing/prices.toml", include_str!("shop/billing/prices.toml")),
    ("src/client.sh", include_str!("shop/src/client.sh")),
    ("src/importer.sh", include_str!("shop/src/importer.sh")),
    ("src/settings.sh", include_str!("shop/src/settings.sh")),
    ("src/webhook.sh", include_str!("shop/src/webhook.sh")),
    ("tests/client.sh", include_str!("shop/tests/client.sh")),
    ("tests/importer.sh", include_str!("shop/tests/importer.sh")),
    ("tests/settings.sh", include_str!("shop/tests/settings.sh")),
    ("tests/webhook.sh", include_str!("shop/tests/webhook.sh")),
];
/// The hook that lets the first push arrive while its response is lost.
const HOOK: &str = include_str!("shop/reference-transaction");
/// The owner of the shop.
pub(super) const PERSON: (&str, &str) = ("Ada", "ada@example.org");
/// The date of the first commit, fixed so that the same night leads to the same commits.
const OPENED: &str = "@43200 +0000";

pub(super) struct DemoShop {
    folder: PathBuf,
}

impl DemoShop {
    /// Opens the shop in a folder, and creates it if there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, CliError> {
        let shop = Self { folder: folder.join("shop") };
        if !shop.folder.exists() {
            // Created under another name, so that a kill leaves no partial shop.
            let making = Self { folder: folder.join("making") };
            let place = CliError::unusable(&making.folder);
            let _ = fs::remove_dir_all(&making.folder);
            making.create_files()?;
            fs::rename(&making.folder, &shop.folder).map_err(place)?;
        }
        Ok(shop)
    }

    /// Returns the path of the owner's repository.
    pub(super) fn repository_path(&self) -> PathBuf {
        self.folder.join("repository")
    }

    pub(super) fn remote_path(&self) -> PathBuf {
        self.folder.join("remote.git")
    }

    pub(super) fn hosting_path(&self) -> PathBuf {
        self.folder.join("hosting")
    }

    /// Renews the key of the hosting account, as a person would.
    pub(super) fn renew_key(&self) -> Result<(), CliError> {
        write_file(&self.hosting_path().join("key"), "renewed\n")
    }

    fn create_files(&self) -> Result<(), CliError> {
        let repository = self.repository_path();
        for (path, text) in FILES {
            write_file(&repository.join(path), text)?;
        }
        run_git(&repository, &["init", "--quiet", "--initial-branch=main"])?;
        run_git(&repository, &["add", "--all"])?;
        run_git(&repository, &["commit", "--quiet", "--message=A small shop"])?;
        let remote = self.remote_path();
        fs::create_dir(&remote).map_err(CliError::unusable(&remote))?;
        run_git(&remote, &["init", "--quiet", "--bare", "--initial-branch=main"])?;
        let hook = remote.join("hooks/reference-transaction");
        write_file(&hook, HOOK)?;
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))
            .map_err(CliError::unusable(&hook))?;
        write_file(&self.hosting_path().join("key"), "revoked\n")
    }
}

fn write_file(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(CliError::unusable(path))
}

/// Runs git without any settings of the user.
fn run_git(directory: &Path, args: &[&str]) -> Result<(), CliError> {
    let (name, email) = PERSON;
    let mut command = Command::new("git");
    command.current_dir(directory).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), name).env(format!("GIT_{who}_EMAIL"), email);
        command.env(format!("GIT_{who}_DATE"), OPENED);
    }
    let Output { status, stderr, .. } = command.output().map_err(|error| {
        let tool = Tool { command: Some("git".to_owned()), ..Tool::default() };
        Fault::tool_missing("demo", format!("git cannot be started: {error}"), tool)
    })?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    Err(CliError::unusable(Path::new("git"))(io::Error::other(said)))
}

#[cfg(test)]
mod tests {
    use unstuck_world::provider::script::AgentScript;

    use super::*;

    #[test]
    fn the_plan_and_all_scripts_can_be_read() {
        night_plan();
        for chapter in &CHAPTERS {
            AgentScript::parse(chapter.script, chapter.name).unwrap();
        }
    }
}

//! The scripted part of the demo: the tasks and the actions of the agents. The results are determined as in
//! any build, by git and by the shop's own tests.

use std::sync::Arc;

use unstuck_core::engine::Work;
use unstuck_core::plan::{
    Call, CommandCall, GateKey, MutationKind, MutationSpec, Plan, ProbeCommand, TaskSpec,
};
use unstuck_core::time::Span;

/// The account of all agents of the night.
const ACCOUNT: GateKey = GateKey(1);

/// A task of the night.
pub(super) struct Chapter {
    pub(super) name: &'static str,
    title: &'static str,
    needs: &'static [&'static str],
    /// Paths that may be changed.
    pub(super) allowed: &'static [&'static str],
    /// The check that must be green.
    pub(super) check: &'static str,
    /// The script of the agent, attempt by attempt.
    pub(super) script: &'static str,
    last: Last,
}

/// The last step of the work.
enum Last {
    Merged,
    Pushed,
    Deployed,
}

/// All tasks, in the order of the plan.
pub(super) const CHAPTERS: [Chapter; 6] = [
    Chapter {
        name: "timeouts",
        title: "Add timeouts",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/client.sh",
        script: include_str!("agents/timeouts.toml"),
        last: Last::Merged,
    },
    Chapter {
        name: "webhook",
        title: "Payment webhook",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/webhook.sh",
        script: include_str!("agents/webhook.toml"),
        last: Last::Merged,
    },
    Chapter {
        name: "preview",
        title: "Deploy the preview",
        needs: &[],
        allowed: &["preview.conf"],
        check: "test -s preview.conf",
        script: include_str!("agents/preview.toml"),
        last: Last::Deployed,
    },
    Chapter {
        name: "importer",
        title: "Faster importer",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/importer.sh",
        script: include_str!("agents/importer.toml"),
        last: Last::Merged,
    },
    Chapter {
        name: "notes",
        title: "Release notes",
        needs: &["timeouts"],
        allowed: &["NOTES.md"],
        check: "test -s NOTES.md",
        script: include_str!("agents/notes.toml"),
        last: Last::Pushed,
    },
    Chapter {
        name: "tidy",
        title: "Tidy the settings page",
        needs: &[],
        allowed: &["src/**"],
        check: "sh tests/settings.sh",
        script: include_str!("agents/tidy.toml"),
        last: Last::Merged,
    },
];

/// Returns the plan of the night.
pub(super) fn plan() -> Arc<Plan> {
    // The tasks are defined above: names are unique, and there are no cycles.
    Plan::new(CHAPTERS.iter().map(Chapter::spec).collect())
        .map_or_else(|_| unreachable!("the story's plan holds"), Arc::new)
}

impl Chapter {
    fn spec(&self) -> TaskSpec {
        let mut mutations = vec![of_git("merge", MutationKind::Merge)];
        match self.last {
            Last::Merged => {}
            Last::Pushed => mutations.push(of_git("push", MutationKind::Push)),
            Last::Deployed => mutations.push(deploy()),
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

fn of_git(key: &str, kind: MutationKind) -> MutationSpec {
    MutationSpec {
        key: key.to_owned(),
        kind,
        idempotent: true,
        probe: true,
        ..MutationSpec::default()
    }
}

fn deploy() -> MutationSpec {
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
    let spec = MutationSpec::calling("preview", Call::Command(call)).looked_up_by(look);
    MutationSpec { settle_ms, ..spec }
}

/// Returns the virtual time that a piece of work takes. Real work takes no virtual time.
pub(super) fn takes(task: &str, work: Work, attempt: u32) -> Span {
    match work {
        Work::Attempt { .. } => {
            let length = u64::try_from(task.len()).unwrap_or_default();
            Span::from_secs(35 + 37 * length % 180 + 60 * u64::from(attempt))
        }
        Work::Check => Span::from_secs(40),
        Work::Perform { .. } => Span::from_secs(3),
        _ => Span::from_secs(1),
    }
}

#[cfg(test)]
mod tests {
    use unstuck_world::provider::script::Script;

    use super::*;

    #[test]
    fn the_plan_and_all_scripts_can_be_read() {
        plan();
        for chapter in &CHAPTERS {
            Script::read(chapter.script, chapter.name).unwrap();
        }
    }
}

//! The scripted part of the demo: the tasks and the actions of the agents. The results are determined as in
//! any build, by git and by the shop's own tests.

use std::sync::Arc;

use unstuck_core::engine::EffectKind;
use unstuck_core::plan::{
    Call, CommandCall, GateKey, MutationKind, MutationSpec, Plan, ProbeCommand, TaskSpec,
};
use unstuck_core::time::Span;

/// The account of all agents of the night.
const ACCOUNT: GateKey = GateKey(1);

/// A task of the night.
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

/// The last step of the work.
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

/// Returns the plan of the night.
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

//! Generation of plans and jobs, typical and untypical ones.

use std::sync::Arc;

use unstuck_core::engine::{Command, GateKey};
use unstuck_core::plan::{
    JobSpec, MutationKind, MutationSpec, Plan, ScopeSpec, SessionSpec, TaskSpec,
};
use unstuck_core::policy::Amount;
use unstuck_core::time::Span;

use crate::chance::Chance;
use crate::profile::WorldProfile;

/// Generates a command to start a build.
pub fn start_build(profile: &WorldProfile, chance: &mut Chance, number: u32) -> Option<Command> {
    if !profile.apart && chance.one_in(5) {
        return draw_session(profile, chance, number);
    }
    let count = 1 + chance.draw_index(6);
    let mut tasks: Vec<TaskSpec> = Vec::with_capacity(count);
    for at in 0..count {
        let mut spec = draw_task(profile, chance, &format!("b{number}t{at}"));
        draw_scope(profile, &mut spec);
        if chance.one_in(10) && !profile.apart {
            spec.job = Some(JobSpec::default());
            spec.mutations.clear();
        }
        for earlier in &tasks {
            if chance.one_in(4) {
                spec.depends_on.push(earlier.name.clone());
            }
        }
        tasks.push(spec);
    }
    // Later tasks first, so that the order of the plan is not the order of its dependencies.
    if chance.one_in(3) {
        tasks.reverse();
    }
    let plan = Arc::new(Plan::new(tasks).ok()?);
    let slots = u32::try_from(chance.draw_below(4)).unwrap_or(1);
    Some(Command::StartBuild { plan, slots, in_place: !profile.apart && chance.one_in(6) })
}

/// Generates a session of an external runtime.
fn draw_session(profile: &WorldProfile, chance: &mut Chance, number: u32) -> Option<Command> {
    let mut spec = draw_task(profile, chance, &format!("session{number}"));
    spec.session = Some(SessionSpec::default());
    spec.mutations.clear();
    let plan = Arc::new(Plan::new(vec![spec]).ok()?);
    Some(Command::StartBuild { plan, slots: 1, in_place: false })
}

/// Draws the scope of a task. Independent of all other draws, so that plans differ in nothing but this.
fn draw_scope(profile: &WorldProfile, spec: &mut TaskSpec) {
    const GLOBS: [&str; 8] =
        ["src/**", "src/api/*.rs", "src/a/**", "src/ab/**", "docs/**", "docs/a.md", "**", "lib/x"];
    let mut chance = Chance::for_place(profile.seed, &["scope", &spec.name], 0);
    spec.serialize = chance.one_in(12);
    if chance.one_in(2) {
        let count = 1 + chance.draw_index(2);
        let allowed = (0..count).filter_map(|_| chance.pick_one(&GLOBS)).map(|&g| g.to_owned());
        spec.scope = ScopeSpec { allowed: allowed.collect(), forbidden: Vec::new() };
    }
}

/// Generates a command to define a job.
pub fn define_job(profile: &WorldProfile, chance: &mut Chance, number: u32) -> Command {
    let mut spec = draw_task(profile, chance, &format!("job{number}"));
    spec.job = Some(JobSpec {
        propose_only: chance.one_in(6),
        repair_after_mutation: chance.one_in(4),
        ..JobSpec::default()
    });
    spec.mutations.clear();
    Command::DefineJob { spec: Arc::new(spec) }
}

fn draw_task(profile: &WorldProfile, chance: &mut Chance, name: &str) -> TaskSpec {
    let mut spec = TaskSpec {
        name: name.to_owned(),
        priority: i32::try_from(chance.draw_below(3)).unwrap_or(0),
        gate: GateKey(chance.draw_below(2)),
        ..TaskSpec::default()
    };
    if profile.apart {
        spec.gate = GateKey(Chance::for_place(1, &[name], 0).draw_below(u64::MAX));
    }
    if chance.one_in(8) && !profile.apart {
        spec.overrides.budget = Some(Amount { money_micros: 0, tokens: 30, time_ms: 0 });
        spec.overrides.per_signature = Some(1);
    }
    if chance.one_in(4) {
        return spec;
    }
    let merge = draw_action(profile, chance, "merge", MutationKind::Merge);
    spec.mutations.push(Arc::new(merge));
    if chance.one_in(2) {
        spec.mutations.push(Arc::new(draw_action(profile, chance, "push", MutationKind::Push)));
        if chance.one_in(2) {
            let mut pull = draw_action(profile, chance, "pull", MutationKind::PullRequest);
            pull.requires = Some("push".to_owned());
            spec.mutations.push(Arc::new(pull));
        }
    }
    if chance.one_in(6) && !profile.apart {
        spec.mutations.push(Arc::new(draw_permanent_action(profile, chance)));
    }
    spec
}

/// Generates an action that the whole project performs once.
fn draw_permanent_action(profile: &WorldProfile, chance: &mut Chance) -> MutationSpec {
    let key = format!("shared{}", chance.draw_below(2));
    // The same key means the same action everywhere.
    let mut same = Chance::for_place(profile.seed, &[&key], 0);
    let mut spec = draw_action(profile, &mut same, &key, MutationKind::Http);
    spec.permanent = true;
    spec
}

/// Generates an action with the given key.
pub fn draw_action(
    profile: &WorldProfile,
    chance: &mut Chance,
    key: &str,
    kind: MutationKind,
) -> MutationSpec {
    MutationSpec {
        key: key.to_owned(),
        kind,
        arguments: 7,
        idempotent: profile.apart || chance.one_in(2),
        probe: profile.apart || !chance.one_in(4),
        settle_ms: if chance.one_in(2) { Span::from_secs(30) } else { Span::ZERO },
        ..MutationSpec::default()
    }
}

/// Generates an action that an agent declares or a script performs.
pub fn draw_wanted_action(profile: &WorldProfile, chance: &mut Chance) -> MutationSpec {
    let key = format!("own{}", chance.draw_below(3));
    let mut same = Chance::for_place(profile.seed, &["own", &key], 0);
    let mut spec = draw_action(profile, &mut same, &key, MutationKind::Command);
    if chance.one_in(10) {
        spec.arguments = 8;
    }
    if !profile.apart && chance.one_in(6) {
        spec = draw_permanent_action(profile, chance);
    }
    spec
}

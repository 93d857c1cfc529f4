//! Tests of waits and costs.

use unstuck_core::engine::{BuildState, CLOSINGS_KEPT_MAX, GateClosing, GateState, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::plan::GateKey;
use unstuck_core::policy::Amount;
use unstuck_core::time::{Span, Time};
use unstuck_store::tables::GateRow;

use super::stage::{BEGAN, at, done, facts, task};
use crate::report::{BuildReport, CostCoverage, TaskFacts};

#[test]
fn waits_count_within_the_build_and_say_when_they_are_not_all_known() {
    let closing = |from, to| GateClosing { from, to, code: Code::ProviderUsageLimit };
    let gate = |closings: Vec<GateClosing>, since: Option<Time>| GateRow {
        key: GateKey(1),
        state: GateState::Passing,
        since,
        closed_by: since.map(|_| Code::ProviderOverloaded),
        closings: closings.into(),
        waiters: 0,
        changed_at: BEGAN,
    };
    let many: Vec<GateClosing> = (1..=u64::try_from(CLOSINGS_KEPT_MAX).unwrap())
        .map(|n| closing(at(n), at(n) + Span::from_secs(30)))
        .collect();
    let because = "because the plan was used up for the time being.";
    let cases = [
        (BuildState::Completed, gate(vec![], None), None),
        // A period before the build or after its end does not count.
        (BuildState::Completed, gate(vec![closing(at(70), at(80))], None), None),
        (
            BuildState::Completed,
            gate(vec![closing(BEGAN - Span::from_hours(1), at(20)), closing(at(50), at(80))], None),
            Some(format!("The work waited two times, in all 30 minutes, {because}")),
        ),
        (
            BuildState::Completed,
            gate(many, None),
            Some(format!("The work waited 32 times, in all at least 16 minutes, {because}")),
        ),
        (
            BuildState::Running,
            gate(vec![], Some(at(60))),
            Some(
                "The work waited 30 minutes, because the AI service was too busy. It still waits."
                    .to_owned(),
            ),
        ),
    ];
    for (state, gate, said) in cases {
        let mut facts = facts(state, vec![done("Deploy")]);
        let other = GateRow { key: GateKey(2), ..gate.clone() };
        facts.gates = vec![gate, other];
        let waits = BuildReport::from_facts(&facts).waits;
        let told: Vec<String> = waits.into_iter().map(|wait| wait.said).collect();
        assert_eq!(told, Vec::from_iter(said));
    }
}

#[test]
fn an_unknown_cost_is_not_called_nothing() {
    let spent = |money_micros, tokens| Amount { money_micros, tokens, time_ms: 0 };
    let cases = [
        (vec![spent(5, 1)], CostCoverage::Money),
        (vec![spent(5, 1), spent(0, 0)], CostCoverage::Partly),
        (vec![spent(5, 1), spent(0, 7)], CostCoverage::Partly),
        (vec![spent(0, 7), spent(0, 0)], CostCoverage::TokensOnly),
        (vec![spent(0, 0)], CostCoverage::NotMeasured),
        (vec![], CostCoverage::NotMeasured),
    ];
    for (amounts, priced) in cases {
        let mut tasks: Vec<TaskFacts> = Vec::new();
        for (id, spent) in (0..).zip(amounts) {
            let mut worked = task(id, "Deploy", TaskState::Done);
            worked.row.moved.spent = spent;
            tasks.push(worked);
        }
        let cost = BuildReport::from_facts(&facts(BuildState::Completed, tasks)).cost;
        assert_eq!(cost.priced, priced);
        assert_eq!(cost.took_ms, Span::from_mins(60));
    }
}

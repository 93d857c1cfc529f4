//! Faults of every code, with the facts the engine uses.

use std::sync::Arc;

use unstuck_core::fault::{BudgetSpan, BudgetSpent, Code, Fault, Kind, Origin};
use unstuck_core::time::{Span, Time};

use crate::chance::Chance;
use crate::profile::WorldProfile;

const SPANS: [BudgetSpan; 3] = [BudgetSpan::Task, BudgetSpan::Build, BudgetSpan::Day];

/// Returns a fault of one of the world's codes.
pub fn draw_fault(
    profile: &WorldProfile,
    chance: &mut Chance,
    task: &str,
    now: Time,
) -> Arc<Fault> {
    let code = chance.pick_one(&profile.codes).copied().unwrap_or(Code::LogicError);
    make_fault(profile, chance, code, task, now)
}

/// Returns a fault of `code`.
pub fn make_fault(
    profile: &WorldProfile,
    chance: &mut Chance,
    code: Code,
    task: &str,
    now: Time,
) -> Arc<Fault> {
    let whose = if profile.apart { task } else { "" };
    let meaning = format!("{whose} trouble {}", chance.draw_below(profile.flavours));
    let mut fault = Fault::new(draw_fault_kind(code, chance), "somewhere", meaning);
    if let Some(&origin) = chance.pick_one(Origin::ALL) {
        fault.origin = origin;
    }
    match chance.draw_below(6) {
        0 => fault.retry_after = Some(Span::from_secs(1 + chance.draw_below(3_000))),
        1 => fault.resets_at = Some(now + Span::from_mins(chance.draw_below(300))),
        _ => {}
    }
    // The message differs from the signature on purpose: it must not decide anything.
    fault.message.push_str(profile.words);
    Arc::new(fault)
}

fn draw_fault_kind(code: Code, chance: &mut Chance) -> Kind {
    match code {
        Code::BudgetExhausted => {
            let span = chance.pick_one(&SPANS).copied().unwrap_or_default();
            Kind::BudgetExhausted(BudgetSpent {
                span,
                unit: "tokens".to_owned(),
                ..BudgetSpent::default()
            })
        }
        code => Kind::bare(code),
    }
}

//! Faults: every failure is one of a closed set of codes.
//!
//! The code that detects a failure states its code; no caller downstream reads the message to decide. The one
//! exception is the output of foreign programs, which [`text_rules`] classifies.

mod context;
#[expect(clippy::module_inception, reason = "the file is named after the thing it holds")]
mod fault;
mod page;
pub mod text_rules;

pub use context::{
    Auth, BudgetSpan, BudgetSpent, CheckStage, CommandEnd, Config, Crash, ExpiredCertificate,
    Files, GitOperation, Http, Input, Internal, Kind, Limit, LimitKind, Logic, Missing, NoProgress,
    Permission, Provider, RateLimit, Repeated, Timeout, Tool, Validation,
};
pub use fault::{
    BROKEN_BASE, BROKEN_HOOK, CHECK_FILES, ClassifiedBy, EXPECTED_CHANGE, Fault, KEPT_BASE,
    KEPT_HOOK, MISPLACED_WORK, OF_AGENT, REFUSED_ACTION, REFUSED_MESSAGE, REFUSED_PUSH, SLOW_BASE,
    UNDONE_ACTION,
};
pub use page::{page, render_facts};

pub use crate::code::{
    Asks, Category, Charge, Class, Code, ErrorType, Origin, Reaction, Row, RunFailure, UnknownCode,
    Work,
};

//! A conformance suite for stores, independent of the backend.
//!
//! A backend provides how it is opened ([`StoreOpener`]); the suite feeds real decisions of the engine into it
//! ([`StoreFixture`]), lets the simulated runner crash on top of it ([`simulate_operations`]), and compares the results. Two
//! backends with the same history keep the same rows ([`StoreDump`]).

mod dump;
mod fixture;
mod operations;
pub mod suite;

use std::sync::Arc;

pub use dump::StoreDump;
pub use fixture::{PROJECT, StoreFixture, make_fault, make_holder, make_task};
pub use operations::{StoreOperation, play_operations, simulate_operations};
use unstuck_store::Store;

use crate::check::Violation;

/// A place where a store can be opened. Each opening simulates another process that finds what the previous
/// one left behind; the previous one is gone by then.
pub trait StoreOpener: Send + Sync {
    /// Opens the store.
    fn open(&self) -> Arc<dyn Store>;
}

/// The result of a part of the suite.
pub type SuiteResult<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn check_equal<T: PartialEq + std::fmt::Debug>(
    rule: &'static str,
    is: &T,
    wanted: &T,
) -> SuiteResult {
    if is == wanted {
        return Ok(());
    }
    Err(Violation::new(rule, format!("\n  is     {is:?}\n  wanted {wanted:?}")).into())
}

fn check_holds(rule: &'static str, holds: bool) -> SuiteResult {
    check_equal(rule, &holds, &true)
}

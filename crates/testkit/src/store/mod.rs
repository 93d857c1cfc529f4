//! What every store has to do, whatever keeps it: a suite that knows nothing of any backend.
//!
//! A backend says how it is opened ([`Place`]); the suite drives real decisions of the engine into
//! it ([`Stage`]), lets the simulated runner crash on top of it ([`scenes`]), and compares what comes
//! back. Two backends that tell the same story keep the same rows ([`Dump`]).

mod dump;
mod scenes;
mod stage;
pub mod suite;

use std::sync::Arc;

pub use dump::Dump;
pub use scenes::{Scene, scenes, told};
pub use stage::{PROJECT, Stage, holder, task};
use unstuck_store::Store;

use crate::check::Violation;

/// Where a store can be opened. Each opening stands for another process that finds what the one
/// before left behind; the one before is gone by then.
pub trait Place: Send + Sync {
    /// Opens it.
    fn open(&self) -> Arc<dyn Store>;
}

/// How a part of the suite ends.
pub type Checked<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Both are the same.
fn same<T: PartialEq + std::fmt::Debug>(rule: &'static str, is: &T, wanted: &T) -> Checked {
    if is == wanted {
        return Ok(());
    }
    Err(Violation::new(rule, format!("\n  is     {is:?}\n  wanted {wanted:?}")).into())
}

/// It holds.
fn holds(rule: &'static str, holds: bool) -> Checked {
    same(rule, &holds, &true)
}

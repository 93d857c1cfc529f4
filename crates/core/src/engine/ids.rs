//! Names for things, dense within one project.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty) $prefix:literal;)+) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize,
            Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )+};
}

ids! {
    /// One run of a plan.
    BuildId(u32) "b";
    /// One unit of work.
    TaskId(u32) "t";
    /// One attempt.
    RunId(u64) "r";
    /// One question to a person.
    QuestionId(u32) "q";
    /// One irreversible action.
    MutationId(u64) "m";
    /// Something the outside owes: the position of the event that asked for it.
    EffectId(u64) "e";
}

impl RunId {
    /// The git ref that holds what the run left in its worktree, once that is saved.
    pub fn saved_ref(self) -> String {
        format!("refs/unstuck/attempts/{self}")
    }
}

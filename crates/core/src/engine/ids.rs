//! The ids of builds, tasks, runs and the like, dense within one project.

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
    /// Id of a build: one execution of a plan.
    BuildId(u32) "b";
    /// Id of a task: one unit of work.
    TaskId(u32) "t";
    /// Id of a run: one attempt.
    RunId(u64) "r";
    /// Id of a question to the operator.
    QuestionId(u32) "q";
    /// Id of an irreversible action.
    MutationId(u64) "m";
    /// Id of an effect: the position of the event that requested it.
    EffectId(u64) "e";
}

impl RunId {
    /// Returns the git ref that holds the content of the run's worktree once it is saved.
    pub fn saved_ref(self) -> String {
        format!("refs/unstuck/attempts/{self}")
    }
}

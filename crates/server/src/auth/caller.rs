//! Somebody who asks.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstuck_core::engine::{Command, Order};
use unstuck_core::plan::Request;

/// What somebody may do. Each may do what those before it may.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads and answers questions, sees how the work stands and the report.
    Answerer,
    /// Sees everything, technical detail included.
    Viewer,
    /// Starts, holds and ends work, and makes tokens.
    Operator,
}

/// Which projects somebody may see.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// All that are there.
    All,
    /// These.
    Only(BTreeSet<Arc<str>>),
}

/// Somebody who asks, and was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Their name, as answers record it.
    pub name: Arc<str>,
    /// What they may do.
    pub role: Role,
    /// Which projects they may see.
    pub reach: Reach,
}

impl Caller {
    /// An order of theirs, with the request that it came with.
    pub fn order(&self, request: Option<Request>) -> Order {
        Order { by: Arc::clone(&self.name), request }
    }

    /// Something that they want done, with who it is that does.
    pub fn wants(&self, command: Command) -> Command {
        self.order(None).wants(command)
    }

    /// Whether they may see a project. One they may not see does not exist to them.
    pub fn sees(&self, project: &str) -> bool {
        match &self.reach {
            Reach::All => true,
            Reach::Only(names) => names.contains(project),
        }
    }

    /// Whether they may do what takes this role.
    pub fn may(&self, role: Role) -> bool {
        self.role >= role
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Answerer => "answerer",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        })
    }
}

//! The authenticated caller of a request, with its role and its projects, and the id of its token.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unstuck_core::engine::{Command, CommandIssuer};
use unstuck_core::plan::Request;

/// The permissions of a caller. Each role includes those before it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AccessRole {
    /// Reads and answers questions, sees the state of the work and the report.
    Answerer,
    /// Sees everything, including technical detail.
    Viewer,
    /// Starts, holds and ends work, and makes tokens.
    Operator,
}

/// The projects that a caller may see.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectVisibility {
    /// All projects of the server.
    All,
    /// Only these projects.
    Only(BTreeSet<Arc<str>>),
}

/// The authenticated caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name, as answers record it.
    pub name: Arc<str>,
    /// The role, which decides what the caller may do.
    pub role: AccessRole,
    /// The projects that the caller may see.
    pub reach: ProjectVisibility,
}

impl Caller {
    /// Returns this caller as the issuer of a command, with the request that the command came with.
    pub fn to_issuer(&self, request: Option<Request>) -> CommandIssuer {
        CommandIssuer { by: Arc::clone(&self.name), request }
    }

    /// Adds this caller's name to a command.
    pub fn attribute_command(&self, command: Command) -> Command {
        self.to_issuer(None).wrap_command(command)
    }

    /// Returns whether the caller may see a project. To a caller who may not see it, it does not
    /// exist.
    pub fn can_see(&self, project: &str) -> bool {
        match &self.reach {
            ProjectVisibility::All => true,
            ProjectVisibility::Only(names) => names.contains(project),
        }
    }

    /// Returns whether the caller has this role or a higher one.
    pub fn has_role(&self, role: AccessRole) -> bool {
        self.role >= role
    }
}

impl fmt::Display for AccessRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Answerer => "answerer",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        })
    }
}

/// The id of a token: `k3`. It is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u32);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("k{}", self.0))
    }
}

impl FromStr for TokenId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('k').unwrap_or(text);
        digits.parse().map(Self).map_err(|_| "write its number, such as 3 or k3")
    }
}

impl Serialize for TokenId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TokenId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

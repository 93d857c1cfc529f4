//! What was red at the base, before anybody began.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Fault, Missing};
use unstuck_core::signature::Signature;

use super::check::Checked;
use super::checks::Checks;
use crate::git::Oid;
use crate::workspace::{Shell, Workspace};

/// What a check that is red at the base means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// It passes as long as it is red in the same way, and that is said.
    #[default]
    Compare,
    /// Nothing begins before the base is green.
    Strict,
    /// The base is not looked at; red is red.
    Off,
}

/// What was red at the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The base.
    pub commit: Oid,
    red: BTreeMap<String, BTreeSet<Signature>>,
}

impl Baseline {
    /// Runs every check of these gates in a worktree that nobody has worked in yet. A check that
    /// cannot be made says nothing about the base, and is a fault.
    pub async fn measure(
        workspace: &Workspace,
        gates: &[&Checks],
        shell: &Shell,
    ) -> Result<Self, Fault> {
        let commit = workspace.base().await?;
        let changes = workspace.changes().await?;
        if let Some(change) = changes.first() {
            let message = format!("{} is changed already", change.path.display());
            let what = "an untouched worktree".to_owned();
            return Err(Fault::precondition_missing("validate:base", message, Missing { what }));
        }
        let mut red: BTreeMap<String, BTreeSet<Signature>> = BTreeMap::new();
        for checks in gates {
            for check in (0..checks.commands().len()).filter_map(|n| checks.check(n)) {
                match check.run(workspace.directory(), shell).await {
                    Checked::Green => {}
                    Checked::Red(fault) => {
                        red.entry(check.command.to_owned()).or_default().insert(fault.signature);
                    }
                    Checked::Failed(fault) => return Err(fault),
                }
            }
        }
        Ok(Self { commit, red })
    }

    /// The commands that were red.
    pub fn red(&self) -> impl Iterator<Item = &str> {
        self.red.keys().map(String::as_str)
    }

    /// Whether a command was red in this way.
    pub fn was_red(&self, command: &str, signature: Signature) -> bool {
        self.red.get(command).is_some_and(|known| known.contains(&signature))
    }

    /// The baseline that checks are compared with in this mode. Where nothing may begin before the
    /// base is green and it is not, that is `PRECONDITION_MISSING`.
    pub fn used(&self, how: Compare) -> Result<Option<&Self>, Fault> {
        match how {
            Compare::Off => Ok(None),
            Compare::Compare => Ok(Some(self)),
            Compare::Strict if self.red.is_empty() => Ok(None),
            Compare::Strict => {
                let red: Vec<&str> = self.red().collect();
                let message = format!("red at {}: {}", self.commit, red.join("; "));
                let what = "a green base".to_owned();
                Err(Fault::precondition_missing("validate:base", message, Missing { what }))
            }
        }
    }
}

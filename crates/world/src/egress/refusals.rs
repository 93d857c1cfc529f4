//! Records refused connections, for the run's log and report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Maximum number of different targets that are kept by name; further ones are counted together.
const TARGETS_MAX: usize = 100;
/// Maximum number of characters that are kept of a target's text.
const SHOWN_CHARS_MAX: usize = 100;

/// The reason why a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// The host is not listed.
    NotListed,
    /// The target is an address instead of a name, and not listed.
    Address,
    /// The name leads to this machine or its private networks.
    Private,
    /// The target is Unstuck's own server.
    OwnServer,
    /// The target is no valid host.
    Malformed,
}

/// A target that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedTarget {
    /// The host and port, as far as they could be parsed.
    pub target: String,
    /// The reason of the last refusal.
    pub reason: RefusalReason,
    /// Number of refusals.
    pub times: u64,
    /// The lines of the settings that would allow it, if any.
    pub allowed_by: Option<String>,
}

/// A counter of refusals by target.
#[derive(Debug, Default)]
pub(super) struct RefusalLog {
    counted: Mutex<RefusalCounts>,
    unreached: Mutex<BTreeSet<String>>,
}

/// The reason, and the lines that would allow it.
type RefusalCause = (RefusalReason, Option<String>);

#[derive(Debug, Default)]
struct RefusalCounts {
    targets: BTreeMap<String, (RefusalCause, u64)>,
    others: Option<(RefusalCause, u64)>,
}

impl RefusalLog {
    pub(super) fn record_refusal(
        &self,
        target: &str,
        reason: RefusalReason,
        allowed_by: Option<String>,
    ) {
        let printable = target.chars().filter(|c| !c.is_control());
        let target: String = printable.take(SHOWN_CHARS_MAX).collect();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = counted.targets.len() >= TARGETS_MAX;
        let entry = if is_full && !counted.targets.contains_key(&target) {
            counted.others.get_or_insert(((reason, None), 0))
        } else {
            counted.targets.entry(target).or_insert(((reason, None), 0))
        };
        *entry = ((reason, allowed_by), entry.1.saturating_add(1));
    }

    /// Records a host that is allowed and could not be reached.
    pub(super) fn record_unreached(&self, host: String) {
        let mut unreached = self.unreached.lock().unwrap_or_else(PoisonError::into_inner);
        if unreached.len() < TARGETS_MAX {
            unreached.insert(host);
        }
    }

    pub(super) fn was_unreached(&self, host: &str) -> bool {
        self.unreached.lock().unwrap_or_else(PoisonError::into_inner).contains(host)
    }

    pub(super) fn list(&self) -> Vec<RefusedTarget> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let named =
            counted.targets.iter().map(|(target, counted)| (target.clone(), counted.clone()));
        // No line allows all of them.
        let others = counted.others.as_ref().map(|((reason, _), times)| ((*reason, None), *times));
        let others = others.map(|counted| ("further hosts".to_owned(), counted));
        let one = |(target, ((reason, allowed_by), times))| RefusedTarget {
            target,
            reason,
            times,
            allowed_by,
        };
        named.chain(others).map(one).collect()
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotListed => "the host is not allowed by the settings",
            Self::Address => "an address instead of a host name",
            Self::Private => "the name leads to this machine or a private network",
            Self::OwnServer => "agents may not reach Unstuck's own server",
            Self::Malformed => "it is not a host name",
        })
    }
}

impl RefusedTarget {
    /// Returns one line for the agent that says what was refused and which setting allows it.
    pub fn render_sentence(&self) -> String {
        let Self { target, reason, .. } = self;
        let mut text = format!("Unstuck refused the connection to {target}: {reason}.");
        if let Some(lines) = &self.allowed_by {
            let lines = lines.replace('\n', " ");
            let how = format!(" To allow it, write into unstuck.toml: {lines}");
            text.push_str(&how);
        }
        text
    }
}

/// Formats the refusal for the log: "connect to evil.example:443 (3 times): the host is not
/// allowed".
impl fmt::Display for RefusedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connect to {}", self.target)?;
        if self.times > 1 {
            write!(f, " ({} times)", self.times)?;
        }
        write!(f, ": {}", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_and_bounded() {
        let refusals = RefusalLog::default();
        for _ in 0..3 {
            let lines = "[agent]\nnetwork = [\"evil.example\"]".to_owned();
            refusals.record_refusal("evil.example:443", RefusalReason::NotListed, Some(lines));
        }
        assert_eq!(
            refusals.list()[0].to_string(),
            "connect to evil.example:443 (3 times): the host is not allowed by the settings"
        );
        assert_eq!(
            refusals.list()[0].render_sentence(),
            "Unstuck refused the connection to evil.example:443: the host is not allowed by the \
             settings. To allow it, write into unstuck.toml: [agent] network = [\"evil.example\"]"
        );
        for number in 0..1_000 {
            let target = format!("host{number}:1\r\n{}", "x".repeat(500));
            refusals.record_refusal(&target, RefusalReason::Address, None);
        }
        let list = refusals.list();
        assert_eq!(list.len(), TARGETS_MAX + 1);
        assert_eq!(list.iter().map(|refused| refused.times).sum::<u64>(), 1_003);
        assert!(list.iter().all(|refused| refused.target.chars().count() <= SHOWN_CHARS_MAX));
    }
}

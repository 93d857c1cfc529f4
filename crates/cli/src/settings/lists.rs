//! Deserializes lists of globs and commands, and rejects entries without effect with their position: a
//! forbidden path that never matches, or a check that checks nothing, would be noticed too late.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};
use unstuck_world::scope::{PathScope, ScopeRules};

/// Deserializes globs of paths.
pub(super) fn globs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let patterns = Vec::<String>::deserialize(deserializer)?;
    for pattern in &patterns {
        if pattern.trim().is_empty() {
            return Err(D::Error::custom("an empty text is no glob and matches no path"));
        }
        let rules = ScopeRules { forbidden: vec![pattern.clone()], ..ScopeRules::default() };
        PathScope::new(&rules).map_err(|bad| {
            D::Error::custom(format!("{:?} is no glob: {}", bad.pattern, bad.why))
        })?;
    }
    Ok(patterns)
}

/// Deserializes commands for a shell.
pub(super) fn commands<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    let commands = Vec::<String>::deserialize(deserializer)?;
    if commands.iter().any(|command| command.trim().is_empty()) {
        let why = "an empty text is no command and does nothing: write a command or take it out";
        return Err(D::Error::custom(why));
    }
    Ok(commands)
}

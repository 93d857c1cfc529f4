//! The prompt for an agent that ended without a change.

/// The request to an agent that changed nothing to do the work, or to say why none is needed.
pub const NUDGE: &str = "\
You ended without changing any file. Do the task now. If nothing has to be changed, do not invent a \
change: say in one sentence why none is needed, and end again. If you cannot go on without a person, \
end with a line that begins with BLOCKED: and says what you need.";

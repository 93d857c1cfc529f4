//! The prompt of an agent program at the beginning of an attempt.

use unstuck_core::engine::Start;
use unstuck_core::tell::NUDGE;

use crate::effects::EffectRequest;

/// The rules for all agents.
const COMMON_RULES: &str = "\
You work unattended in a git worktree of your own. No one reads along, so do not ask for \
confirmation: decide, and say in one plain sentence what you do.

- Change only what the task needs, inside the allowed paths. Anything else is taken back.
- The checks below are run by us when you say you are done, on the state the work will land on. \
Changing a check to make it pass is taken back.
- Do not push, publish, open pull requests or send anything.";

/// Further rules for an agent that has Unstuck's tools.
const WITH_TOOLS: &str = "
- What is irreversible is declared with the tool `mutate` of the server `unstuck`, and happens after \
the checks.
- If you cannot go on without a person, ask with its tool `ask_human` and stop there.";

/// Further rules for an agent without them.
const WITHOUT_TOOLS: &str = "
- If you cannot go on without a person, end with a line that begins with BLOCKED: and says what you \
need.";

/// Returns the whole prompt.
pub(super) fn render_agent_prompt(
    order: &EffectRequest,
    brief: &str,
    start: Start,
    has_tools: bool,
) -> String {
    // The context begins with the operator's guidance.
    let mut parts: Vec<String> = order.context.iter().cloned().collect();
    if order.nudged {
        parts.push(NUDGE.to_owned());
    } else if matches!(start, Start::Resume | Start::Compacted) {
        parts
            .push("This task was begun before. Look at what is there before you go on.".to_owned());
    }
    parts.extend(order.cut_off.clone());
    parts.push(format!("# Task: {}\n\n{}", order.task.title, order.task.goal));
    if !brief.is_empty() {
        parts.push(brief.to_owned());
    }
    let further = if has_tools { WITH_TOOLS } else { WITHOUT_TOOLS };
    parts.push(format!("# Rules\n\n{COMMON_RULES}{further}"));
    parts.join("\n\n")
}

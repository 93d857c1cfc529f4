//! The text for an agent that was interrupted while commands of its own were running.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::engine::Task;

/// Returns the commands that were running when the task's agent was last seen, and instructions about them;
/// `None` if no command was running.
pub fn render_cut_off(task: &Task) -> Option<String> {
    let commands: &[Arc<str>] = &task.running_commands;
    let (these, they) = match commands {
        [] => return None,
        [_] => ("this command was", "It"),
        _ => ("these commands were", "They"),
    };
    let mut text = format!("You were cut off while {these} running:\n");
    for command in commands {
        let _ = write!(text, "\n    {}", command.replace('\n', "\n    "));
    }
    let _ = write!(
        text,
        "\n\n{they} may have taken effect. Look whether that is so before you run anything of it \
         again, and do not repeat what has happened."
    );
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{BuildId, TaskId};
    use crate::plan::TaskSpec;

    #[test]
    fn what_was_running_is_named_and_not_to_be_repeated_blindly() {
        let mut task = Task::new(TaskId(1), BuildId(0), Arc::new(TaskSpec::default()), 0);
        assert_eq!(render_cut_off(&task), None);
        task.running_commands = vec![Arc::from("curl -d amount=5 https://pay.example/charges")];
        let told = render_cut_off(&task).unwrap();
        assert!(told.contains("\n    curl -d amount=5 https://pay.example/charges\n"), "{told}");
        assert!(told.contains("may have taken effect"), "{told}");
    }
}

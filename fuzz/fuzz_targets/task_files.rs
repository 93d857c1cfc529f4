//! Any text can be read as a file of tasks: what comes out makes a plan, what is wrong has a line
//! that exists, and ticking an item changes one byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstuck_core::plan::Plan;
use unstuck_core::plan::file::{PlanSource, parse_tasks, tick_item};

fuzz_target!(|text: &str| {
    let files = [
        PlanSource { path: "tasks/001-first.md", text: "# First\n\nDo it.\n" },
        PlanSource { path: "tasks/002-second.md", text },
    ];
    match parse_tasks(&files) {
        Ok(tasks) => {
            for task in &tasks {
                assert!(!task.name.is_empty() && !task.goal.is_empty(), "{task:?}");
                ticked(text, &task.name);
            }
            assert!(Plan::new(tasks).is_ok());
        }
        Err(problems) => {
            let lines = text.matches('\n').count() + 1;
            for problem in problems {
                let line = problem.line.unwrap_or(1) as usize;
                assert!((1..=lines).contains(&line), "{problem}");
                problem.hint();
            }
        }
    }
});

fn ticked(text: &str, item: &str) {
    let Some(ticked) = tick_item(text, item) else { return };
    assert_eq!(ticked.len(), text.len());
    assert_eq!(text.bytes().zip(ticked.bytes()).filter(|(old, new)| old != new).count(), 1);
    assert!(tick_item(&ticked, item).is_none());
}

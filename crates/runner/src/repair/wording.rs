//! Texts about repairs: for the agent, and for the commit.

use std::sync::Arc;

use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Effect, EffectKind, Start};
use unstuck_core::fault::Fault;
use unstuck_core::plan::TaskSpec;

use crate::effects::EffectRequest;

/// Maximum length of the summary in a commit's first line, in characters.
const SUMMARY_CHARS_MAX: usize = 60;
/// Maximum length of a job's name in it, in characters.
const NAME_CHARS_MAX: usize = 40;
/// Maximum length of the line about the failure, in characters.
const FAILURE_CHARS_MAX: usize = 200;
/// Maximum number of changed files that are named.
const FILES_MAX: usize = 10;

/// Returns the order for the agent, with the script as its task.
pub(super) fn make_agent_request(
    order: &EffectRequest,
    command: &str,
    start: Start,
) -> EffectRequest {
    let TaskSpec { title, goal, brief, .. } = &*order.task;
    let title = if title.is_empty() { &order.task.name } else { title };
    let mut parts = vec![format!(
        "Repair the script of the job `{title}`. The job runs `{command}`, which failed."
    )];
    if !goal.is_empty() && goal != command {
        parts.push(format!("What the job is for: {goal}"));
    }
    if !brief.is_empty() {
        parts.push(brief.clone());
    }
    let title = format!("Repair {title}");
    let goal = parts.join("\n\n");
    let task = TaskSpec { title, goal, ..TaskSpec::clone(&order.task) };
    let effect = Effect { what: EffectKind::Attempt { start }, ..order.effect.clone() };
    EffectRequest { task: Arc::new(task), effect, ..order.clone() }
}

/// Returns the commit message: the repair, its reason, and the run.
pub(super) fn render_repair_message(order: &EffectRequest, approach: &Approach) -> String {
    let name = &order.task.name;
    let did = shorten_line(&approach.summary, SUMMARY_CHARS_MAX);
    let did = if did.is_empty() { "what failed" } else { did.trim_end_matches('.') };
    let failed = order.broke.as_deref().map(render_failure_line).unwrap_or_default();
    let changed = render_changed_files(approach);
    format!(
        "Repair {}: {did}\n\n{failed}{changed}Unstuck-Job: {}\nUnstuck-Run: {}\n",
        shorten_line(name, NAME_CHARS_MAX),
        shorten_line(name, FAILURE_CHARS_MAX),
        order.effect.run
    )
}

fn render_failure_line(fault: &Fault) -> String {
    let last = fault.message.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    format!("It failed with {}: {}\n", fault.code(), shorten_line(last, FAILURE_CHARS_MAX))
}

fn render_changed_files(approach: &Approach) -> String {
    let Approach { files, files_changed, .. } = approach;
    let named: Vec<&str> = files.iter().take(FILES_MAX).map(String::as_str).collect();
    let more = (*files_changed as usize).saturating_sub(named.len());
    match (named.is_empty(), more) {
        (true, _) => "\n".to_owned(),
        (false, 0) => format!("Changed: {}\n\n", named.join(", ")),
        (false, more) => format!("Changed: {} and {more} more\n\n", named.join(", ")),
    }
}

/// Joins the words into one line, shortened with an ellipsis.
fn shorten_line(text: &str, chars_max: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

/// Returns the part of a proposal's branch name for the job: its name, if that is valid there.
pub(super) fn branch_slug(order: &EffectRequest) -> String {
    let name = &order.task.name;
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mapped: String = name.chars().map(letter).collect();
    let parts: Vec<&str> = mapped.split('-').filter(|part| !part.is_empty()).collect();
    let mut slug = parts.join("-");
    slug.truncate(40);
    let slug = slug.trim_end_matches('-');
    // Two names may give the same slug; the task's number tells them apart.
    if slug == name { slug.to_owned() } else { format!("{slug}-{}", order.effect.task) }
}

#[cfg(test)]
mod tests {
    use unstuck_core::engine::{BuildId, EffectId, RunId, TaskId};
    use unstuck_core::fault::Logic;

    use super::*;

    fn order(name: &str) -> EffectRequest {
        EffectRequest {
            project: "shop".into(),
            effect: Effect {
                id: EffectId(9),
                task: TaskId(3),
                run: RunId(7),
                what: EffectKind::Repair { propose: false },
            },
            build: BuildId(0),
            task: Arc::new(TaskSpec {
                name: name.to_owned(),
                title: "nightly".to_owned(),
                goal: "Bring the orders over.".to_owned(),
                ..TaskSpec::default()
            }),
            firing: 1,
            attempt: 1,
            mutation: None,
            context: Some("THE SCRIPT FAILED".to_owned()),
            nudged: false,
            cut_off: None,
            guidance: None,
            mended: None,
            broke: Some(Arc::new(Fault::logic_error(
                "exec:nightly",
                "Traceback (most recent call last):\nKeyError: 'total'\n\n",
                Logic::default(),
            ))),
        }
    }

    #[test]
    fn a_commit_says_what_was_repaired_and_why() {
        let approach = Approach {
            summary: "Read the field by its new name.".to_owned(),
            files: vec!["sync/run.py".to_owned()],
            files_changed: 1,
            ..Approach::default()
        };
        let expected = "Repair nightly: Read the field by its new name\n\n\
                        It failed with LOGIC_ERROR: KeyError: 'total'\n\
                        Changed: sync/run.py\n\n\
                        Unstuck-Job: nightly\nUnstuck-Run: r7\n";
        assert_eq!(render_repair_message(&order("nightly"), &approach), expected);
        let bare = render_repair_message(&order("nightly"), &Approach::default());
        assert!(bare.starts_with("Repair nightly: what failed\n\nIt failed with"), "{bare}");
    }

    #[test]
    fn an_agent_is_told_what_the_job_is_for() {
        let told = make_agent_request(&order("nightly"), "python3 sync/run.py", Start::Fresh);
        assert_eq!(told.effect.what, EffectKind::Attempt { start: Start::Fresh });
        assert_eq!(told.task.name, "nightly");
        let expected = "Repair the script of the job `nightly`. The job runs `python3 sync/run.py`, \
                        which failed.\n\nWhat the job is for: Bring the orders over.";
        assert_eq!(told.task.goal, expected);
    }

    #[test]
    fn a_branch_has_a_name_that_git_takes() {
        for (name, slug_of_it) in [
            ("nightly", "nightly"),
            ("sh sync.sh --all", "sh-sync-sh-all-t3"),
            ("Nightly", "nightly-t3"),
            ("..", "-t3"),
            ("a..b.lock", "a-b-lock-t3"),
        ] {
            assert_eq!(branch_slug(&order(name)), slug_of_it);
        }
    }
}

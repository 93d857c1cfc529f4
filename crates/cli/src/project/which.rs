//! Resolves the build or task that a person names, and finds tasks of any build.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::engine::{BuildId, TaskId};
use unstuck_core::plan::TaskSpec;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_store::{Store, StoreError};

use crate::error::CliError;

/// Maximum number of names in an error about an ambiguous name.
const NAMES_MAX: usize = 5;

/// Returns the named build, or the newest that has not ended. The build that holds all jobs is returned
/// only when it is named.
pub(crate) async fn find_open_build(
    store: &dyn Store,
    project: &str,
    given: Option<BuildId>,
) -> Result<BuildRow, CliError> {
    find_newest_build(store, project, given, |row| !row.state.has_ended()).await
}

/// Returns the named build, or the newest, ended or not.
pub(crate) async fn find_build(
    store: &dyn Store,
    project: &str,
    given: Option<BuildId>,
) -> Result<BuildRow, CliError> {
    find_newest_build(store, project, given, |_| true).await
}

/// Returns the named build, or the newest of those with `is_wanted`.
async fn find_newest_build(
    store: &dyn Store,
    project: &str,
    given: Option<BuildId>,
    is_wanted: impl Fn(&BuildRow) -> bool,
) -> Result<BuildRow, CliError> {
    let builds = store.load_builds(project).await?;
    if let Some(id) = given {
        return find_build_by_id(builds, id);
    }
    let none = match newest_build(&builds) {
        Some(_) => CliError::NoOpenBuild,
        None => CliError::NoBuildYet,
    };
    let wanted: Vec<BuildRow> = builds.into_iter().filter(is_wanted).collect();
    newest_build(&wanted).cloned().ok_or(none)
}

/// Returns the newest build of a plan, or else the newest session.
fn newest_build(builds: &[BuildRow]) -> Option<&BuildRow> {
    let of_a_plan = builds.iter().find(|row| row.is_performed_here());
    of_a_plan.or_else(|| builds.iter().find(|row| row.session.is_some()))
}

/// Returns the task with this name or title in the newest build or among the jobs, with this number, or
/// with a name or title that begins like this.
pub(crate) async fn find_named_task(
    store: &dyn Store,
    project: &str,
    given: &str,
) -> Result<TaskRow, CliError> {
    let given = given.trim();
    let builds = store.load_builds(project).await?;
    let newest = newest_build(&builds);
    let jobs = builds.iter().find(|row| row.standing);
    let mut rows = Vec::new();
    for build in [newest, jobs].into_iter().flatten() {
        rows.extend(store.load_build_tasks(project, build.id).await?);
    }
    let exact = rows.iter().position(|row| row.spec.name == given);
    if let Some(at) = exact.or_else(|| position_by_title(&rows, given)) {
        return Ok(rows.swap_remove(at));
    }
    if let Some(id) = parse_task_id(given)
        && let Some(row) = find_task(store, project, id).await?
    {
        return Ok(row);
    }
    find_by_prefix(rows, given)
}

pub(crate) async fn find_task(
    store: &dyn Store,
    project: &str,
    task: TaskId,
) -> Result<Option<TaskRow>, StoreError> {
    Ok(find_tasks(store, project, &[task]).await?.remove(&task))
}

/// Returns tasks of any build. The newest builds are searched first, because most lookups are about recent
/// tasks.
pub(crate) async fn find_tasks(
    store: &dyn Store,
    project: &str,
    wanted: &[TaskId],
) -> Result<BTreeMap<TaskId, TaskRow>, StoreError> {
    let mut missing: BTreeSet<TaskId> = wanted.iter().copied().collect();
    let mut found = BTreeMap::new();
    if missing.is_empty() {
        return Ok(found);
    }
    for BuildRow { id, .. } in store.load_builds(project).await? {
        for row in store.load_build_tasks(project, id).await? {
            if missing.remove(&row.id) {
                found.insert(row.id, row);
            }
        }
        if missing.is_empty() {
            break;
        }
    }
    Ok(found)
}

fn find_build_by_id(builds: Vec<BuildRow>, id: BuildId) -> Result<BuildRow, CliError> {
    let found = builds.into_iter().find(|row| row.id == id);
    found.ok_or_else(|| CliError::unknown("build", id, "unstuck status"))
}

/// Parses `t12` or `12`. A number with a leading zero is rather the beginning of a name: `001-timeouts`.
fn parse_task_id(given: &str) -> Option<TaskId> {
    let digits = given.strip_prefix('t').unwrap_or(given);
    let plain = digits == "0" || !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain && !digits.starts_with('+')).map(TaskId)
}

/// Returns the index of the only task with this title.
fn position_by_title(rows: &[TaskRow], given: &str) -> Option<usize> {
    let called = |row: &TaskRow| row.spec.display_name().eq_ignore_ascii_case(given);
    let mut found = (0..rows.len()).filter(|at| called(&rows[*at]));
    found.next().filter(|_| found.next().is_none())
}

/// Returns the only task whose name or title begins like this.
fn find_by_prefix(rows: Vec<TaskRow>, given: &str) -> Result<TaskRow, CliError> {
    let mut found: Vec<TaskRow> =
        rows.into_iter().filter(|row| !given.is_empty() && begins_with(&row.spec, given)).collect();
    if found.len() == 1 {
        return Ok(found.remove(0));
    }
    let given = given.to_owned();
    if found.is_empty() {
        return Err(CliError::Unknown { what: "task", name: given, list: "unstuck status" });
    }
    let more = found.len().saturating_sub(NAMES_MAX);
    let said = |row: &TaskRow| format!("{} ({})", row.spec.name, row.id);
    let names = found.iter().take(NAMES_MAX).map(said).collect();
    Err(CliError::Ambiguous { given, names, more })
}

fn begins_with(spec: &TaskSpec, given: &str) -> bool {
    spec.name.starts_with(given)
        || spec.display_name().to_lowercase().starts_with(&given.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_have_its_letter_and_no_zero_in_front() {
        let cases = [
            ("12", Some(12)),
            ("t12", Some(12)),
            ("0", Some(0)),
            ("t0", Some(0)),
            ("001", None),
            ("+1", None),
            ("t", None),
            ("", None),
            ("importer", None),
            ("99999999999", None),
        ];
        for (given, id) in cases {
            assert_eq!(parse_task_id(given), id.map(TaskId), "{given}");
        }
    }
}

//! Lookups that need more than one query of the store.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::engine::TaskId;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_store::{Store, StoreError};

/// Returns a task of any build.
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

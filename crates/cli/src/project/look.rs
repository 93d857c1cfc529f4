//! Looking things up that a table does not answer by itself.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::engine::TaskId;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_store::{Store, StoreError};

/// One task, whatever build it belongs to.
pub(crate) async fn task(
    store: &dyn Store,
    project: &str,
    task: TaskId,
) -> Result<Option<TaskRow>, StoreError> {
    Ok(tasks_of(store, project, &[task]).await?.remove(&task))
}

/// Some tasks, whatever builds they belong to. Young builds are looked at first: who asks about a
/// task mostly asks about a recent one.
pub(crate) async fn tasks_of(
    store: &dyn Store,
    project: &str,
    wanted: &[TaskId],
) -> Result<BTreeMap<TaskId, TaskRow>, StoreError> {
    let mut missing: BTreeSet<TaskId> = wanted.iter().copied().collect();
    let mut found = BTreeMap::new();
    if missing.is_empty() {
        return Ok(found);
    }
    for BuildRow { id, .. } in store.builds(project).await? {
        for row in store.tasks(project, id).await? {
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

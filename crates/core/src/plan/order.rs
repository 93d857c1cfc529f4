//! A plan: tasks with a valid order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TaskSpec;

/// Tasks with their dependencies resolved; the dependencies have no cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    tasks: Vec<TaskSpec>,
    /// For each task, the positions of the tasks it depends on.
    needs: Vec<Vec<u32>>,
}

/// The reason why tasks do not form a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is no task.
    #[error("there is no task in the plan")]
    Empty,
    /// Two tasks have the same name.
    #[error("two tasks are named {0:?}; give one of them another name")]
    Twice(String),
    /// A task depends on one that does not exist.
    #[error("task {task:?} needs {missing:?}, which is not in the plan")]
    Unknown {
        /// The dependent task.
        task: String,
        /// The name of the missing task.
        missing: String,
    },
    /// Tasks depend on each other.
    #[error("these tasks wait for each other: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

impl Plan {
    /// Creates the plan of `tasks`.
    pub fn new(tasks: Vec<TaskSpec>) -> Result<Self, PlanError> {
        if tasks.is_empty() {
            return Err(PlanError::Empty);
        }
        let mut position: BTreeMap<&str, u32> = BTreeMap::new();
        for (at, task) in (0..).zip(&tasks) {
            if position.insert(&task.name, at).is_some() {
                return Err(PlanError::Twice(task.name.clone()));
            }
        }
        let mut needs = Vec::with_capacity(tasks.len());
        for task in &tasks {
            let mut these = Vec::with_capacity(task.depends_on.len());
            for name in &task.depends_on {
                let at = position.get(name.as_str()).ok_or_else(|| PlanError::Unknown {
                    task: task.name.clone(),
                    missing: name.clone(),
                })?;
                if !these.contains(at) {
                    these.push(*at);
                }
            }
            needs.push(these);
        }
        match find_cycle(&needs) {
            None => Ok(Self { tasks, needs }),
            Some(round) => Err(PlanError::Cycle(
                round.into_iter().map(|at| tasks[at as usize].name.clone()).collect(),
            )),
        }
    }

    /// Iterates over the tasks with the positions of their dependencies.
    pub fn iter(&self) -> impl Iterator<Item = (&TaskSpec, &[u32])> {
        self.tasks.iter().zip(self.needs.iter().map(Vec::as_slice))
    }

    /// Returns the task of a session, whose work is done by an external runtime.
    pub fn session_task(&self) -> Option<&TaskSpec> {
        self.tasks.iter().find(|task| task.session.is_some())
    }

    /// Returns whether the plan stands for the work of a client of the MCP server.
    pub fn is_client_plan(&self) -> bool {
        self.tasks.iter().any(|task| task.client)
    }

    /// Returns the number of tasks.
    pub const fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether the plan is empty; a valid plan has at least one task.
    pub const fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// Returns a cycle of dependent tasks; the first one is repeated at the end.
pub(super) fn find_cycle(needs: &[Vec<u32>]) -> Option<Vec<u32>> {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitMark {
        New,
        Open,
        Closed,
    }
    let mut marks = vec![VisitMark::New; needs.len()];
    for root in (0..).take(needs.len()) {
        if marks[root as usize] != VisitMark::New {
            continue;
        }
        // An explicit path instead of recursion: a plan of 100,000 tasks in a row is legal.
        let mut path: Vec<(u32, usize)> = vec![(root, 0)];
        marks[root as usize] = VisitMark::Open;
        while let Some((at, tried)) = path.last_mut() {
            let Some(&next) = needs[*at as usize].get(*tried) else {
                marks[*at as usize] = VisitMark::Closed;
                path.pop();
                continue;
            };
            *tried += 1;
            match marks[next as usize] {
                VisitMark::Closed => {}
                VisitMark::New => {
                    marks[next as usize] = VisitMark::Open;
                    path.push((next, 0));
                }
                VisitMark::Open => {
                    let mut round: Vec<u32> =
                        path.iter().map(|(at, _)| *at).skip_while(|at| *at != next).collect();
                    round.push(next);
                    return Some(round);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, needs: &[&str]) -> TaskSpec {
        TaskSpec {
            name: name.to_owned(),
            depends_on: needs.iter().map(|&n| n.to_owned()).collect(),
            ..TaskSpec::default()
        }
    }

    #[test]
    fn a_cycle_is_named() {
        let tasks = vec![task("a", &["b"]), task("b", &["c"]), task("c", &["b"])];
        let error = Plan::new(tasks).unwrap_err();
        assert_eq!(error.to_string(), "these tasks wait for each other: b → c → b");
    }

    #[test]
    fn what_does_not_exist_and_what_exists_twice_is_refused() {
        assert_eq!(Plan::new(vec![]), Err(PlanError::Empty));
        assert_eq!(
            Plan::new(vec![task("a", &[]), task("a", &[])]),
            Err(PlanError::Twice("a".into()))
        );
        assert!(matches!(
            Plan::new(vec![task("a", &["z"])]),
            Err(PlanError::Unknown { missing, .. }) if missing == "z"
        ));
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let mut tasks = vec![task("0", &[])];
        for n in 1..100_000 {
            tasks.push(task(&n.to_string(), &[&(n - 1).to_string()]));
        }
        assert_eq!(Plan::new(tasks).unwrap().len(), 100_000);
    }
}

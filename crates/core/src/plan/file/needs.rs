//! Lookup of a task by its whole name, its beginning or its number.

use std::collections::BTreeMap;

use super::name::{file_name, leading_number};
use super::problem::{PlanFileMistake, shorten_input};
use crate::nearest::find_nearest;

/// Maximum number of tasks listed for an ambiguous name.
const FITS_MAX: usize = 3;
/// Maximum number of suggestions, because each compares with all names.
const SUGGESTIONS_MAX: u32 = 20;
/// Maximum length of a name considered mistyped: comparing takes time quadratic in the length.
const MISTYPED_CHARS_MAX: usize = 64;

/// A task that is not among those being read: of an earlier build, or in a file that was not named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalTask {
    /// The name of the task.
    pub name: String,
    /// The state of its work.
    pub standing: DependencyState,
}

/// The state of the work of a task that others may depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DependencyState {
    /// The task is done, and its work is part of the base of a new build.
    There,
    /// The work is not part of the base.
    NotThere {
        /// The reason: "which is not done".
        why: String,
        /// The action that would add it.
        way: String,
    },
}

/// The known tasks that are not among those being read, by name.
pub(super) struct ExternalTasks<'a> {
    all: &'a [ExternalTask],
    index: TaskIndex<'a>,
}

impl<'a> ExternalTasks<'a> {
    pub(super) fn new(all: &'a [ExternalTask], names: &'a [String]) -> Self {
        Self { all, index: TaskIndex::new(names) }
    }

    /// Checks that a dependency is part of the base; returns the problem otherwise. A name that is known
    /// nowhere keeps the problem `unknown`.
    pub(super) fn check_dependency(
        &mut self,
        said: &str,
        unknown: PlanFileMistake,
    ) -> Result<(), PlanFileMistake> {
        let Ok(at) = self.index.find_task(said) else { return Err(unknown) };
        match &self.all[at] {
            ExternalTask { standing: DependencyState::There, .. } => Ok(()),
            ExternalTask { name, standing: DependencyState::NotThere { why, way } } => {
                let name = name.clone();
                let why = why.clone();
                let way = way.clone();
                Err(PlanFileMistake::NotThere { name, why, way })
            }
        }
    }
}

/// All tasks by name and by number.
pub(super) struct TaskIndex<'a> {
    names: &'a [String],
    by_name: BTreeMap<String, usize>,
    by_number: BTreeMap<u64, Vec<usize>>,
    suggested: u32,
}

impl<'a> TaskIndex<'a> {
    pub(super) fn new(names: &'a [String]) -> Self {
        let mut index =
            Self { names, by_name: BTreeMap::new(), by_number: BTreeMap::new(), suggested: 0 };
        for (at, name) in names.iter().enumerate() {
            index.by_name.entry(name.to_lowercase()).or_insert(at);
            if let Some((number, _)) = leading_number(name) {
                index.by_number.entry(number).or_default().push(at);
            }
        }
        index
    }

    /// Finds the task that a name refers to.
    pub(super) fn find_task(&mut self, said: &str) -> Result<usize, PlanFileMistake> {
        let lower = said.to_lowercase();
        let lower = lower.strip_suffix(".md").map_or(lower.as_str(), file_name);
        if let Some(at) = self.by_name.get(lower) {
            return Ok(*at);
        }
        let mut fits = self.find_by_prefix(lower);
        if let Ok(number) = lower.parse::<u64>() {
            fits.extend(self.by_number.get(&number).into_iter().flatten().take(FITS_MAX));
        }
        fits.sort_unstable();
        fits.dedup();
        let name = shorten_input(said);
        match fits.as_slice() {
            [at] => Ok(*at),
            [] => Err(PlanFileMistake::UnknownNeed { nearest: self.suggest_name(lower), name }),
            _ => {
                let mut fits: Vec<String> = fits.iter().map(|at| self.names[*at].clone()).collect();
                fits.dedup();
                fits.truncate(FITS_MAX);
                Err(PlanFileMistake::Ambiguous { name, fits })
            }
        }
    }

    /// Returns the tasks whose name begins with these whole words.
    fn find_by_prefix(&self, words: &str) -> Vec<usize> {
        let mut fits = Vec::new();
        for end in ['-', '_', '.'] {
            let beginning = format!("{words}{end}");
            let from = self.by_name.range(beginning.clone()..);
            let same = from.take_while(|(name, _)| name.starts_with(&beginning));
            fits.extend(same.map(|(_, at)| *at).take(FITS_MAX));
        }
        fits
    }

    fn suggest_name(&mut self, wanted: &str) -> Option<String> {
        self.suggested += 1;
        if self.suggested > SUGGESTIONS_MAX {
            return None;
        }
        let names = self.by_name.keys().map(String::as_str);
        let short = names.filter(|name| name.len() <= MISTYPED_CHARS_MAX);
        let best = *find_nearest(wanted, short).first()?;
        self.by_name.get(best).map(|at| self.names[*at].clone())
    }
}

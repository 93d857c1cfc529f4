//! Names of tasks: from files, from sentences, and back to words; and the lookup of a task by its whole name, its
//! beginning or its number.

use std::collections::BTreeMap;

use super::problem::{PlanFileMistake, shorten_input};
use crate::nearest::find_nearest;

/// Maximum length of a task's name.
pub(super) const NAME_CHARS_MAX: usize = 100;
/// Maximum length of a name made from a sentence.
const SLUG_CHARS_MAX: usize = 48;
/// Maximum length of a title.
const TITLE_CHARS_MAX: usize = 200;

/// Returns whether `name` is a valid name of a task.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    name.starts_with(char::is_alphanumeric)
        && name.chars().all(fits)
        && name.chars().count() <= NAME_CHARS_MAX
}

/// Returns a file's name without its folder.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns a file's name without its folder and extension.
fn file_stem(path: &str) -> &str {
    let name = file_name(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Returns the name that a task gets from its file.
pub(super) fn name_from_file(path: &str) -> String {
    let stem = file_stem(path);
    if is_name(stem) { stem.to_owned() } else { make_slug(stem) }
}

/// Makes a name from a sentence.
pub(super) fn make_slug(sentence: &str) -> String {
    let mut slug = String::new();
    let mut letters = 0;
    let words = sentence.split(|letter: char| !letter.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        letters += word.chars().count() + 1;
        if letters > SLUG_CHARS_MAX + 1 && !slug.is_empty() {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(SLUG_CHARS_MAX).flat_map(char::to_lowercase));
    }
    if slug.is_empty() { "task".to_owned() } else { slug }
}

/// Converts a name to words: `001-add-timeouts` becomes `Add timeouts`.
pub(super) fn name_to_words(name: &str) -> String {
    let rest =
        leading_number(name).map_or(name, |(_, rest)| if rest.is_empty() { name } else { rest });
    let words: Vec<&str> = rest.split(['-', '_', '.', ' ']).filter(|w| !w.is_empty()).collect();
    let mut letters = words.join(" ");
    if let Some(first) = letters.chars().next() {
        letters.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
    }
    letters
}

/// Returns the number that a name begins with, perhaps after a key, and the rest: `TASK-001-add` has 1 and
/// `add`.
pub(super) fn leading_number(name: &str) -> Option<(u64, &str)> {
    let digits = match name.split_once(['-', '_']) {
        Some((key, rest)) if is_key(key) => rest,
        _ => name,
    };
    let rest = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = digits[..digits.len() - rest.len()].parse().ok()?;
    match rest.strip_prefix(['-', '_', '.', ' ']) {
        Some(rest) => Some((number, rest)),
        None => rest.is_empty().then_some((number, "")),
    }
}

/// Returns whether a word is a tracker's prefix: `TASK-1`, `SHOP-1`.
fn is_key(word: &str) -> bool {
    word.eq_ignore_ascii_case("task")
        || (!word.is_empty() && word.bytes().all(|letter| letter.is_ascii_uppercase()))
}

/// Makes a title: a single line, shortened.
pub(super) fn make_title(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_files_and_sentences() {
        let table = [
            ("tasks/001-add-timeouts.md", "001-add-timeouts", "Add timeouts"),
            (".ai/tasks/TASK-001-login_page.md", "TASK-001-login_page", "Login page"),
            ("001.md", "001", "001"),
            ("v1.2-notes.md", "v1.2-notes", "V1 2 notes"),
            ("Fix the Bug!.md", "fix-the-bug", "Fix the bug"),
            ("a\\b\\c.md", "c", "C"),
            ("日本.md", "日本", "日本"),
            ("---.md", "task", "Task"),
            ("sprint-3/oauth2-login.md", "oauth2-login", "Oauth2 login"),
        ];
        for (path, name, words) in table {
            assert_eq!(name_from_file(path), name, "{path}");
            assert_eq!(name_to_words(name), words, "{name}");
        }
    }

    #[test]
    fn a_long_sentence_makes_a_short_name() {
        let name =
            make_slug("Add a timeout to every request that the payment service sends to anybody");
        assert_eq!(name, "add-a-timeout-to-every-request-that-the-payment");
        assert!(make_slug(&"x".repeat(500)).len() <= SLUG_CHARS_MAX);
        assert_eq!(make_slug("?!"), "task");
    }

    #[test]
    fn a_number_stands_at_the_beginning() {
        let table = [
            ("001-a", Some((1, "a"))),
            ("TASK-012", Some((12, ""))),
            ("task_7_b", Some((7, "b"))),
            ("3d-view", None),
            ("add-2-things", None),
            ("-1", None),
        ];
        for (name, expected) in table {
            assert_eq!(leading_number(name), expected, "{name}");
        }
    }
}

//! What a task's own words say about files and tests.

use std::path::Path;

use crate::world::Order;

/// What a task says in words.
pub(super) fn words_of(order: &Order) -> String {
    format!("{}\n{}", order.task.title, order.task.goal)
}

/// Whether words hold the name of a file.
pub(super) fn is_named_in(words: &str, path: &Path) -> bool {
    path.file_name().is_some_and(|name| words.contains(&*name.to_string_lossy()))
}

/// Whether words name a file as one: by its path, or by a name that is no ordinary word.
pub(super) fn names_file(words: &str, path: &Path) -> bool {
    let (name, path) = (path.file_name().unwrap_or_default(), path.to_string_lossy());
    let name = name.to_string_lossy();
    let is_ordinary = !name.contains('.') && !name.chars().any(char::is_uppercase);
    let between = |c: char| c.is_whitespace() || "\"'`“”,;:()".contains(c);
    let mut words = words.split(between).map(|word| word.trim_end_matches(['.', '!', '?']));
    words.any(|word| word == path || !is_ordinary && word.rsplit('/').next() == Some(&*name))
}

/// Whether a task is about tests that no longer run, or of which fewer are left.
pub(super) fn leaves_out_tests(order: &Order) -> bool {
    const LEAVES_OUT: [&str; 17] = [
        "remove",
        "removing",
        "delete",
        "deleting",
        "drop",
        "skip",
        "ignore",
        "obsolete",
        "merge",
        "merging",
        "combin",
        "consolidat",
        "collapse",
        "parametri",
        "parameteri",
        "prune",
        "dedup",
    ];
    let words = words_of(order).to_lowercase();
    let has = |part: &str| words.split(|c: char| !c.is_alphanumeric()).any(|w| w.starts_with(part));
    (has("test") || has("spec")) && LEAVES_OUT.iter().any(|part| has(part))
}

/// Whether words say that tests are changed or added as part of the work: "in the tests as well",
/// "update the snapshots", "with a test". A test that has to pass is not meant.
pub(super) fn changes_tests(words: &str) -> bool {
    const CHANGING: [&str; 18] = [
        "add", "adapt", "adjust", "convert", "create", "cover", "extend", "migrate", "move",
        "port", "refactor", "rename", "reword", "rewrite", "simplify", "split", "update", "write",
    ];
    const BEFORE: [&str; 5] = ["in", "and", "with", "including", "also"];
    const BETWEEN: [&str; 12] =
        ["a", "all", "an", "any", "its", "new", "our", "the", "their", "these", "those", "unit"];
    const AFTER: [&str; 2] = ["too", "as"];
    const PASSING: [&str; 9] =
        ["pass", "passes", "passing", "green", "succeed", "work", "run", "fail", "fails"];
    let words = words.to_lowercase();
    let words: Vec<&str> =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_test = |word: &&str| {
        let kinds = ["test", "spec", "snapshot", "fixture", "golden"];
        kinds.iter().any(|kind| word.strip_suffix('s').unwrap_or(word) == *kind)
    };
    let tests = words.iter().enumerate().filter(|(_, word)| is_test(word));
    tests.into_iter().any(|(at, _)| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let before = words[..at].iter().rev().find(|word| !BETWEEN.contains(word));
        // "Test it" has neither an article nor a plural.
        let is_noun = words[at].ends_with('s') || at > 0 && BETWEEN.contains(&words[at - 1]);
        let near = &words[at.saturating_sub(4)..at];
        let is_meant = before.is_some_and(|word| BEFORE.contains(word))
            || near.iter().any(|word| CHANGING.contains(word))
            || AFTER.contains(&next) && is_noun;
        is_meant && is_noun && !PASSING.contains(&next)
    })
}

/// Whether a file belongs to tests by its path.
pub(super) fn belongs_to_tests(path: &Path) -> bool {
    let path = path.to_string_lossy().to_lowercase();
    ["test", "spec", "snap", "golden", "fixture"].iter().any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_whether_tests_are_part_of_the_work() {
        let table = [
            ("rename double to twice, in the tests as well", true),
            ("add a function triple to calc.py, with a test", true),
            ("move the parser into its own file and update the tests", true),
            ("rename add to sum in calc.py and its tests", true),
            ("write unit tests for the parser", true),
            ("Change the greeting. Update the snapshots too.", true),
            ("make the add test pass", false),
            ("make the login and signup tests pass", false),
            ("make build and tests pass", false),
            ("fix the failing tests", false),
            ("fix add and test it", false),
            ("add a function triple to calc.py", false),
            ("", false),
        ];
        for (words, expected) in table {
            assert_eq!(changes_tests(words), expected, "{words}");
        }
    }
}

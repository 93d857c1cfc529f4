//! Recognition of files and tests in a task's words.

use std::path::Path;

use crate::effects::EffectRequest;

/// Joins the title, the goal and the brief of a task with the last guidance of the operator.
pub(super) fn collect_task_words(order: &EffectRequest) -> String {
    let task = &order.task;
    let guidance = order.guidance.as_deref().unwrap_or_default();
    format!("{}\n{}\n{}\n{guidance}", task.title, task.goal, task.brief)
}

/// Returns whether the words contain the name of a file.
pub(super) fn is_named_in(words: &str, path: &Path) -> bool {
    path.file_name().is_some_and(|name| words.contains(&*name.to_string_lossy()))
}

/// Returns whether the words name a file as such: by its path, or by a name that is not an ordinary
/// word.
pub(super) fn names_file(words: &str, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let path = path.to_string_lossy();
    let name = name.to_string_lossy();
    let is_ordinary = !name.contains('.') && !name.chars().any(char::is_uppercase);
    let between = |c: char| c.is_whitespace() || "\"'`“”,;:()".contains(c);
    let mut words = words.split(between).map(|word| word.trim_end_matches(['.', '!', '?']));
    words.any(|word| word == path || !is_ordinary && word.rsplit('/').next() == Some(&*name))
}

/// Returns whether the words ask to take something away or to put things together.
pub(super) fn removes_something(words: &str) -> bool {
    split_affirmed_sentences(words).iter().flatten().any(|word| is_removal_word(word))
}

/// Returns whether the words ask to take earlier work back.
pub(super) fn takes_back(words: &str) -> bool {
    const TAKING_BACK: [&str; 6] = ["revert", "undo", "roll", "reset", "unwind", "back"];
    let sentences = split_affirmed_sentences(words);
    let mut words = sentences.iter().flatten();
    words.any(|word| TAKING_BACK.iter().any(|part| word.starts_with(part)))
}

/// Returns whether the words ask to remove tests, or to make one of several.
pub(super) fn removes_tests(words: &str) -> bool {
    let sentences = split_affirmed_sentences(words);
    let mut sentences = sentences.iter().map(Vec::as_slice);
    sentences.any(|sentence| {
        let removes = sentence.iter().any(|word| is_removal_word(word));
        removes
            && (0..sentence.len())
                .any(|at| is_test_word(&sentence[at]) && !has_to_pass(sentence, at))
    })
}

/// Returns whether the words ask to change or add tests as part of the work: "in the tests as well",
/// "update the snapshots", "with a test". A test that has to pass is not meant.
pub(super) fn changes_tests(words: &str) -> bool {
    let sentences = split_affirmed_sentences(words);
    sentences.iter().any(|sentence| {
        (0..sentence.len()).any(|at| is_test_word(&sentence[at]) && is_changed_test(sentence, at))
    })
}

/// Returns whether the words say that a test itself is not right: "the test is outdated".
pub(super) fn calls_tests_wrong(words: &str) -> bool {
    const WRONG: [&str; 7] =
        ["wrong", "outdated", "incorrect", "mistaken", "obsolete", "stale", "old"];
    const BETWEEN: [&str; 10] =
        ["is", "are", "was", "were", "itself", "expects", "expect", "the", "an", "value"];
    split_affirmed_sentences(words).iter().any(|sentence| {
        (0..sentence.len()).filter(|at| is_test_word(&sentence[*at])).any(|at| {
            let mut after = sentence[at + 1..].iter().map(String::as_str);
            after.find(|word| !BETWEEN.contains(word)).is_some_and(|word| WRONG.contains(&word))
        })
    })
}

/// Returns whether the sentence asks to change or add the test at `at`.
fn is_changed_test(sentence: &[String], at: usize) -> bool {
    const CHANGING: [&str; 18] = [
        "add", "adapt", "adjust", "convert", "create", "cover", "extend", "migrate", "move",
        "port", "refactor", "rename", "reword", "rewrite", "simplify", "split", "update", "write",
    ];
    const BEFORE: [&str; 5] = ["in", "and", "with", "including", "also"];
    const BETWEEN: [&str; 12] =
        ["a", "all", "an", "any", "its", "new", "our", "the", "their", "these", "those", "unit"];
    const AFTER: [&str; 2] = ["too", "as"];
    let one_of = |list: &[&str], word: &String| list.contains(&word.as_str());
    let before = sentence[..at].iter().rev().find(|word| !one_of(&BETWEEN, word));
    // "Test it" has neither an article nor a plural.
    let is_noun = sentence[at].ends_with('s') || at > 0 && one_of(&BETWEEN, &sentence[at - 1]);
    let near = &sentence[at.saturating_sub(4)..at];
    let is_meant = before.is_some_and(|word| one_of(&BEFORE, word))
        || near.iter().any(|word| one_of(&CHANGING, word))
        || sentence.get(at + 1).is_some_and(|word| one_of(&AFTER, word)) && is_noun;
    is_meant && is_noun && !has_to_pass(sentence, at)
}

/// Returns whether the sentence asks that the test at `at` passes.
fn has_to_pass(sentence: &[String], at: usize) -> bool {
    const PASSING: [&str; 9] =
        ["pass", "passes", "passing", "green", "succeed", "work", "run", "fail", "fails"];
    const BETWEEN: [&str; 8] = ["still", "must", "to", "should", "all", "are", "is", "have"];
    let after = sentence[at + 1..].iter().map(String::as_str);
    after.skip_while(|word| BETWEEN.contains(word)).take(1).any(|word| PASSING.contains(&word))
}

pub(super) fn is_test_word(word: &str) -> bool {
    let kinds = ["test", "spec", "snapshot", "fixture", "golden"];
    kinds.contains(&word.strip_suffix('s').unwrap_or(word))
}

fn is_removal_word(word: &str) -> bool {
    const REMOVING: [&str; 17] = [
        "remove", "removing", "delete", "deleting", "drop", "skip", "ignore", "obsolete", "merge",
        "merging", "combin", "consolidat", "collapse", "parametri", "parameteri", "prune", "dedup",
    ];
    REMOVING.iter().any(|part| word.starts_with(part))
}

/// Splits a text into sentences.
pub(super) fn split_sentences(text: &str) -> Vec<&str> {
    text.split(|c: char| "\n;!?".contains(c)).flat_map(|line| line.split(". ")).collect()
}

/// Splits a text into sentences, without those that contain a negation.
pub(super) fn split_affirmed(text: &str) -> Vec<&str> {
    const NOT: [&str; 4] = ["not", "never", "don", "without"];
    let is_affirmed = |sentence: &&str| !has_word(&split_words(sentence), &NOT);
    split_sentences(text).into_iter().filter(is_affirmed).collect()
}

fn split_affirmed_sentences(text: &str) -> Vec<Vec<String>> {
    split_affirmed(text).into_iter().map(split_words).collect()
}

/// Splits a sentence into lowercase words.
pub(super) fn split_words(sentence: &str) -> Vec<String> {
    let sentence = sentence.to_lowercase();
    let words = sentence.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

pub(super) fn has_word(words: &[String], list: &[&str]) -> bool {
    words.iter().any(|word| list.contains(&word.as_str()))
}

/// Returns whether a file belongs to tests by its path.
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
            ("Round the result. Do not update the tests.", false),
            ("Round the result.\n- Add a test for a fraction.", true),
            ("", false),
        ];
        for (words, expected) in table {
            assert_eq!(changes_tests(words), expected, "{words}");
        }
    }

    #[test]
    fn words_say_whether_a_test_is_not_right() {
        let table = [
            ("The adds test is outdated.", true),
            ("the tests expect the wrong value", true),
            ("the add test is red because add is wrong", false),
            ("make the add test pass", false),
            ("The test is not wrong: mend the code.", false),
        ];
        for (words, expected) in table {
            assert_eq!(calls_tests_wrong(words), expected, "{words}");
        }
    }

    #[test]
    fn words_say_whether_tests_go() {
        let table = [
            ("delete the module legacy and its tests", true),
            ("merge the three add tests into one", true),
            ("The tests of legacy go with it: delete them.", true),
            ("Remove the old parser.\n- all tests pass", false),
            ("remove the old parser; the tests still have to pass", false),
            ("remove the old parser, the tests must pass", false),
            ("Round it. Do not delete tests.", false),
            ("delete the dead module legacy", false),
        ];
        for (words, expected) in table {
            assert_eq!(removes_tests(words), expected, "{words}");
        }
        assert!(removes_something("delete the dead module legacy"));
        assert!(!removes_something("add a module"));
        assert!(takes_back("Revert the last commit"));
        assert!(!takes_back("Write a note. Do not revert anything."));
    }
}

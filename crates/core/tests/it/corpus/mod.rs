//! The gate on the labelled corpus: the figures below which nothing may fall.
//!
//! The rules are written by hand and the model is trained on all folds; a fold's figures say how well
//! its tools are read by themselves. `scripts/corpus/score` prints the table.

#![expect(clippy::print_stdout, reason = "the script shows the figures")]
#![expect(clippy::unwrap_used, reason = "a corpus that cannot be read fails the test")]

mod score;
mod trained;

use std::collections::BTreeSet;

use score::{Record, Score};
use unstuck_core::fault::Code;
use unstuck_core::fault::text_rules::{self, CheckStop, RuleSet};

const CORPUS: &str = include_str!("../../../../../testdata/corpus/dev.jsonl");
const UNSEEN: &str = include_str!("../../../../../testdata/corpus/unseen.jsonl");
const CAPTURED: &str = include_str!("../../../../../testdata/corpus/captured.jsonl");
const BLIND: &str = include_str!("../../../../../testdata/corpus/blind.jsonl");
const TOOLS: &str = include_str!("../../../../../testdata/corpus/tools.txt");
const CHECKS: &str = include_str!("../../../../../testdata/corpus/checks.jsonl");
const CHECKS2: &str = include_str!("../../../../../testdata/corpus/checks2.jsonl");
const SURROUNDINGS: &str = include_str!("../../../../../testdata/corpus/surroundings.jsonl");
const TOOLS25: &str = include_str!("../../../../../testdata/corpus/tools25.jsonl");
const FRESH: &str = include_str!("../../../../../testdata/corpus/fresh.jsonl");
const FRESH2: &str = include_str!("../../../../../testdata/corpus/fresh2.jsonl");
const FRESH3: &str = include_str!("../../../../../testdata/corpus/fresh3.jsonl");
const FRESH4: &str = include_str!("../../../../../testdata/corpus/fresh4.jsonl");
const CATALOGUE: &str = include_str!("../../../../../testdata/corpus/catalogue.txt");
const SAID: &str = include_str!("../../../../../testdata/corpus/said.txt");
const WEIGHTS: &[u8] = include_bytes!("../../../src/fault/text_rules/learned.bin");
const FOLDS: usize = 5;

fn records(lines: &str) -> Vec<Record> {
    let field = |record: &serde_json::Value, name: &str| record[name].as_str().unwrap().to_owned();
    lines
        .lines()
        .map(|line| {
            let record = serde_json::from_str(line).unwrap();
            Record {
                text: field(&record, "text"),
                tool: field(&record, "tool"),
                kind: field(&record, "kind_label"),
                category: field(&record, "category"),
            }
        })
        .collect()
}

/// The second table: `=== tool/kind CODE`, then the output.
fn tools() -> Vec<(Record, String)> {
    TOOLS
        .split("=== ")
        .skip(1)
        .map(|block| {
            let (head, text) = block.split_once('\n').unwrap();
            let (kind, code) = head.split_once(' ').unwrap();
            let category = score::category_of(code.parse().unwrap()).to_owned();
            let tool = kind.split('/').next().unwrap().to_owned();
            (
                Record { text: text.to_owned(), tool, kind: kind.to_owned(), category },
                code.to_owned(),
            )
        })
        .collect()
}

fn row(name: &str, score: &Score) {
    println!(
        "{name:<10} GA {:.3}  F1 {:.3}  precision {:.4}  split {:4.1} %  merge {:4.1} %  category {:.3} / {:.3}",
        score.ga,
        score.f1,
        score.precision,
        score.split * 100.0,
        score.merge * 100.0,
        score.category,
        score.category_macro,
    );
}

fn holds(name: &str, score: &Score) {
    assert!(score.ga >= 0.90, "{name}: GA");
    assert!(score.f1 >= 0.97, "{name}: F1");
    assert!(score.precision >= 0.995, "{name}: precision");
    assert!(score.split <= 0.10, "{name}: split");
    assert!(score.merge <= 0.01, "{name}: merge");
    assert!(score.category >= 0.93, "{name}: category");
    assert!(score.category_macro >= 0.85, "{name}: category, averaged");
}

// T0.7, and the figures of the corpus' own page.
#[test]
fn the_corpus_is_read_no_worse_than_agreed() {
    let records = records(CORPUS);
    let found = score::read(&records);
    let fold_of = score::folds(&records, FOLDS);
    for fold in 0..FOLDS {
        let name = format!("fold {fold}");
        let score = score::score(&found, |one| fold_of[one.tool()] == fold);
        row(&name, &score);
        holds(&name, &score);
    }
    let score = score::score(&found, |_| true);
    row("all", &score);
    holds("all", &score);
}

// These outputs were captured to find out how well the rules read what they had not seen.
#[test]
fn outputs_captured_from_other_tools_are_read_no_worse_than_agreed() {
    let records = records(UNSEEN);
    let found = score::read(&records);
    let score = score::score(&found, |_| true);
    row("unseen", &score);
    assert!(score.ga >= 0.98, "unseen: GA");
    assert!(score.f1 >= 0.985, "unseen: F1");
    assert!(score.precision >= 0.975, "unseen: precision");
    assert!(score.split <= 0.01, "unseen: split");
    assert!(score.merge <= 0.02, "unseen: merge");
    assert!(score.category >= 0.985, "unseen: category");
    assert!(score.category_macro >= 0.985, "unseen: category, averaged");
}

// The rules were improved by what they read wrongly here.
#[test]
fn outputs_captured_later_are_read_no_worse_than_they_were() {
    let records = records(CAPTURED);
    let found = score::read(&records);
    let score = score::score(&found, |_| true);
    row("captured", &score);
    assert!(score.ga >= 0.965, "captured: GA");
    assert!(score.precision >= 0.955, "captured: precision");
    assert!(score.split <= 0.015, "captured: split");
    assert!(score.merge <= 0.025, "captured: merge");
    assert!(score.category >= 0.975, "captured: category");
}

// No rule was written after these, so the figures say how unseen tools are read.
#[test]
fn unseen_tools_are_read_no_worse_than_they_were() {
    let records = records(BLIND);
    let found = score::read(&records);
    let score = score::score(&found, |_| true);
    row("blind", &score);
    assert!(score.ga >= 0.88, "blind: GA");
    assert!(score.precision >= 0.83, "blind: precision");
    assert!(score.split <= 0.065, "blind: split");
    assert!(score.merge <= 0.055, "blind: merge");
    assert!(score.category >= 0.86, "blind: category");
}

#[test]
fn tools_outside_the_corpus_are_read_no_worse_than_agreed() {
    let (records, codes): (Vec<Record>, Vec<String>) = tools().into_iter().unzip();
    let found = score::read(&records);
    let score = score::score(&found, |_| true);
    row("others", &score);
    holds("others", &score);
    let mut wrong = 0;
    for (record, code) in records.iter().zip(&codes) {
        let reading = text_rules::classify_output(record.text.as_bytes());
        if reading.code.as_str() != code {
            wrong += 1;
            println!("{}: {} by {}, not {code}", record.kind, reading.code, reading.rule);
        }
    }
    assert!(wrong * 100 <= records.len() * 3, "{wrong} of {} codes are wrong", records.len());
}

// Twenty-five tools of operations, databases and builds; every fold leaves some of them out.
#[test]
fn what_further_tools_say_is_read_no_worse_than_agreed() {
    let records = records(TOOLS25);
    let found = score::read(&records);
    let fold_of = score::folds(&records, FOLDS);
    assert!(fold_of.len() >= 25, "{}", fold_of.len());
    for fold in 0..FOLDS {
        let score = score::score(&found, |one| fold_of[one.tool()] == fold);
        row(&format!("tools {fold}"), &score);
        assert!(score.category >= 0.95, "tools, fold {fold}: category");
        assert!(score.category_macro >= 0.90, "tools, fold {fold}: category, averaged");
    }
    let score = score::score(&found, |_| true);
    row("tools", &score);
    assert!(score.category >= 0.99, "tools: category");
    assert!(score.category_macro >= 0.99, "tools: category, averaged");
    assert!(score.ga >= 0.90, "tools: GA");
    assert!(score.precision >= 0.95, "tools: precision");
}

// Eight sets of tools, each labelled and scored before it was read.
#[test]
fn what_tools_of_fresh_sets_say_is_read_no_worse_than_it_was() {
    let records = records(FRESH);
    let tools: BTreeSet<&str> = records.iter().map(|record| record.tool.as_str()).collect();
    assert!(tools.len() >= 25 && records.len() >= 200, "{} / {}", tools.len(), records.len());
    let found = score::read(&records);
    let score = score::score(&found, |_| true);
    row("fresh", &score);
    assert!(score.category >= 0.945, "fresh: category");
    assert!(score.category_macro >= 0.955, "fresh: category, averaged");
}

// Three further sets, most of the first two captured or written for tools in none of the others.
#[test]
fn what_tools_of_later_sets_say_is_read_no_worse_than_it_was() {
    let records = records(FRESH2);
    let found = score::read(&records);
    let fold_of = score::folds(&records, FOLDS);
    assert!(fold_of.len() >= 300, "{}", fold_of.len());
    for fold in 0..FOLDS {
        let score = score::score(&found, |one| fold_of[one.tool()] == fold);
        row(&format!("later {fold}"), &score);
    }
    let score = score::score(&found, |_| true);
    row("later", &score);
    assert!(score.category >= 0.94, "later: category");
    assert!(score.category_macro >= 0.965, "later: category, averaged");
}

// Labelled before it was scored. The rules were improved by what they read wrongly of one half of the
// tools; what they read wrongly of the sealed half was not looked at.
#[test]
fn what_tools_of_a_sealed_half_say_is_read_no_worse_than_it_was() {
    for (part, floor, floor_macro) in
        [("open", 0.93, 0.96), ("sealed", 0.785, 0.825), ("after", 0.80, 0.82)]
    {
        let sign = format!("\"part\": \"{part}\"");
        let lines: Vec<&str> = FRESH3.lines().filter(|line| line.contains(&sign)).collect();
        let records = records(&lines.join("\n"));
        assert!(records.len() >= 80, "{part}: {}", records.len());
        let score = score::score(&score::read(&records), |_| true);
        row(part, &score);
        assert!(score.category >= floor, "{part}: category");
        assert!(score.category_macro >= floor_macro, "{part}: category, averaged");
    }
}

// Further kinds of the 25 tools in sets, each labelled and scored before it was read.
#[test]
fn what_the_same_tools_say_besides_is_read_no_worse_than_it_was() {
    let records = records(FRESH4);
    let score = score::score(&score::read(&records), |_| true);
    row("besides", &score);
    assert!(score.category >= 0.92, "besides: category");
    assert!(score.category_macro >= 0.94, "besides: category, averaged");
}

// What the 25 tools say in a line, as far as their messages are known.
#[test]
fn the_messages_of_the_tools_are_read_no_worse_than_they_were() {
    let mut wrong = 0;
    for line in CATALOGUE.lines() {
        let (_, said) = line.split_once('|').unwrap();
        let (category, text) = said.split_once('|').unwrap();
        wrong += usize::from(
            score::category_of(text_rules::classify_output(text.as_bytes()).code) != category,
        );
    }
    let count = CATALOGUE.lines().count();
    println!("catalogue  {wrong} of {count} wrong");
    assert!(wrong * 100 <= count * 9, "{wrong} of {count}");
}

// Ways to say each category, none of them a tool's own: the words must reach beyond the corpora.
#[test]
fn other_ways_to_say_it_are_read_no_worse_than_they_were() {
    let cases: Vec<(&str, &str)> = SAID.lines().map(|line| line.split_once('|').unwrap()).collect();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(category, text)| {
            let reading = text_rules::classify_output(text.as_bytes());
            let found = score::category_of(reading.code);
            (found != *category).then(|| format!("{category}, not {found}: {text}"))
        })
        .collect();
    println!("said       {} of {} wrong", wrong.len(), cases.len());
    assert!(wrong.len() * 100 <= cases.len() * 2, "{wrong:#?}");
}

// Behind the weights of the model stands the digest of what they were trained on.
#[test]
fn the_model_was_trained_on_what_the_corpus_holds() {
    let texts = trained::texts().unwrap();
    let labels: BTreeSet<&str> = texts.iter().map(|[_, category, ..]| category.as_str()).collect();
    assert_eq!(labels.len(), 14, "{labels:?}");
    assert!(
        WEIGHTS.ends_with(trained::digest(&texts).as_bytes()),
        "learned.bin was trained on other texts, or on lines that were selected or masked otherwise: \
         run scripts/corpus/train"
    );
}

// B3: what any of these tools says, told by a failing test, is no news about the surroundings.
#[test]
fn no_tools_words_in_a_failing_test_are_taken_for_the_surroundings() {
    let records: Vec<Record> =
        [FRESH, FRESH2, FRESH3, FRESH4].into_iter().flat_map(records).collect();
    let mut wrong = Vec::new();
    for record in &records {
        let longest = record.text.lines().map(str::trim).max_by_key(|line| line.len());
        for output in failing_tests(longest.unwrap()) {
            if text_rules::classify_with(output.as_bytes(), RuleSet::ValidationOutput).is_some() {
                wrong.push(format!("{}: {output}", record.kind));
            }
        }
    }
    println!("asserted   {} of {} taken for the surroundings", wrong.len(), records.len() * 5);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The reports of five runners on a test that wanted something else than `said`.
fn failing_tests(said: &str) -> [String; 5] {
    [
        format!(
            "=================== FAILURES ===================\n>       assert run() == 'ok'\n\
             E       AssertionError: assert '{said}' == 'ok'\n\ntests/test_a.py:12: AssertionError\n\
             FAILED tests/test_a.py::test_a - AssertionError: assert '{said}' == 'ok'\n\
             ============== 1 failed in 0.12s ===============\n"
        ),
        format!(
            "--- FAIL: TestA (0.00s)\n    a_test.go:12: got {said}, want ok\nFAIL\n\
             FAIL\texample.com/shop\t0.004s\nFAIL\n"
        ),
        format!(
            "FAIL src/a.test.js\n  \u{25cf} a\n\n    expect(received).toBe(expected)\n\n    \
             Expected: \"ok\"\n    Received: \"{said}\"\n\nTests:       1 failed, 1 total\n"
        ),
        format!(
            "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\n{said}\n\
             thread 'a' panicked at src/a.rs:12:5:\nassertion `left == right` failed\n  \
             left: \"{said}\"\n right: \"ok\"\n\ntest result: FAILED. 0 passed; 1 failed\n"
        ),
        format!(
            "[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0\n\
             [ERROR]   ATest.a:12 expected: <ok> but was: <{said}>\n[INFO] BUILD FAILURE\n"
        ),
    ]
}

/// The outcome that is read from the output of a check, for every record.
fn checked(lines: &str) -> Vec<(serde_json::Value, Option<Code>)> {
    lines
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = record["text"].as_str().unwrap();
            let found = text_rules::classify_with(text.as_bytes(), RuleSet::ValidationOutput);
            (record, found.map(|(code, _)| code))
        })
        .collect()
}

// B3, T0.3: tests that expect, log or are called after an outage, a limit or a refusal are red.
#[test]
fn no_failing_test_is_taken_for_the_surroundings() {
    let checked: Vec<_> = [CHECKS, CHECKS2].into_iter().flat_map(checked).collect();
    let wrong: Vec<String> = checked
        .iter()
        .filter_map(|(record, found)| Some(format!("{}: {}", record["kind"], (*found)?)))
        .collect();
    // A crash that make reports is none of a program that is missing; where a crash leads is another rule.
    let is_missing = |stop: &CheckStop| !matches!(stop, CheckStop::Signal(_));
    let stops = checked.iter().filter_map(|(record, _)| {
        text_rules::find_check_stop(record["text"].as_str().unwrap().as_bytes())
    });
    let stops: Vec<CheckStop> = stops.filter(is_missing).collect();
    assert_eq!(stops, [], "no program of a failing test is missing");
    println!("checks     {} of {} taken for the surroundings", wrong.len(), checked.len());
    assert!(checked.len() >= 300, "{}", checked.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// B3: the other side of the same rules.
#[test]
fn a_check_that_its_surroundings_failed_is_known_by_the_tools_own_diagnosis() {
    let checked = checked(SURROUNDINGS);
    let wrong: Vec<String> = checked
        .iter()
        .filter(|(record, found)| found.map(Code::as_str) != record["code"].as_str())
        .map(|(record, found)| format!("{}: {found:?}, not {}", record["kind"], record["code"]))
        .collect();
    println!("controls   {} of {} missed", wrong.len(), checked.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

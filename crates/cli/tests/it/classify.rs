//! `unstuck classify`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::Value;
use unstuck_core::fault::{Code, text_rules};

use crate::program::{command, unstuck, unstuck_reading};

const DENIED: &str = "fatal: Authentication failed for 'https://example.com/repo.git/'\n";
const BROKEN: &str = "error[E0308]: mismatched types\n --> src/lib.rs:4:5\n";

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn in_a_pipe_the_answer_is_one_line_of_json() {
    let ran = unstuck_reading(&["classify"], DENIED.as_bytes());
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout.lines().count(), 1);
    let answer = json(&ran.stdout);
    assert_eq!(answer["code"], "AUTH_INVALID");
    assert_eq!(answer["class"], "never_retry");
    assert_eq!(answer["retryable"], false);
    let fields: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "category", "class", "code", "diagnostic", "retryable", "rule", "signature",
            "signature_version", "type"
        ]
    );
}

#[test]
fn bulk_answers_line_by_line_in_order() {
    let texts = [DENIED, BROKEN, "", "línea\tnueva \u{1f980}"];
    let input = texts.map(|text| Value::from(text).to_string()).join("\n");
    let whole = unstuck_reading(&["classify", "--bulk"], input.as_bytes());
    let codes = unstuck_reading(&["classify", "--code-only"], input.as_bytes());
    let signatures = unstuck_reading(&["classify", "--signature-only"], input.as_bytes());
    assert_eq!([whole.exit, codes.exit, signatures.exit], [0, 0, 0]);
    let answers: Vec<Value> = whole.stdout.lines().map(json).collect();
    let column = |name: &str| -> Vec<&str> {
        answers.iter().map(|answer| answer[name].as_str().unwrap()).collect()
    };
    assert_eq!(answers.len(), texts.len());
    assert_eq!(column("code"), codes.stdout.lines().collect::<Vec<_>>());
    assert_eq!(column("signature"), signatures.stdout.lines().collect::<Vec<_>>());
    for (text, answer) in texts.iter().zip(&answers) {
        let single = unstuck_reading(&["classify"], text.as_bytes());
        assert_eq!(json(&single.stdout), *answer, "{text:?}");
    }
}

#[test]
fn on_real_texts_the_program_says_what_the_library_says() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/corpus/dev.jsonl");
    let records = std::fs::read_to_string(corpus).unwrap();
    let texts: Vec<Value> = records.lines().map(|line| json(line)["text"].take()).collect();
    let input: Vec<String> = texts.iter().map(Value::to_string).collect();
    let ran = unstuck_reading(&["classify", "--signature-only"], input.join("\n").as_bytes());
    let expected: Vec<String> = texts
        .iter()
        .map(|text| {
            text_rules::classify_output(text.as_str().unwrap().as_bytes()).signature.to_string()
        })
        .collect();
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_signature_is_its_code_and_twelve_digits() {
    let ran = unstuck_reading(&["classify", "--signature-only"], b"\"boom\"\n");
    let (code, hash) = ran.stdout.trim_end().split_once(':').unwrap();
    assert!(code.parse::<Code>().is_ok());
    assert!(hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{hash}");
}

#[test]
fn a_wrong_line_is_named_and_the_answers_before_it_are_written() {
    for (wrong, problem) in [
        ("17", "invalid type: integer `17`, expected a JSON string"),
        ("{\"text\": 1}", "invalid type: map, expected a JSON string"),
        ("[104, 105]", "invalid type: sequence, expected a JSON string"),
        ("null", "invalid type: null, expected a JSON string"),
        ("plain words", "expected value (column 1)"),
        ("\"cut off", "EOF while parsing a string (column 8)"),
        ("\"a\" \"b\"", "trailing characters (column 5)"),
        ("", "empty, expected a JSON string"),
    ] {
        let input = format!("\"one\"\n\"two\"\n{wrong}\n\"four\"\n");
        let ran = unstuck_reading(&["classify", "--code-only"], input.as_bytes());
        assert_eq!((ran.exit, ran.stdout.lines().count()), (2, 2), "{wrong}");
        let first = ran.stderr.lines().next().unwrap();
        assert_eq!(first, format!("error: standard input, line 3: {problem}"), "{wrong}");
    }
}

#[test]
fn line_ends_of_windows_and_a_missing_last_one_are_fine() {
    let ran = unstuck_reading(&["classify", "--code-only"], b"\"one\"\r\n\"two\"");
    assert_eq!((ran.exit, ran.stdout.lines().count()), (0, 2));
}

#[test]
fn bytes_that_are_no_text_are_classified_all_the_same() {
    let raw = [DENIED.as_bytes(), b"\xff\xfe\x00\x80\n"].concat();
    let single = unstuck_reading(&["classify"], &raw);
    assert_eq!((single.exit, &json(&single.stdout)["code"]), (0, &Value::from("AUTH_INVALID")));

    let lone_surrogate: &[u8] = b"\"unauthorized \\ud800\"\n";
    let raw_bytes: &[u8] = b"\"unauthorized \xff\"\n";
    for line in [lone_surrogate, raw_bytes] {
        let ran = unstuck_reading(&["classify", "--code-only"], line);
        assert_eq!((ran.exit, ran.stdout.as_str()), (0, "AUTH_INVALID\n"));
    }
}

#[test]
fn no_text_is_a_text() {
    let ran = unstuck_reading(&["classify"], b"");
    assert_eq!((ran.exit, &json(&ran.stdout)["class"]), (0, &Value::from("code_error")));
    let bulk = unstuck_reading(&["classify", "--bulk"], b"");
    assert_eq!((bulk.exit, bulk.stdout.as_str()), (0, ""));
}

#[test]
fn a_file_is_read_like_standard_input() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("classify-a-file.log");
    std::fs::write(&path, BROKEN).unwrap();
    let from_file = unstuck(&["classify", path.to_str().unwrap()]);
    assert_eq!(from_file.stdout, unstuck_reading(&["classify", "-"], BROKEN.as_bytes()).stdout);
}

#[test]
fn a_file_that_is_not_there_is_a_mistake() {
    insta::assert_snapshot!(unstuck(&["classify", "no-such-file.log"]));
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    for args in [["--code-only", "--signature-only"], ["--json", "--code-only"]] {
        let ran = unstuck_reading(&[&["classify"][..], &args].concat(), b"");
        assert_eq!(ran.exit, 2, "{args:?}");
    }
}

#[test]
fn of_a_very_long_text_the_end_decides_and_the_rest_is_counted() {
    let long = 16 * 1024 * 1024;
    let text = [b"line\n".repeat(long / 5 + 1), DENIED.as_bytes().to_vec()].concat();
    let answer = json(&unstuck_reading(&["classify"], &text).stdout);
    assert_eq!(answer["code"], "AUTH_INVALID");
    assert_eq!(answer["skipped_bytes"].as_u64(), Some((text.len() - long) as u64));
}

#[test]
fn a_program_may_ask_line_by_line_and_wait_for_each_answer() {
    let mut child = command(["classify", "--code-only"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        stdin.write_all(b"\"unauthorized\"\n").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), "AUTH_INVALID");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

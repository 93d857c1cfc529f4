//! `unstuck explain`.

use std::io::Read as _;
use std::process::Stdio;

use serde_json::Value;
use unstuck_core::fault::{Category, Code};

use crate::program::{command, unstuck};

#[test]
fn without_a_code_it_lists_all_by_category() {
    let ran = unstuck(&["explain"]);
    assert_eq!(ran.exit, 0);
    let names: Vec<&str> = ran.stdout.lines().filter_map(|l| l.strip_prefix("  ")).collect();
    assert_eq!(names.len(), Code::ALL.len());
    for code in Code::ALL {
        assert!(names.iter().any(|line| line.split(' ').next() == Some(code.as_str())), "{code}");
    }
    for category in Category::ALL {
        assert!(ran.stdout.lines().any(|line| line == category.as_str()), "{category}");
    }
    let beginning: String = ran.stdout.split_inclusive('\n').take(6).collect();
    insta::assert_snapshot!(beginning);
}

#[test]
fn every_code_has_a_page_and_json() {
    for code in Code::ALL {
        let page = unstuck(&["explain", code.as_str()]);
        assert_eq!((page.exit, page.stderr.as_str()), (0, ""), "{code}");
        assert!(!page.stdout.is_empty(), "{code}");
        let json: Value =
            serde_json::from_str(&unstuck(&["explain", code.as_str(), "--json"]).stdout).unwrap();
        assert_eq!(json["code"], code.as_str());
        assert_eq!(json["page"].as_str(), Some(page.stdout.as_str()), "{code}");
    }
}

#[test]
fn one_code_as_json_says_all_that_is_decided_about_it() {
    let ran = unstuck(&["explain", "provider_rate_limit", "--json"]);
    let mut json: Value = serde_json::from_str(&ran.stdout).unwrap();
    json["page"] = Value::from("(the page)");
    insta::assert_json_snapshot!(json);
}

#[test]
fn where_no_person_is_asked_the_field_is_absent() {
    let ran = unstuck(&["explain", "GIT_PUSH_FAILED", "--json"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json.get("asks"), None);
}

#[test]
fn all_codes_as_json_come_without_pages() {
    let json: Value = serde_json::from_str(&unstuck(&["explain", "--json"]).stdout).unwrap();
    let codes = json["codes"].as_array().unwrap();
    assert_eq!(codes.len(), Code::ALL.len());
    assert!(codes.iter().all(|entry| entry.get("page").is_none()));
}

#[test]
fn letter_case_and_dashes_do_not_matter() {
    assert_eq!(
        unstuck(&["explain", "git-conflict"]).stdout,
        unstuck(&["explain", "GIT_CONFLICT"]).stdout
    );
}

#[test]
fn a_mistyped_code_gets_the_nearest_names() {
    insta::assert_snapshot!(unstuck(&["explain", "GIT_CONFLCT"]));
}

#[test]
fn a_name_that_is_near_nothing_gets_a_pointer_to_the_list() {
    insta::assert_snapshot!(unstuck(&["explain", "wibble"]));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for args in [&["explain"][..], &["explain", "--json"], &["completions", "bash"]] {
        let mut child =
            command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_said() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command(["explain"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: cannot write the output: "), "{said}");
}

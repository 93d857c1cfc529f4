//! Looking around.

use serde_json::json;
use unstuck_core::attempt::ActionOutcome;
use unstuck_core::fault::Code;

use crate::tool::worktree::Stage;

fn stage() -> Stage {
    let stage = Stage::new();
    stage.put(".gitignore", "target/\n*.log\n");
    stage.put(".hidden", "needle\n");
    stage.put("src/a.rs", "fn needle() {}\nfn other() {}\n");
    stage.put("src/deep/er/b.txt", "a needle in text\n");
    stage.put("src/c.log", "needle\n");
    stage.put("target/d", "needle\n");
    stage.put("src/e", b"needle\0");
    stage.put(".git/config", "needle\n");
    stage.put(".unstuck/state", "needle\n");
    stage
}

#[test]
fn a_folder_is_shown_without_what_git_ignores() {
    let stage = stage();
    let list = |input| stage.call("list", &input).unwrap().text;
    assert_eq!(list(json!({})), ".gitignore\n.hidden\nsrc/\nsrc/a.rs\nsrc/deep/\nsrc/e");
    assert_eq!(list(json!({"path": "src/deep", "depth": 9})), "src/deep/er/\nsrc/deep/er/b.txt");
    assert_eq!(list(json!({"path": "target"})), "nothing is there, or git ignores it.");
    let missing = stage.call("list", &json!({"path": "gone"})).unwrap_err();
    assert_eq!(missing.code(), Code::LogicError);
}

#[test]
fn text_is_found_where_it_is_and_nowhere_else() {
    let stage = stage();
    let search = |input| stage.call("search", &input).unwrap();
    assert_eq!(
        search(json!({"pattern": "needle"})).text,
        ".hidden:1: needle\nsrc/a.rs:1: fn needle() {}\nsrc/deep/er/b.txt:1: a needle in text"
    );
    assert_eq!(
        search(json!({"pattern": "NEEDLE|(?i)NEEDLE", "files": "*.rs"})).text,
        "src/a.rs:1: fn needle() {}"
    );
    assert_eq!(search(json!({"pattern": "needle", "path": "src/deep"})).text.lines().count(), 1);
    assert_eq!(search(json!({"pattern": "needle", "path": "src/a.rs"})).text.lines().count(), 1);
    let nothing = search(json!({"pattern": "haystack"}));
    assert_eq!(
        (nothing.outcome, nothing.verdict),
        (ActionOutcome::Failed, None),
        "an answer, no fault"
    );
    let bad = stage.call("search", &json!({"pattern": "(" })).unwrap_err();
    assert_eq!(bad.code(), Code::LogicBadInput);
}

#[test]
fn a_search_that_finds_too_much_says_so() {
    let stage = Stage::new();
    stage.put("src/a", "x\n".repeat(5_000));
    let shown = stage.call("search", &json!({"pattern": "x"})).unwrap().text;
    assert_eq!(shown.lines().count(), 201);
    assert!(shown.ends_with("ask for less …]"), "{shown}");
}

//! Showing and changing files.

use serde_json::json;
use unstuck_core::fault::Code;
use unstuck_world::scope::ScopeRules;

use crate::tool::worktree::{Set, Stage};

#[test]
fn a_file_is_shown_whole_or_in_part() {
    let stage = Stage::new();
    stage.put("src/a", "one\ntwo\nthree\n");
    stage.put("other/b", "");
    let read = |input| stage.call("read_file", &input).unwrap().text;
    assert_eq!(read(json!({"path": "src/a"})), "one\ntwo\nthree");
    let absolute = stage.root.join("src/a");
    assert_eq!(read(json!({"path": absolute})), "one\ntwo\nthree");
    let part = read(json!({"path": "src/a", "offset": 2, "limit": 1}));
    assert_eq!(part, "[src/a, lines 2 to 2 of 3]\ntwo");
    assert_eq!(read(json!({"path": "other/b"})), "other/b is empty.", "reading is not fenced");
}

#[test]
fn what_is_no_text_is_said_and_what_is_long_loses_its_middle() {
    let stage = Stage::new();
    stage.put("src/b", b"\x7fELF\0\0");
    let long: String = (0..10_000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    stage.put("src/l", &long);
    let read = |path| stage.call("read_file", &json!({"path": path, "limit": 100_000})).unwrap();
    assert_eq!(read("src/b").text, "src/b is no text (6 bytes); it is not shown.");
    let shown = read("src/l").text;
    assert!(shown.starts_with("line 0\n") && shown.ends_with("line 9999"), "{shown:.80}");
    assert!(shown.contains(" bytes left out …]") && shown.len() < 31_000, "{}", shown.len());
}

#[test]
fn a_file_is_written_with_its_folders() {
    let stage = Stage::new();
    stage.call("write_file", &json!({"path": "src/new/deep/a", "content": "x\n"})).unwrap();
    assert_eq!(stage.get("src/new/deep/a"), "x\n");
}

#[test]
fn paths_are_relative_to_the_folder_of_the_project() {
    let rules = ScopeRules {
        folder: "web".into(),
        allowed: vec!["src".to_owned()],
        ..ScopeRules::default()
    };
    let stage = Stage::with(&Set { folder: "web", scope: rules, ..Set::default() });
    stage.put("src/a", "of the root\n");
    stage.put("web/src/b", "beside\n");
    stage.call("write_file", &json!({"path": "src/a", "content": "x\n"})).unwrap();
    assert_eq!((&*stage.get("web/src/a"), &*stage.get("src/a")), ("x\n", "of the root\n"));
    let text = |tool, input| stage.call(tool, &input).unwrap().text;
    assert_eq!(text("read_file", json!({"path": "../src/a"})), "of the root");
    assert_eq!(text("list", json!({})), "src/\nsrc/a\nsrc/b");
    assert_eq!(text("search", json!({"pattern": "beside"})), "src/b:1: beside");
    assert_eq!(
        text("search", json!({"pattern": "root", "path": "../src"})),
        "../src/a:1: of the root"
    );
    assert_eq!(text("run_command", json!({"command": "cat src/b"})), "beside");
    let outside = |path| stage.call("write_file", &json!({"path": path, "content": "x"}));
    assert_eq!(outside("../src/a").unwrap_err().code(), Code::ScopeOutsideAllowed);
    assert_eq!(outside("../../x").unwrap_err().code(), Code::PermissionFileAccess);
}

#[test]
fn an_edit_needs_its_text_exactly_once() {
    let stage = Stage::new();
    stage.put("src/a", "let a = 1;\nlet b = 1;\n");
    let edit = |old, new, all| {
        let input = json!({"path": "src/a", "old": old, "new": new, "all": all});
        stage.call("edit_file", &input)
    };
    assert!(edit("a = 1", "a = 2", false).unwrap().text.contains("one place"));
    assert_eq!(stage.get("src/a"), "let a = 2;\nlet b = 1;\n");
    let twice = edit("let ", "const ", false).unwrap_err();
    assert_eq!(twice.code(), Code::LogicError);
    assert!(twice.message.contains("2 times"), "{}", twice.message);
    let none = edit("c = 1", "c = 2", false).unwrap_err();
    assert!(none.message.contains("does not hold"), "{}", none.message);
    assert_ne!(none.signature, edit("d = 1", "d = 2", false).unwrap_err().signature);
    assert_eq!(none.signature, edit("c = 1", "x", false).unwrap_err().signature);
    assert_eq!(edit("", "x", false).unwrap_err().code(), Code::LogicBadInput);
    assert_eq!(stage.get("src/a"), "let a = 2;\nlet b = 1;\n", "a failed edit changes nothing");
    edit("let ", "const ", true).unwrap();
    assert_eq!(stage.get("src/a"), "const a = 2;\nconst b = 1;\n");
}

#[test]
fn no_path_leads_out_of_the_worktree_or_its_fence() {
    let stage = Stage::new();
    let outside = stage.beside("outside");
    std::fs::write(&outside, "secret").unwrap();
    std::os::unix::fs::symlink(&outside, stage.root.join("src/link")).unwrap();
    std::os::unix::fs::symlink("/", stage.root.join("src/root")).unwrap();
    let etc = json!("/etc/passwd");
    for path in [
        json!("../outside"),
        json!(outside),
        etc,
        json!("src/link"),
        json!("src/root/etc"),
        json!(".git/config"),
        json!("src/../../outside"),
    ] {
        for (tool, input) in [
            ("read_file", json!({"path": path})),
            ("list", json!({"path": path})),
            ("search", json!({"pattern": "x", "path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old": "secret", "new": "x"})),
        ] {
            let fault = stage.call(tool, &input).unwrap_err();
            assert_eq!(fault.code(), Code::PermissionFileAccess, "{tool} {path}");
        }
    }
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "secret");
    for (path, code) in
        [("src/locked/a", Code::ScopeForbidden), ("other", Code::ScopeOutsideAllowed)]
    {
        let input = json!({"path": path, "content": "x"});
        assert_eq!(stage.call("write_file", &input).unwrap_err().code(), code, "{path}");
        assert!(!stage.root.join(path).exists());
    }
    // A person is asked about it before it lands, not before it is written.
    stage.call("write_file", &json!({"path": "src/ask", "content": "x"})).unwrap();
}

//! Whatever is asked of a tool comes to something that is shown or to a typed fault.

use proptest::prelude::*;
use serde_json::json;
use unstuck_core::fault::Code;

use crate::tool::worktree::Stage;

// T3.9, T1.15: without anybody who decides, the bare fault comes back.
#[test]
fn every_call_is_shown_or_fails_by_a_code_that_is_not_ours() {
    let stage = Stage::new();
    stage.put("src/a", "text\n");
    stage.put("src/dir/b", "text\n");
    stage.run("mkfifo src/pipe && ln -s a src/link && ln -s gone src/broken").unwrap();
    let path = prop::sample::select(vec![
        "src/a", "src/dir", "src/pipe", "src/link", "src/broken", "src/a/below", "", ".", "..",
        "/", "src/gone", "gone/x", "\0", "src/\u{fffd}", ".git", "~", "src//a", "./src/a", "-rf",
    ]);
    let tool = prop::sample::select(vec!["read_file", "list", "search", "write_file", "edit_file"]);
    let mut runner = prop::test_runner::TestRunner::new(ProptestConfig {
        cases: 120,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&(tool, path, any::<u16>()), |(tool, path, number)| {
            let input = match tool {
                "read_file" => json!({"path": path, "offset": number}),
                "list" => json!({"path": path, "depth": number}),
                "search" => json!({"pattern": "t", "path": path}),
                "write_file" => json!({"path": path, "content": "text\n"}),
                _ => json!({"path": path, "old": "text", "new": "text2"}),
            };
            if let Err(fault) = stage.call(tool, &input) {
                prop_assert!(
                    !matches!(fault.code(), Code::InternalError | Code::InternalStore),
                    "{} {}: {}",
                    tool,
                    path,
                    fault
                );
            }
            Ok(())
        })
        .unwrap();
}

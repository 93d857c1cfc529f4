//! Whatever the rules and the path, nothing that leaves the worktree or belongs to git is inside.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use unstuck_world::scope::{PathScope, PathVerdict, ScopeMode, ScopeRules};

fuzz_target!(|input: (Vec<String>, Vec<String>, &str)| {
    let (allowed, forbidden, path) = input;
    let rules = ScopeRules { mode: ScopeMode::Open, allowed, forbidden, ask_first: Vec::new() };
    let Ok(scope) = PathScope::new(&rules) else { return };
    let path = Path::new(path);
    let outside = |part: Component<'_>| match part {
        Component::Normal(name) => name.eq_ignore_ascii_case(".git"),
        _ => true,
    };
    if path.components().any(outside) {
        assert_eq!(scope.judge_path(path), PathVerdict::Forbidden);
    }
    let verdict = scope.judge_paths([path]);
    assert_eq!(verdict.is_clean(), scope.judge_path(path) == PathVerdict::Inside);
});

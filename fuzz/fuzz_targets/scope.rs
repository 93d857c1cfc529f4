//! Whatever the rules and the path, nothing that leaves the worktree or belongs to git is inside.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use unstuck_world::scope::{Mode, Rules, Scope, Standing};

fuzz_target!(|input: (Vec<String>, Vec<String>, &str)| {
    let (allowed, forbidden, path) = input;
    let rules = Rules { mode: Mode::Open, allowed, forbidden, ask_first: Vec::new() };
    let Ok(scope) = Scope::new(&rules) else { return };
    let path = Path::new(path);
    let outside = |part: Component<'_>| match part {
        Component::Normal(name) => name.eq_ignore_ascii_case(".git"),
        _ => true,
    };
    if path.components().any(outside) {
        assert_eq!(scope.standing(path), Standing::Forbidden);
    }
    let verdict = scope.judge([path]);
    assert_eq!(verdict.is_clean(), scope.standing(path) == Standing::Inside);
});

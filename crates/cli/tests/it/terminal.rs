//! The program on a terminal: laid out for a person, coloured unless declined.

use std::process::{Command, Stdio};

use crate::program::own_search_path;
use crate::shop::Shop;

/// What a person sees. `script`, which every Debian has, lends the terminal; without it there is
/// nothing to look at and the tests say so.
pub(crate) fn seen(command: &str) -> Option<String> {
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", command, "/dev/null"])
        .env_clear()
        .env("PATH", own_search_path("/usr/bin:/bin"))
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .inspect_err(|error| eprintln!("skipped: script: {error}"))
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"))
}

/// How errors are told apart may become better without a change to how the answer looks.
fn without_hash(seen: &str) -> String {
    let is_hash = |word: &str| word.len() == 12 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let hash = seen.split([':', '\n']).find(|word| is_hash(word)).unwrap_or_default();
    seen.replace(hash, "(hash)")
}

const DENIED: &str = "printf 'fatal: Authentication failed\\n'";

#[test]
fn classify_is_laid_out_for_reading() {
    if let Some(seen) = seen(&format!("{DENIED} | unstuck classify --no-color")) {
        insta::assert_snapshot!(without_hash(&seen));
    }
}

#[test]
fn classify_writes_json_when_told_to() {
    if let Some(seen) = seen(&format!("{DENIED} | unstuck classify --json")) {
        assert!(seen.starts_with("{\"code\":\"AUTH_INVALID\""), "{seen}");
    }
}

#[test]
fn a_page_is_laid_out_for_reading() {
    if let Some(seen) = seen("stty rows 24 cols 60; unstuck --no-color explain auth-expired") {
        assert!(seen.lines().all(|line| line.chars().count() <= 60), "{seen}");
        assert!(!seen.contains('`') && !seen.contains('#'), "{seen}");
    }
}

#[test]
fn the_list_breaks_its_lines_where_the_window_ends() {
    if let Some(seen) = seen("stty rows 24 cols 72; unstuck explain --no-color") {
        assert!(seen.lines().all(|line| line.chars().count() <= 72), "{seen}");
        insta::assert_snapshot!(seen.split_inclusive('\n').take(8).collect::<String>());
    }
}

#[test]
fn questions_break_their_lines_where_the_window_ends() {
    let shop = Shop::left_alone();
    for verb in ["inbox list", "inbox show 1"] {
        let root = shop.root().display();
        let command = format!("stty rows 24 cols 64; unstuck --no-color -C '{root}' {verb}");
        if let Some(seen) = seen(&command) {
            assert!(seen.lines().all(|line| line.chars().count() <= 64), "{seen}");
        }
    }
}

#[test]
fn colours_show_and_can_be_declined() {
    let colours = |command: &str| seen(command).map(|seen| seen.contains('\u{1b}'));
    assert_ne!(colours("unstuck explain"), Some(false));
    assert_ne!(colours("NO_COLOR=1 unstuck explain"), Some(true));
    assert_ne!(colours("unstuck explain --no-color"), Some(true));
    assert_ne!(colours("TERM=dumb unstuck explain"), Some(true));
}

#[test]
fn typing_a_text_is_announced() {
    if let Some(seen) = seen("unstuck classify --no-color < /dev/tty") {
        assert!(seen.contains("reading from the keyboard"), "{seen}");
    }
}

//! Why git did not push, in one line of its own.

/// Lines that say nothing about the reason.
const EMPTY: &[&str] = &["failed to push some refs", "To ", "Done", "See the "];

/// The line of git's output that says why a push did not arrive, without git's own prefix.
pub fn push_refusal(output: &str) -> Option<&str> {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let beginning = |prefix: &'static str| lines().find_map(move |line| after(line, prefix));
    lines()
        .find(|line| line.contains("[rejected]") || line.contains("[remote rejected]"))
        .or_else(|| beginning("fatal: "))
        .or_else(|| beginning("remote: "))
        .or_else(|| beginning("error: "))
        .or_else(|| beginning("hint: "))
        .or_else(|| lines().next_back())
}

/// What stands after a prefix of git, where it tells something.
fn after<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let said = line.strip_prefix(prefix)?.trim();
    let tells = !said.is_empty() && !EMPTY.iter().any(|words| said.starts_with(words));
    tells.then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_reason_is_told() {
        for (output, reason) in [
            (
                "error: failed to push some refs to 'x'\nhint: Updates were rejected because the remote \
                 contains work that you do not\nhint: have locally.",
                Some("Updates were rejected because the remote contains work that you do not"),
            ),
            (
                "fatal: unable to access 'http://127.0.0.1:1/': Failed to connect\n",
                Some("unable to access 'http://127.0.0.1:1/': Failed to connect"),
            ),
            (
                "remote: main is protected\nTo /srv/shop\n ! [remote rejected] a -> main (pre-receive \
                 hook declined)\nerror: failed to push some refs to '/srv/shop'",
                Some("! [remote rejected] a -> main (pre-receive hook declined)"),
            ),
            ("remote: \nremote: main is protected\n", Some("main is protected")),
            ("no tests, no push\n", Some("no tests, no push")),
            (" \n", None),
        ] {
            assert_eq!(push_refusal(output), reason, "{output}");
        }
    }
}

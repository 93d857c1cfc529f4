//! The reason of a failed push, in git's own words.

/// Prefixes of lines without a reason.
const EMPTY: &[&str] = &["failed to push some refs", "To ", "Done", "See the "];

/// Returns the reason of a failed push in git's own words: the line that reports the rejection, as git writes
/// it for people, after the remote's message; otherwise the first informative line.
pub fn push_refusal(output: &str) -> Option<String> {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let beginning =
        |prefix: &'static str| lines().find_map(move |line| text_after_prefix(line, prefix));
    let is_rejected =
        |line: &&str| line.contains("[rejected]") || line.contains("[remote rejected]");
    if let Some(line) = lines().find(is_rejected) {
        let rejected = render_for_people(line).unwrap_or_else(|| line.to_owned());
        return Some(match beginning("remote: ").or_else(|| beginning("error: ")) {
            Some(said) => format!("{said}; {rejected}"),
            None => rejected,
        });
    }
    let reason = beginning("fatal: ")
        .or_else(|| beginning("remote: "))
        .or_else(|| beginning("error: "))
        .or_else(|| beginning("hint: "))
        .or_else(|| lines().next_back());
    reason.map(str::to_owned)
}

/// Converts a line of `git push --porcelain` (`!`, the two names and the reason, separated by tabs) to the
/// form that people know: `! [rejected] main -> main (fetch first)`.
fn render_for_people(line: &str) -> Option<String> {
    let (names, said) = line.strip_prefix('!')?.trim_start().split_once(char::is_whitespace)?;
    let (from, to) = names.split_once(':')?;
    let short = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    let (tag, why) = said.trim_start().split_once(']')?;
    Some(format!("! {tag}] {} -> {}{why}", short(from), short(to)))
}

/// Returns the text after one of git's prefixes, if it is informative.
fn text_after_prefix<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
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
                Some(
                    "main is protected; ! [remote rejected] a -> main (pre-receive hook declined)",
                ),
            ),
            (
                "To /srv/shop\n!\trefs/heads/unstuck/b1:refs/heads/unstuck/b1\t[rejected] (fetch \
                 first)\nDone\nerror: failed to push some refs to '/srv/shop'\nhint: Updates were",
                Some("! [rejected] unstuck/b1 -> unstuck/b1 (fetch first)"),
            ),
            ("remote: \nremote: main is protected\n", Some("main is protected")),
            ("no tests, no push\n", Some("no tests, no push")),
            (" \n", None),
        ] {
            assert_eq!(push_refusal(output).as_deref(), reason, "{output}");
        }
    }
}

//! What an agent needs according to its last message.

/// The prefix of a line by which an agent says that it cannot continue without the operator.
const BLOCKED: &str = "BLOCKED:";

/// Returns the last message of an agent if it asks something or says that it is not able to do the work. An
/// offer of more work is no question, and that nothing has to be changed is a reason.
pub(super) fn parse_open_need(said: &str) -> Option<&str> {
    const OFFERS: [&str; 3] = ["anything else", "something else", "would you like me to"];
    const UNABLE: [&str; 22] = [
        "i could not", "i couldn't", "i cannot", "i can't", "i can not", "unable to",
        "not able to", "n't able to", "impossible to", "please tell me", "please provide",
        "please clarify", "please let me know", "ich konnte", "ich kann", "nicht möglich",
        "je n'ai pas pu", "je ne peux pas", "impossible de", "no pude", "no puedo", "no he podido",
    ];
    const REASONS: [&str; 14] = [
        "already", "nothing to", "nothing has to", "nothing needs", "not necessary", "unnecessary",
        "no need", "not needed", "not required", "no change is", "no changes are",
        "no change need", "no changes need", "find any",
    ];
    let said = said.trim();
    let asks = said.match_indices('?').any(|(at, _)| {
        said[at + 1..]
            .chars()
            .next()
            .is_none_or(|next| next.is_whitespace() || "\"”)*".contains(next))
    });
    let lower = said.to_lowercase().replace('’', "'");
    let holds = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let is_open = asks && !holds(&OFFERS) || holds(&UNABLE) && !holds(&REASONS);
    is_open.then_some(said)
}

/// Returns the need that an agent states: the rest of its last message after `BLOCKED:` at the
/// start of a line.
pub(super) fn parse_blocked_need(said: &str) -> Option<&str> {
    let line = said.lines().map(str::trim_start).find(|line| line.starts_with(BLOCKED))?;
    let from = line.as_ptr() as usize - said.as_ptr() as usize + BLOCKED.len();
    Some(said[from..].trim()).filter(|asked| !asked.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    // B15: what an agent was not able to do is no task that needs no change
    #[test]
    fn a_last_message_may_leave_something_open() {
        let table = [
            ("I could not do this: there is no payment.py. Please tell me where it is.", true),
            ("I was unable to complete the task because payment.py does not exist.", true),
            ("I cannot do that: I have no access to the key. No changes were made.", true),
            ("Ich konnte die Aufgabe nicht erledigen: die Datei gibt es nicht.", true),
            ("Which currency do you mean?", true),
            ("I couldn\u{2019}t find the module.", true),
            ("I could not find anything to change: the amounts are already rounded.", false),
            ("There is nothing to do. Is there anything else?", false),
            ("I cannot see a bug, so no change is needed.", false),
            ("Done.", false),
        ];
        for (said, expected) in table {
            assert_eq!(parse_open_need(said).is_some(), expected, "{said}");
        }
        assert_eq!(parse_blocked_need("I looked.\nBLOCKED: which one?"), Some("which one?"));
    }
}

//! Word combinations: kinds of words that have a meaning in order and close to each other.

use super::hit::RuleHit;
use super::vocabulary::{
    DAMAGED, HELD, LOCKED, LOGIN_FIRST, NOT_AS_ROOT, OF_CODE, PLAN_USED_UP, PORT_TAKEN, TOGETHER,
    Together, WRONG_SECRET,
};
use crate::code::Code;

/// A vocabulary word at its position in the prose.
pub(super) struct ProseWord {
    start: usize,
    end: usize,
    kind: u128,
}

/// Returns the ids of the rules.
pub(super) fn rule_ids() -> impl Iterator<Item = &'static str> {
    TOGETHER.iter().map(|rule| rule.id)
}

/// Offers the meaning of the word combinations in each line.
pub(super) fn offer_combinations(
    prose: &[u8],
    words: &[ProseWord],
    raises: bool,
    best: &mut RuleHit,
) {
    // Rules narrow enough to count beside a phrase that already matched.
    let wide = best.is_wide();
    let passes = best.is_passing();
    let asks = best.has_code(Code::AuthMissing);
    let refused = best.has_code(Code::ToolAccessDenied);
    let rejects = best.has_code(Code::AuthInvalid);
    let died = best.has_code(Code::ToolCrash);
    if !(wide || passes || asks || refused || rejects || died) {
        return;
    }
    let heard = |rule: &Together| match rule.id {
        WRONG_SECRET => wide || asks || refused || passes,
        LOGIN_FIRST => wide || rejects || refused || passes,
        LOCKED | PORT_TAKEN => passes,
        // Clouds refuse an exhausted quota with the same status.
        PLAN_USED_UP => wide || refused,
        DAMAGED => wide || died,
        _ => wide,
    };
    let mut rest = words;
    for end in memchr::memchr_iter(b'\n', prose) {
        let (line, below) = rest.split_at(rest.partition_point(|word| word.end <= end));
        rest = below;
        if line.is_empty() {
            continue;
        }
        let kinds = line.iter().fold(0, |kinds, word| kinds | word.kind);
        for rule in TOGETHER {
            let applies = rule.words.iter().all(|kind| kinds & kind != 0)
                && kinds & rule.without == 0
                && heard(rule)
                && !(raises && is_about_code(rule));
            if applies && holds_in_line(prose, line, rule) {
                offer_rule(rule, best);
            }
        }
    }
}

/// Returns whether a rule is about a subject that code which raises an exception may itself be about.
fn is_about_code(rule: &Together) -> bool {
    rule.id == PLAN_USED_UP || (rule.code == Code::ToolConfig && rule.id != PORT_TAKEN)
}

impl ProseWord {
    /// Returns the word of this kind from `start` to `end`, if it is delimited there.
    pub(super) fn if_delimited(prose: &[u8], start: usize, end: usize, kind: u128) -> Option<Self> {
        // `_token` is the end of a variable's name.
        let alone = match prose[start] {
            b'_' => !word_continues(prose, end),
            _ => stands_alone(prose, start, end),
        };
        alone.then_some(Self { start, end, kind })
    }
}

pub(super) fn stands_alone(prose: &[u8], start: usize, end: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| prose.get(at));
    !before.is_some_and(|byte| is_in_word(*byte)) && !word_continues(prose, end)
}

fn word_continues(prose: &[u8], end: usize) -> bool {
    prose.get(end).is_some_and(|byte| is_in_word(*byte))
}

const fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'@')
}

fn offer_rule(rule: &Together, best: &mut RuleHit) {
    match rule.id {
        LOCKED | HELD => best.offer_lock(rule.code, rule.id),
        // Counts only if no other rule matched.
        OF_CODE if !best.is_none() => {}
        WRONG_SECRET if !best.is_wide() => best.offer_narrow(rule.code, rule.id),
        PORT_TAKEN | NOT_AS_ROOT | DAMAGED => best.offer_narrow(rule.code, rule.id),
        _ => best.offer(rule.code, rule.id),
    }
}

/// Returns whether the rule's kinds occur in the line in their order.
fn holds_in_line(prose: &[u8], line: &[ProseWord], rule: &Together) -> bool {
    let Some((first, rest)) = rule.words.split_first() else { return false };
    line.iter()
        .any(|word| word.kind & first != 0 && kinds_follow(prose, line, word.end, rest, rule.gap))
}

fn kinds_follow(prose: &[u8], line: &[ProseWord], end: usize, kinds: &[u128], gap: usize) -> bool {
    let Some((kind, rest)) = kinds.split_first() else { return true };
    line.iter().any(|word| {
        word.kind & kind != 0
            && word.start > end
            && memchr::memchr_iter(b' ', &prose[end..word.start]).count() <= gap + 1
            && kinds_follow(prose, line, word.end, rest, gap)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{RuleSet, classify_output, classify_with};
    use crate::code::Code;

    #[test]
    fn words_that_stand_together_name_the_cause() {
        let cases = [
            ("frob: error: the passphrase that was supplied is incorrect", Code::AuthInvalid),
            ("Error: you must first specify an API token", Code::AuthMissing),
            ("error: this operation cannot be done unless you are root", Code::ToolAccessDenied),
            ("error: failed to obtain the transaction lock", Code::EnvUnavailable),
            ("Error: another instance of frob is already running", Code::EnvUnavailable),
            ("error: package needs 120MB more space on the / filesystem", Code::EnvDiskFull),
            ("fatal: 'frob' is not a registered tool command", Code::ToolMissing),
            ("error: no cluster leader", Code::EnvUnavailable),
            ("Error: The working copy has diverged from the branch", Code::GitConflict),
            ("error: port 8080 is in use by another process", Code::ToolConfig),
            ("error: the server did not accept your credentials", Code::AuthInvalid),
            ("error: no signing identity was found", Code::AuthMissing),
            ("error: your role does not permit this", Code::ToolAccessDenied),
            ("error: you are sending requests too quickly", Code::ToolRateLimit),
            ("error: concurrency limit reached for your plan", Code::ToolQuota),
            ("error: request aborted after 30000 ms", Code::EnvTimeout),
            ("error: the archive is damaged", Code::ToolConfig),
            ("error: the working directory must be clean", Code::GitConflict),
            ("error: the passwords do not agree", Code::AuthInvalid),
            ("error: the group limit (limit: 70) is exceeded", Code::ToolRateLimit),
            ("error: size limit exceeded by 3 kB", Code::ToolConfig),
            ("error: unable to establish a session", Code::EnvConnection),
            ("error: the object has been modified, please try again", Code::EnvUnavailable),
            ("error: the account balance is not positive", Code::ToolQuota),
            ("error: connect to server: error: the token is wrong", Code::AuthInvalid),
        ];
        for (output, code) in cases {
            let reading = classify_output(output.as_bytes());
            assert_eq!(reading.code, code, "{output}: {}", reading.rule);
        }
    }

    #[test]
    fn the_same_words_apart_or_about_something_else_name_no_cause() {
        for output in [
            "error: the lock file needs to be updated but --locked was passed",
            "error: do not run this as root",
            "error: invalid command line",
            "error: the connection string has no host",
            "error: invalid connection url",
            "error: this cannot be run as root",
            "error: the folder is not within a project",
        ] {
            let reading = classify_output(output.as_bytes());
            assert_eq!(reading.code, Code::ToolConfig, "{output}: {}", reading.rule);
        }
    }

    #[test]
    fn only_gits_own_lock_is_gits() {
        let lock = "error: could not acquire lock: /srv/shop/.git/index.lock exists";
        assert_eq!(classify_output(lock.as_bytes()).code, Code::GitLocked);
        let other = "error: could not acquire lock: /srv/shop/.frob/state.lock exists";
        assert_eq!(classify_output(other.as_bytes()).code, Code::EnvUnavailable);
        assert_eq!(
            classify_with(b"FAILED: could not acquire lock", RuleSet::ValidationOutput),
            None
        );
    }
}

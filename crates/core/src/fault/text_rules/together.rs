//! Words that mean something together: kinds of words, in order and close to each other.

use super::hit::Hit;
use super::vocabulary::{
    HELD, LOCKED, LOGIN_FIRST, OF_CODE, PORT_TAKEN, TOGETHER, Together, WRONG_SECRET,
};
use crate::fault::table::Code;

/// A word of the vocabulary where it stands in the prose.
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: u128,
}

/// The ids of the rules.
pub(super) fn rules() -> impl Iterator<Item = &'static str> {
    TOGETHER.iter().map(|rule| rule.id)
}

/// Offers what the words of each line mean together. `words` are in the order of their ends.
pub(super) fn find(prose: &[u8], words: &[Word], raises: bool, best: &mut Hit) {
    let mut rest = words;
    // What is narrow enough to be heard beside what the phrases say.
    let heard = |rule: &Together| match rule.id {
        WRONG_SECRET => {
            best.is_wide() || best.is(Code::AuthMissing) || best.is(Code::ToolAccessDenied)
        }
        LOGIN_FIRST => {
            best.is_wide() || best.is(Code::AuthInvalid) || best.is(Code::ToolAccessDenied)
        }
        LOCKED | PORT_TAKEN => best.passes(),
        _ => best.is_wide(),
    };
    let heard: Vec<&Together> = TOGETHER.iter().filter(|rule| heard(rule)).collect();
    for end in memchr::memchr_iter(b'\n', prose) {
        let (line, below) = rest.split_at(rest.partition_point(|word| word.end <= end));
        rest = below;
        let kinds = line.iter().fold(0, |kinds, word| kinds | word.kind);
        for rule in &heard {
            let applies = rule.words.iter().all(|kind| kinds & kind != 0)
                && kinds & rule.without == 0
                && !(raises && rule.code == Code::ToolConfig);
            if applies && holds(prose, line, rule) {
                offer(rule, best);
            }
        }
    }
}

fn offer(rule: &Together, best: &mut Hit) {
    match rule.id {
        LOCKED | HELD => best.offer_lock(rule.code, rule.id),
        // Said only where nothing else is.
        OF_CODE if !best.is_none() => {}
        WRONG_SECRET if !best.is_wide() => best.offer_narrow(rule.code, rule.id),
        PORT_TAKEN => best.offer_narrow(rule.code, rule.id),
        _ => best.offer(rule.code, rule.id),
    }
}

/// Whether the kinds of the rule stand in the line in their order.
fn holds(prose: &[u8], line: &[Word], rule: &Together) -> bool {
    let Some((first, rest)) = rule.words.split_first() else { return false };
    line.iter().any(|word| word.kind & first != 0 && follow(prose, line, word.end, rest, rule.gap))
}

fn follow(prose: &[u8], line: &[Word], end: usize, kinds: &[u128], gap: usize) -> bool {
    let Some((kind, rest)) = kinds.split_first() else { return true };
    line.iter().any(|word| {
        word.kind & kind != 0
            && word.start > end
            && memchr::memchr_iter(b' ', &prose[end..word.start]).count() <= gap + 1
            && follow(prose, line, word.end, rest, gap)
    })
}

//! Step 3: phrases, as whole words, outside quotes and identifiers.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::hit::RuleHit;
use super::together::{self, ProseWord, stands_alone};
use super::vocabulary::{self, KINDS, PhraseRule};
use crate::code::Code;
use crate::signature::{Diagnosis, Fact};

/// All phrases, followed by all words, in one automaton, built on first use from the constant tables.
struct PhraseAutomaton {
    automaton: Option<AhoCorasick>,
    rule_of: Vec<&'static PhraseRule>,
    kind_of: Vec<u128>,
}

static PHRASES: LazyLock<PhraseAutomaton> = LazyLock::new(|| {
    let rules =
        || vocabulary::phrase_rules().flat_map(|rule| rule.phrases.iter().map(move |_| rule));
    let phrases = vocabulary::phrase_rules().flat_map(|rule| rule.phrases);
    let words = KINDS.iter().flat_map(|(_, words)| words.iter());
    let kinds = KINDS.iter().flat_map(|(kind, words)| words.iter().map(move |_| *kind));
    PhraseAutomaton {
        automaton: build_automaton(phrases.chain(words)),
        rule_of: rules().collect(),
        kind_of: kinds.collect(),
    }
});

/// Builds the automaton that finds all of the texts, including overlapping matches.
pub(super) fn build_automaton<'a>(texts: impl Iterator<Item = &'a &'a str>) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(texts)
        .ok()
}

/// Returns the ids of the rules.
pub(super) fn rule_ids() -> impl Iterator<Item = &'static str> {
    vocabulary::phrase_rules().map(|rule| rule.id).chain(together::rule_ids())
}

/// Returns whether no wider phrase beside those of this rule counts.
pub(super) fn is_narrow(id: &str) -> bool {
    vocabulary::phrase_rules().any(|rule| rule.narrow && rule.id == id)
}

/// Offers every phrase in the prose. Beside an exception of the code itself only a missing login counts,
/// because clients raise it from their constructors.
pub(super) fn offer_phrases(diagnosis: &Diagnosis<'_>, own_exception: bool, best: &mut RuleHit) {
    /// More words than a usual diagnosis has, to avoid reallocation.
    const WORDS: usize = 64;
    let prose = diagnosis.prose();
    let raises = diagnosis.is_raised_in_code();
    // With a status or an error number beside it, the request is refused and not the login.
    let refused = best.has_code(Code::ToolAccessDenied);
    let is_rejection = |fact: &Fact<'_>| matches!(fact, Fact::Status(400..=407 | 409..=428));
    let rejected = diagnosis.facts().iter().any(is_rejection);
    let is_denial = |prose: &[u8], found: &aho_corasick::Match| {
        let said = &prose[found.start()..];
        said.starts_with(b"permission denied ~") || said.starts_with(b"authorization failed")
    };
    let Some(automaton) = &PHRASES.automaton else { return };
    let mut words = Vec::with_capacity(WORDS);
    for found in automaton.find_overlapping_iter(prose) {
        let pattern = found.pattern().as_usize();
        let Some(rule) = PHRASES.rule_of.get(pattern) else {
            let kind = PHRASES.kind_of[pattern - PHRASES.rule_of.len()];
            words.extend(ProseWord::if_delimited(prose, found.start(), found.end(), kind));
            continue;
        };
        if (rule.code == Code::ToolConfig && raises)
            || (own_exception && rule.code != Code::AuthMissing)
        {
            continue;
        }
        if refused && rule.code == Code::AuthInvalid && is_denial(prose, &found) {
            continue;
        }
        // A server that responds with a 4xx status blames the request.
        if prose[..found.end()].ends_with(b"server error")
            && (rejected || is_addressee(prose, found.start()))
        {
            continue;
        }
        if stands_alone(prose, found.start(), found.end()) && !is_setting(prose, rule.id, &found) {
            let names_login = || diagnosis.facts().iter().any(is_login_variable);
            let names_variable =
                || diagnosis.facts().iter().any(|fact| matches!(fact, Fact::Name(_)));
            match rule.id {
                // A name in capitals is an environment variable.
                "phrase.statement" if is_unset(prose, &found) && names_variable() => {
                    best.offer(Code::ToolConfig, "phrase.unset");
                }
                "phrase.unset" if names_login() => best.offer(Code::AuthMissing, rule.id),
                vocabulary::VAGUE => best.offer_vague(rule.code, rule.id),
                vocabulary::ENDED => best.offer_last(rule.code, rule.id),
                vocabulary::HELD_ELSEWHERE => best.offer_lock(rule.code, rule.id),
                _ if rule.narrow => best.offer_narrow(rule.code, rule.id),
                _ => best.offer(rule.code, rule.id),
            }
        }
    }
    if !own_exception {
        together::offer_combinations(prose, &words, raises, best);
    }
}

/// Returns whether the phrase says that a name is not defined.
fn is_unset(prose: &[u8], found: &aho_corasick::Match) -> bool {
    prose[..found.end()].ends_with(b"is not defined")
}

/// Returns whether the fact names a variable that holds a secret, such as `API_TOKEN`.
fn is_login_variable(fact: &Fact<'_>) -> bool {
    const WORDS: &[&[u8]] = &[
        b"TOKEN", b"KEY", b"SECRET", b"PASSWORD", b"PASSWD", b"PASS", b"CREDENTIAL",
        b"CREDENTIALS", b"AUTH", b"APIKEY", b"PAT", b"DSN", b"USERNAME", b"LOGIN",
    ];
    let Fact::Name(name) = fact else { return false };
    name.split(|b| *b == b'_').any(|word| WORDS.contains(&word)) || *name == b"DATABASE_URL"
}

/// Returns whether `server` is only the addressee, as in `connect to server: error …`, `from server: error
/// …`: the error follows it.
fn is_addressee(prose: &[u8], start: usize) -> bool {
    const BEFORE: [&[u8]; 4] = [b" to ", b" to the ", b"from ", b"from the "];
    BEFORE.iter().any(|words| prose[..start].ends_with(words))
}

/// Returns whether the phrase names a setting: `timeout must be a number` is about a setting called timeout.
fn is_setting(prose: &[u8], rule: &str, found: &aho_corasick::Match) -> bool {
    const AFTER: &[&[u8]] = &[
        b" must", b" should", b" value", b" option", b" parameter", b" setting", b" argument",
        b" key", b" field", b" is not a", b" expects", b" cannot be", b" command", b" flag",
    ];
    const BEFORE: &[&[u8]] = &[
        b"invalid ", b"unknown ", b"option ", b"parameter ", b"key ", b"field ", b"argument ",
        b"flag ",
    ];
    const ADVICE_BYTES_MAX: usize = 24;
    const ENDS: &[&[u8]] = &[b"retry in ", b"retry after", b"retry-after", b"try again in "];
    if rule == "phrase.registry" {
        // A package that is missing from the registry is not a failure of the registry.
        return prose[..found.start()].ends_with(b"in the ");
    }
    if rule == vocabulary::HELD_ELSEWHERE {
        // A locked version is not a lock, and a locked account stays locked until a person unlocks it.
        return prose[found.end()..].starts_with(b" to ")
            || prose[..found.start()].ends_with(b"account ");
    }
    if rule == "phrase.quota" {
        // `subscription id 'x'` names an account, not its plan.
        let after = &prose[found.end()..];
        // A limit that ends soon is no plan that is used up.
        let is_rate = prose[..found.end()].ends_with(b"limit exceeded");
        if is_rate && ENDS.iter().any(|words| memchr::memmem::find(after, words).is_some()) {
            return true;
        }
        return prose[..found.end()].ends_with(b"subscription")
            && (after.starts_with(b" id") || after.starts_with(b" of '"));
    }
    if rule != "phrase.timeout" {
        return false;
    }
    // `try increasing the timeout` is advice.
    let before = &prose[found.start().saturating_sub(ADVICE_BYTES_MAX)..found.start()];
    memchr::memmem::find(before, b"increas").is_some()
        || AFTER.iter().any(|word| prose[found.end()..].starts_with(word))
        || BEFORE.iter().any(|word| prose[..found.start()].ends_with(word))
}

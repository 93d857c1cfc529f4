//! A trained model that may overrule a verdict based on words alone.
//!
//! The rules come first. Where only words decide, the model may be more accurate: it was trained on the
//! labelled corpus by `scripts/corpus/train`, and sums integer weights for the words, the pairs of words and
//! the parts of words that it finds. `docs/adr/0081-a-model-reads-what-rules-do-not.md` gives the reasons and
//! the accuracy.

use super::RuleVerdict;
use crate::code::{Class, Code};
use crate::signature::Diagnosis;

/// The rule name of a verdict that the model changed.
pub(super) const LEARNED: &str = "learned";

/// Sixteen biases of two bytes, sixteen weights for each feature, and the digest of the training data, which
/// only a test reads.
static TABLE: &[u8] = include_bytes!("learned.bin");

const BITS: u32 = 14;
const FEATURES: usize = 1 << BITS;
const COLUMNS: usize = 16;
const HEAD_BYTES: usize = COLUMNS * 2;

/// The fixed-point value of 1.0 in a score.
const UNIT: i32 = 512;

/// Factor for a sum of weights, which is divided by sixteen times the root of their number.
const FACTOR: i32 = 256;

/// Minimum lead of another category over that of a fallback rule.
const AHEAD_OF_FALLBACK: i32 = UNIT * 2 / 5;

/// Minimum lead over that of a rule that matched words.
const AHEAD_OF_WORDS: i32 = UNIT * 3 / 5;

/// Word parts without one of which a text is not about the category: the model gives weight to words such as
/// "full" and "refused", which other things are too.
const SUBJECTS: [(Code, &[&[u8]]); 2] = [
    (
        Code::ToolRateLimit,
        &[
            b"limit", b"quota", b"rate", b"many", b"throttl", b"credit", b"plan", b"usage",
            b"exceed", b"budget", b"billing", b"balance", b"402", b"429", b"slow", b"quick",
            b"fast", b"subscri", b"tier", b"exhaust", b"allow", b"capacity", b"trial", b"upgrade",
            b"used", b"busy",
        ],
    ),
    (
        Code::EnvDiskFull,
        &[
            b"disk", b"space", b"storage", b"volume", b"device", b"quota", b"inode", b"filesystem",
            b"file system", b"partition", b"drive", b"bytes", b"mb", b"gb", b"gib", b"mib",
        ],
    ),
];

/// Minimum score of a category.
const SURE: i32 = 0;

/// Maximum number of bytes read of the selected lines.
const TEXT_BYTES_MAX: usize = 4096;

const WORD_BYTES_MAX: usize = 20;

/// Numbers with a meaning of their own: HTTP statuses and exit codes.
const NUMBERS: &[&[u8]] = &[
    b"126", b"127", b"134", b"137", b"139", b"255", b"400", b"401", b"402", b"403", b"404", b"407",
    b"408", b"409", b"422", b"429", b"500", b"502", b"503", b"504",
];

/// The categories in the order of the columns, each with its codes; the first one is the model's verdict.
const CATEGORIES: [&[Code]; 14] = [
    &[Code::AuthInvalid, Code::AuthExpired],
    &[Code::AuthMissing],
    &[Code::ToolAccessDenied],
    &[Code::ToolRateLimit, Code::ToolQuota],
    &[Code::EnvTimeout],
    &[Code::EnvUnavailable, Code::EnvConnection, Code::EnvDns],
    &[Code::EnvRegistry],
    &[Code::EnvDiskFull],
    &[Code::GitConflict],
    &[Code::GitLocked],
    &[Code::ToolMissing],
    &[Code::ToolConfig],
    &[Code::ToolCrash],
    &[Code::LogicError],
];

/// Returns the verdict of the rules, unless the model prefers another category by a sufficient lead.
///
/// The model reads the lines that the signature is made of, so the same error gets the same verdict.
pub(super) fn apply_model(diagnosis: &Diagnosis<'_>, verdict: RuleVerdict) -> RuleVerdict {
    let Some(ahead) = required_lead(verdict.rule) else { return verdict };
    let mut features = Features::new();
    let text = diagnosis.masked_text();
    features.add_text(&text[..text.len().min(TEXT_BYTES_MAX)]);
    let Some(scores) = features.scores() else { return verdict };
    let of_rules = CATEGORIES.iter().position(|codes| codes.contains(&verdict.code));
    let of_model = (0..CATEGORIES.len()).max_by_key(|category| scores[*category]);
    let (Some(said), Some(best)) = (of_rules, of_model) else { return verdict };
    let code = CATEGORIES[best][0];
    let sure = scores[best] >= SURE && scores[best] > scores[said] + ahead && is_about(code, text);
    if sure && !(ahead == AHEAD_OF_WORDS && is_put_off(verdict.code, code)) {
        return RuleVerdict { code, rule: LEARNED };
    }
    verdict
}

/// Returns whether a text has a word about the subject of a category.
fn is_about(code: Code, text: &[u8]) -> bool {
    let Some((_, parts)) = SUBJECTS.iter().find(|(of, _)| *of == code) else { return true };
    let text = text.to_ascii_lowercase();
    parts.iter().any(|part| memchr::memmem::find(&text, part).is_some())
}

/// Returns whether the model would have a fault retried without a person that the rules assign to a person.
fn is_put_off(rules: Code, model: Code) -> bool {
    rules.row().class == Class::NeverRetry && model.row().class != Class::NeverRetry
}

/// Returns the lead that the model needs over this rule, or `None` if the rule is certain: it found a status,
/// an error number, an exception, a narrow phrase, a conflict, a lock, a port, a setting that names a server,
/// or a finding of a compiler or a test.
fn required_lead(rule: &str) -> Option<i32> {
    use super::{GIT_LOCK, SILENT, UNKNOWN, findings, phrases, vocabulary};
    match rule {
        findings::COMMAND
        | GIT_LOCK
        | "phrase.locked"
        | "phrase.conflict"
        | vocabulary::HELD_ELSEWHERE
        | vocabulary::HELD
        | vocabulary::LINK_SETTING
        | vocabulary::LOCKED
        | vocabulary::NOT_AS_ROOT
        | vocabulary::PORT_TAKEN => None,
        UNKNOWN | SILENT => Some(AHEAD_OF_FALLBACK),
        _ if phrases::is_narrow(rule) => None,
        _ if rule.starts_with("said.") => Some(AHEAD_OF_FALLBACK),
        _ if rule.starts_with("phrase.") || rule.starts_with("words.") => Some(AHEAD_OF_WORDS),
        _ => None,
    }
}

/// The features found so far, each counted once, and the sums of their weights.
struct Features {
    found: [u64; FEATURES / 64],
    count: u32,
    sums: [i32; COLUMNS],
}

impl Features {
    const fn new() -> Self {
        Self { found: [0; FEATURES / 64], count: 0, sums: [0; COLUMNS] }
    }

    /// Adds the words of a text, the pairs of adjacent words in a line, and the four-letter windows of each
    /// word.
    fn add_text(&mut self, text: &[u8]) {
        let mut previous = None;
        let mut rest = text;
        while let Some(&byte) = rest.first() {
            let (len, hash) = match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let len = run_len(rest, |b| b.is_ascii_alphabetic() || b == b'_');
                    (len, self.add_word(&rest[..len.min(WORD_BYTES_MAX)]))
                }
                b'0'..=b'9' => {
                    let len = run_len(rest, |b| b.is_ascii_digit());
                    let known = NUMBERS.contains(&&rest[..len]);
                    (len, hash_word(if known { &rest[..len] } else { b"0" }))
                }
                b':' | b'?' | b'^' => (1, hash_word(&rest[..1])),
                _ => {
                    if byte == b'\n' {
                        previous = None;
                    }
                    rest = &rest[1..];
                    continue;
                }
            };
            self.add_hash(hash);
            if let Some(previous) = previous.replace(hash) {
                self.add_hash(u32::rotate_left(previous, 5) ^ hash);
            }
            rest = &rest[len..];
        }
    }

    /// Adds the parts of a word and returns its hash.
    fn add_word(&mut self, word: &[u8]) -> u32 {
        const SALT: u32 = 0x5bd1_e995;
        let mut framed = [b'>'; WORD_BYTES_MAX + 2];
        framed[0] = b'<';
        for (to, from) in framed[1..].iter_mut().zip(word) {
            *to = from.to_ascii_lowercase();
        }
        let framed = &framed[..word.len() + 2];
        for part in framed.windows(4) {
            self.add_hash(u32::from_le_bytes([part[0], part[1], part[2], part[3]]) ^ SALT);
        }
        hash_word(&framed[1..=word.len()])
    }

    fn add_hash(&mut self, hash: u32) {
        let feature = (hash.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize;
        let bit = 1 << (feature % 64);
        if self.found[feature / 64] & bit != 0 {
            return;
        }
        self.found[feature / 64] |= bit;
        self.count += 1;
        let at = HEAD_BYTES + feature * COLUMNS;
        // A sum of at most 16,384 bytes cannot overflow; unchecked, all sixteen are added at once.
        for (sum, weight) in self.sums.iter_mut().zip(&TABLE[at..at + COLUMNS]) {
            *sum = sum.wrapping_add(i32::from(weight.cast_signed()));
        }
    }

    /// Returns the sums normalized by text length, plus the biases.
    fn scores(&self) -> Option<[i32; COLUMNS]> {
        let root = i32::try_from((self.count << 8).isqrt()).ok().filter(|root| *root > 0)?;
        let mut scores = self.sums;
        for (score, bias) in scores.iter_mut().zip(TABLE[..HEAD_BYTES].chunks_exact(2)) {
            *score = *score * FACTOR / root + i32::from(i16::from_le_bytes([bias[0], bias[1]]));
        }
        Some(scores)
    }
}

fn run_len(text: &[u8], is_in: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !is_in(*byte)).unwrap_or(text.len())
}

const fn hash_word(word: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::super::{RuleSet, classify_output, classify_with};
    use super::*;

    #[test]
    fn the_table_has_the_size_that_is_read() {
        const DIGEST_BYTES: usize = 32;
        assert_eq!(TABLE.len(), HEAD_BYTES + FEATURES * COLUMNS + DIGEST_BYTES);
    }

    // The training script computes the same features: see `features` there.
    #[test]
    fn the_features_of_a_text_are_those_that_were_trained_on() {
        let mut features = Features::new();
        features.add_text(b"Error 401: no\nTry 12 times?");
        let found: Vec<usize> =
            (0..FEATURES).filter(|at| features.found[at / 64] >> (at % 64) & 1 == 1).collect();
        assert_eq!(
            found,
            [
                326, 485, 958, 1949, 2896, 3086, 4446, 4484, 4503, 5542, 5784, 7379, 7440, 7548,
                8175, 8216, 9331, 10103, 11143, 11566, 11571, 13443, 13962, 14917, 16209
            ]
        );
    }

    #[test]
    fn a_sure_rule_is_not_outvoted_and_a_check_is_not_read_by_the_model() {
        assert_eq!(required_lead("finding.compiler"), None);
        assert_eq!(required_lead("status"), None);
        assert_eq!(required_lead("said.git-lock"), None);
        let output = b"the account of this frob has been put on hold, sign in anew";
        assert!(classify_with(output, RuleSet::ValidationOutput).is_none());
    }

    #[test]
    fn what_is_full_or_refused_need_not_be_a_disk_or_a_plan() {
        for output in
            ["error: mailbox full", "error: queue is full", "error: payment declined by the bank"]
        {
            let code = classify_output(output.as_bytes()).code;
            assert!(!matches!(code, Code::EnvDiskFull | Code::ToolRateLimit), "{output}: {code:?}");
        }
    }

    #[test]
    fn any_bytes_are_read() {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(10_000).collect();
        let _ = classify_output(&bytes);
        assert_eq!(Features::new().scores(), None);
    }
}

//! The words by which a line is recognized as a diagnosis, looked up without allocation.
//!
//! A word only marks a line as worth keeping. The text rules decide what the failure *is*, on the kept lines.

/// The hints that a word gives about its line, as bits; a word can have several.
pub(crate) type Hint = u8;

/// A name of the failure itself: `error`, `fatal`, `panic`.
pub(crate) const ERROR: Hint = 1;
/// A word for a failure.
pub(crate) const FAIL: Hint = 1 << 1;
/// A negation, absence or contradiction.
pub(crate) const NEGATION: Hint = 1 << 2;
/// A cause that the text rules distinguish, so that the line matters beside others.
pub(crate) const ACUTE: Hint = 1 << 3;
/// The beginning of advice or a remark.
pub(crate) const NOTE: Hint = 1 << 4;
/// The beginning of a warning.
pub(crate) const WARNING: Hint = 1 << 5;
/// The beginning of a progress line.
pub(crate) const PROGRESS: Hint = 1 << 6;

const WORDS: &[(Hint, &[&str])] = &[
    (
        ERROR,
        &[
            "error", "fatal", "exception", "panic", "panicked", "err", "critical", "severe",
            "fata", "erro",
        ],
    ),
    (
        FAIL,
        &[
            "failed", "fails", "fail", "failing", "failure", "failures", "failed:", "uncaught",
            "unhandled",
        ],
    ),
    (
        NEGATION,
        &[
            "no", "not", "nothing", "none", "cannot", "can't", "don't", "never", "couldn't",
            "doesn't", "isn't", "wasn't", "won't", "didn't", "aren't", "hasn't", "unable",
            "without", "missing", "invalid", "unknown", "unexpected", "unsupported",
            "unrecognized", "unrecognised", "undefined", "undeclared", "unresolved", "illegal",
            "bad", "wrong", "incorrect", "malformed", "mismatch", "mismatched", "duplicate",
            "ambiguous", "incompatible", "required", "requires", "expected", "exceeded", "exceeds",
            "exists", "already", "corrupt", "corrupted", "broken", "conflict", "conflicts", "must",
            "impossible", "refusing", "unbound", "uninitialized", "insufficient", "unmet",
            "overflow", "mandatory", "unterminated", "unclosed", "disabled", "disallowed",
            "violates", "violation", "redefined", "redefinition", "unreadable", "untrusted",
            "non-zero",
        ],
    ),
    (
        ACUTE,
        &[
            "denied", "refused", "unauthorized", "unauthorised", "forbidden", "unauthenticated",
            "timeout", "time-out", "timeouts", "timed", "expired", "unreachable", "unavailable",
            "throttled", "throttling", "rejected", "killed", "segmentation", "aborted", "dumped",
            "quota", "oom", "credentials", "permission", "subscription", "authentication",
            "crashed", "retrying", "overloaded", "disconnected", "unmerged", "deadlock",
            "deadline", "unreachable:", "sigsegv", "sigkill", "sigabrt", "econnrefused", "full",
            "registry", "temporary", "temporarily", "hang", "eof", "reset", "locked", "limit",
        ],
    ),
    (
        NOTE,
        &[
            "note", "hint", "help", "usage", "info", "debug", "trace", "tip", "suggestion", "see",
            "try", "run", "notice", "example", "examples", "verbose",
        ],
    ),
    (WARNING, &["warning", "warn", "deprecated", "deprecation", "warnings"]),
    (
        PROGRESS,
        &[
            "compiling", "downloading", "downloaded", "installing", "installed", "collecting",
            "cloning", "updating", "building", "fetching", "resolving", "unpacking", "preparing",
            "checking", "running", "finished", "linking", "receiving", "counting", "compressing",
            "writing", "pulling", "extracting", "obtaining", "processing", "looking", "using",
            "requirement", "successfully", "started", "starting", "generating", "creating",
            "refreshing", "initializing", "loading", "waiting", "copying", "auto-merging",
            "rebasing", "defaulting", "remote", "collected", "step", "get", "hit", "transforming",
            "rendering", "configuring", "done",
        ],
    ),
];

const SLOTS: usize = 1024;
const WORD_BYTES_MAX: usize = 16;

struct HintTable {
    words: [u128; SLOTS],
    hints: [Hint; SLOTS],
}

/// The hash table with open addressing, built at compile time.
static TABLE: HintTable = build_hint_table();

const fn build_hint_table() -> HintTable {
    let mut made = HintTable { words: [0; SLOTS], hints: [0; SLOTS] };
    let mut group = 0;
    while group < WORDS.len() {
        let (hint, words) = WORDS[group];
        let mut at = 0;
        while at < words.len() {
            let word = pack_word(words[at].as_bytes());
            let mut slot = hash_slot(word);
            while made.words[slot] != 0 && made.words[slot] != word {
                slot = (slot + 1) % SLOTS;
            }
            made.words[slot] = word;
            made.hints[slot] |= hint;
            at += 1;
        }
        group += 1;
    }
    made
}

/// Packs a word in lower case into a number. Words are letters, `'` and `-`, which survive the folding.
const fn pack_word(word: &[u8]) -> u128 {
    let mut value = 0;
    let mut at = 0;
    while at < word.len() && at < WORD_BYTES_MAX {
        value = (value << 8) | (word[at] | 0x20) as u128;
        at += 1;
    }
    value
}

#[expect(clippy::cast_possible_truncation, reason = "the hash mixes both halves first")]
const fn hash_slot(word: u128) -> usize {
    let folded = (word as u64) ^ ((word >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % SLOTS
}

/// Returns the hints of a word; 0 for an unknown word.
pub(crate) fn word_hints(word: &[u8]) -> Hint {
    if word.len() < 2 || word.len() > WORD_BYTES_MAX {
        return 0;
    }
    let word = pack_word(word);
    let mut slot = hash_slot(word);
    while TABLE.words[slot] != 0 {
        if TABLE.words[slot] == word {
            return TABLE.hints[slot];
        }
        slot = (slot + 1) % SLOTS;
    }
    0
}

/// Returns the union of the hints of a line's words. Words inside identifiers and paths do not count.
pub(crate) fn line_hints(line: &[u8]) -> Hint {
    let mut found = 0;
    let mut at = 0;
    while at < line.len() {
        if !line[at].is_ascii_alphabetic() {
            // A digit or an underscore before letters makes them part of an identifier.
            at += 1;
            if matches!(line[at - 1], b'0'..=b'9' | b'_' | b'/' | b'.' | b'\\' | b'@' | b'$') {
                at += line[at..].iter().take_while(|b| is_glue(**b)).count();
            }
            continue;
        }
        let letters = line[at..].iter().take_while(|b| is_letter(**b)).count();
        let end = at + letters;
        match line.get(end) {
            Some(b'0'..=b'9' | b'_' | b'/' | b'(' | b'\\' | b'=') => {
                at = end + line[end..].iter().take_while(|b| is_glue(**b)).count().max(1);
            }
            Some(b'.') if line.get(end + 1).is_some_and(u8::is_ascii_alphanumeric) => {
                at = end + 1 + line[end + 1..].iter().take_while(|b| is_glue(**b)).count();
            }
            _ => {
                found |= word_hints(&line[at..end]);
                at = end;
            }
        }
    }
    found
}

/// Returns whether a word names a cause or a failure, even before a bracket: `Unauthorized(401)`.
pub(crate) fn is_telling(word: &[u8]) -> bool {
    word_hints(word) & (ACUTE | FAIL | ERROR) != 0
}

/// Returns the position of a part in a line. Lines are short: building a searcher costs more than it saves.
pub(crate) fn find_part(line: &[u8], part: &[u8]) -> Option<usize> {
    let first = *part.first()?;
    memchr::memchr_iter(first, line).find(|at| line[*at..].starts_with(part))
}

/// Returns whether a line denies or misses something.
pub(crate) fn has_negation(line: &[u8]) -> bool {
    line_hints(line) & NEGATION != 0
}

/// The class of each byte: part of a word, part of an identifier. A table, because every byte is looked up.
static BYTES: [u8; 256] = build_byte_classes();
const LETTER: u8 = 1;
const GLUE: u8 = 2;

const fn build_byte_classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    loop {
        if byte.is_ascii_alphabetic() || matches!(byte, b'\'' | b'-') {
            table[byte as usize] |= LETTER;
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'.' | b'\\' | b'-') {
            table[byte as usize] |= GLUE;
        }
        if byte == u8::MAX {
            return table;
        }
        byte += 1;
    }
}

fn is_letter(byte: u8) -> bool {
    BYTES[usize::from(byte)] & LETTER != 0
}

fn is_glue(byte: u8) -> bool {
    BYTES[usize::from(byte)] & GLUE != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_only_as_words() {
        assert_eq!(word_hints(b"ERROR"), ERROR);
        assert_eq!(line_hints(b"Permission denied"), ACUTE);
        assert_eq!(line_hints(b"src/error/timeout.rs"), 0);
        assert_eq!(line_hints(b"test_timeout_denied"), 0);
        assert_eq!(line_hints(b"setTimeout(x)"), 0);
        assert_eq!(line_hints(b"it couldn't be so"), NEGATION);
    }
}

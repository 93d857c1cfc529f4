//! Shapes of words: recognition of technical tokens by their form. Each test is linear.

use super::words::{EXTENSIONS, FAMILIAR, STROKES, is_listed};
use crate::fault::Code;

/// Maximum length of a word; a longer run without a blank is not one. For scripts without blanks see
/// `is_hash`.
const WORD_BYTES_MAX: usize = 40;
/// Minimum length of a hexadecimal run that looks like a commit or an id.
const HASH_DIGITS_MIN: usize = 7;
/// Minimum length of a run of digits that is an id, not an amount.
const ID_DIGITS_MIN: usize = 9;
/// Minimum length of mixed letters and digits that look like a key; two shorter ones in a row do too.
const KEY_BYTES_MIN: usize = 10;

/// Returns whether a word consists of letters only, at most the first in upper case: no shape below fits it.
/// Most words do.
pub(super) fn is_ordinary(word: &str) -> bool {
    word.len() <= WORD_BYTES_MAX
        && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
        && word.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
}

/// Returns whether a word, in lower case, is a commonly known name.
pub(super) fn is_familiar(lower: &str) -> bool {
    let base = lower.strip_suffix("'s").or_else(|| lower.strip_suffix("’s")).unwrap_or(lower);
    is_listed(FAMILIAR, base)
}

/// Returns whether a word is a path: `/usr/lib`, `src/main`, `C:\temp`, `~`, an address; not `and/or`,
/// `24/7`.
pub(super) fn is_path(word: &str) -> bool {
    if word.contains('\\') || word.contains("://") || word.starts_with("~/") || word == "~" {
        return true;
    }
    word.contains('/')
        && !is_listed(STROKES, &word.to_lowercase())
        && !word.chars().all(|c| c.is_ascii_digit() || c == '/')
        && word != "/"
}

/// Returns whether a word is a network address: `10.0.0.7`, `fe80::1`.
pub(super) fn is_network_address(word: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let colons = word.bytes().filter(|&byte| byte == b':').count();
    word.split('.').count() == 4 && word.split('.').all(digits)
        || colons >= 2
            && !is_clock(word)
            && word.bytes().all(|byte| byte == b':' || byte.is_ascii_hexdigit())
}

/// Returns whether a word is a clock time or a ratio: `03:00`, `12:30:45`, `16:9`.
pub(super) fn is_clock(word: &str) -> bool {
    word.split(':')
        .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether a word is a file name: `login.py`, `.env`, `Cargo.toml`.
pub(super) fn is_file_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(before, ending)| {
        let named = before.is_empty() || before.ends_with(|c: char| c.is_alphanumeric());
        named && is_listed(EXTENSIONS, &ending.to_lowercase())
    }) && !word.chars().all(|c| c.is_ascii_digit() || c == '.')
        && !is_abbreviation(word)
}

/// Returns whether a word is an expression: `os.path`, `evil.com`, `a::b`, `run()`, `x->y`, `$HOME`,
/// `--force`.
pub(super) fn is_expression(word: &str) -> bool {
    let dotted = || {
        let mut parts = word.split('.').peekable();
        let mut inner = false;
        while let Some(part) = parts.next() {
            let starts = parts.peek().and_then(|next| next.chars().next());
            inner |= part.ends_with(char::is_alphabetic) && starts.is_some_and(char::is_alphabetic);
        }
        inner && !is_abbreviation(word)
    };
    let variable =
        || word.split_once('$').is_some_and(|(_, after)| after.starts_with(char::is_alphabetic));
    let flag = || {
        let bare = word.trim_start_matches('-');
        bare.len() < word.len() && bare.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    ["::", "()", "->", "=>", "==", "!=", "&&", "||"].iter().any(|sign| word.contains(sign))
        || word.split_once('(').is_some_and(|(before, _)| before.ends_with(char::is_alphanumeric))
        || word.split_once('=').is_some_and(|(before, _)| before.ends_with(char::is_alphanumeric))
        || dotted()
        || variable()
        || flag()
}

/// Returns whether a word is an abbreviation of single letters with periods between them: `e.g`, `a.m`,
/// `U.S`.
fn is_abbreviation(word: &str) -> bool {
    word.split('.').all(|part| part.chars().count() <= 1)
}

/// Returns whether a word is a fault code.
pub(super) fn is_fault_code(word: &str) -> bool {
    word.contains('_') && Code::ALL.iter().any(|code| code.as_str().eq_ignore_ascii_case(word))
}

/// Returns whether a word is another program's code: `E0308`, `TS2322`, `ORA-00942`, `ECONNREFUSED`,
/// `SIGKILL`.
pub(super) fn is_vendor_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = word[letters..].strip_prefix('-').unwrap_or(&word[letters..]);
    let numbered = (1..=5).contains(&letters)
        && rest.len() >= 3
        && rest.bytes().all(|byte| byte.is_ascii_digit());
    let shouted = word.len() >= 5 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    numbered
        || shouted && (word.starts_with("SIG") || ERRNO_STARTS.iter().any(|s| word.starts_with(s)))
}

/// Prefixes of the names of system errors.
const ERRNO_STARTS: &[&str] = &[
    "EACC", "EADDR", "EAGAIN", "EBADF", "EBUSY", "ECONN", "EEXIST", "EHOST", "EINTR", "EINVAL",
    "EIO", "EISDIR", "EMFILE", "ENETUN", "ENOENT", "ENOEXEC", "ENOMEM", "ENOSPC", "ENOTDIR",
    "ENOTEMPTY", "ENOTFOUND", "EPERM", "EPIPE", "ERESOLVE", "EROFS", "ETIMEDOUT", "EXDEV",
];

/// Returns whether a word contains an underscore: `snake_case`, `API_KEY`, `__init__`.
pub(super) fn is_snake_case(word: &str) -> bool {
    word.contains('_')
}

/// Returns whether a word is in camel case: `userName`, `ReadTimeoutError`; not `GitHub`, not `McCoy`, not
/// `PDFs`.
pub(super) fn is_camel_case(word: &str) -> bool {
    let mut before_lower = 0;
    for letter in word.chars() {
        if letter.is_uppercase() && before_lower > 0 && !is_scottish(word) {
            return true;
        }
        before_lower = if letter.is_lowercase() { before_lower + 1 } else { 0 };
    }
    let caps = word.chars().take_while(|c| c.is_uppercase()).count();
    // `HTTPError`: capitals that run into a word of their own.
    caps >= 3 && word.chars().skip(caps).filter(|c| c.is_lowercase()).count() >= 3
}

fn is_scottish(word: &str) -> bool {
    let rest = word.strip_prefix("Mc").or_else(|| word.strip_prefix("Mac"));
    let rest = rest.or_else(|| word.strip_prefix("O'")).or_else(|| word.strip_prefix("O’"));
    rest.is_some_and(|name| {
        name.starts_with(char::is_uppercase) && !name.chars().skip(1).any(char::is_uppercase)
    })
}

/// Returns whether a word is the name of an error type.
pub(super) fn is_type_name(word: &str) -> bool {
    is_camel_case(word) && word.starts_with(char::is_uppercase)
        || (word.ends_with("Error") || word.ends_with("Exception"))
            && word.len() > "Exception".len()
}

/// Returns whether a word is a commit, a digest, an id, a key, or a run of characters too long to be a word.
pub(super) fn is_hash(word: &str) -> bool {
    let bare: Vec<u8> = word.bytes().filter(|byte| !matches!(byte, b'-' | b'_')).collect();
    let hex = bare.iter().all(u8::is_ascii_hexdigit);
    let number = bare.len() >= ID_DIGITS_MIN && bare.iter().all(u8::is_ascii_digit);
    hex && bare.len() >= HASH_DIGITS_MIN && is_mixed(&bare)
        || number
        || is_key(word)
        || word.starts_with("0x")
        || word.is_ascii() && word.len() > WORD_BYTES_MAX
}

/// Returns whether a word is a key: `sk-live-abcd1234xyz`, `ab12-cd34`; not `003-deploy-preview`.
pub(super) fn is_key(word: &str) -> bool {
    let parts = word.split(['-', '_']).map(str::as_bytes).filter(|part| is_mixed(part));
    let (number, longest) =
        parts.fold((0, 0), |(number, longest), part| (number + 1, longest.max(part.len())));
    number >= 2 || longest >= KEY_BYTES_MIN
}

fn is_mixed(part: &[u8]) -> bool {
    part.iter().any(u8::is_ascii_digit)
        && part.iter().any(u8::is_ascii_alphabetic)
        && part.iter().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Shape = fn(&str) -> bool;

    #[test]
    fn shapes() {
        let yes: &[(Shape, &[&str])] = &[
            (is_path, &["/usr", "src/main", "C:\\temp", "~/x", "https://a", "a/b/c"]),
            (is_network_address, &["10.0.0.7", "fe80::1", "::1"]),
            (is_file_name, &["login.py", ".env", "Cargo.toml", "a.b.rs"]),
            (
                is_expression,
                &["os.path", "evil.com", "a::b", "run()", "$HOME", "--force", "f(x", "a=b"],
            ),
            (is_vendor_code, &["E0308", "TS2322", "ORA-00942", "ECONNREFUSED", "SIGKILL"]),
            (is_camel_case, &["userName", "HTTPError", "ReadTimeoutError"]),
            (is_type_name, &["KeyError", "ReadTimeoutError", "PaymentService"]),
            (
                is_hash,
                &[
                    "3f9ab12",
                    "0xff",
                    "550e8400-e29b-41d4-a716-446655440000",
                    "1234567890",
                    "sk-live-abcd1234xyz",
                    "sk_ab12_cd34",
                ],
            ),
        ];
        for (test, words) in yes {
            for word in *words {
                assert!(test(word), "{word}");
            }
        }
    }

    #[test]
    fn ordinary_words_have_no_shape() {
        let ordinary = [
            "login", "and/or", "24/7", "1/2", "e.g", "a.m", "3.5", "GitHub's", "McCoy", "PDFs",
            "APIs", "sign-in", "decade", "2026-11-15", "$0.31", "Error", "100", "I", "UTC",
            "COVID-19", "2026-11-15", "003-deploy-preview", "v2-api",
        ];
        for word in ordinary {
            let familiar = is_familiar(&word.to_lowercase());
            assert!(!is_path(word), "path {word}");
            assert!(!is_file_name(word), "file {word}");
            assert!(!is_expression(word), "expression {word}");
            assert!(!is_vendor_code(word), "code {word}");
            assert!(familiar || !is_camel_case(word), "camel {word}");
            assert!(familiar || !is_type_name(word), "type {word}");
            assert!(!is_hash(word), "hash {word}");
        }
    }
}

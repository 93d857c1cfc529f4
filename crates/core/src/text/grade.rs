//! The reading grade: the years of school that a text requires.
//!
//! The Flesch–Kincaid grade, `0.39 · words/sentences + 11.8 · syllables/words − 15.59`, with an estimate of
//! syllables by vowel groups. It is deterministic, linear and computed in whole hundredths.
//!
//! The formula is meant for pages: in a label of two words one long word decides everything. So a text
//! shorter than [`SAMPLE_WORDS`] is read as part of a plain page: it is padded with plain words of
//! [`PLAIN_SYLLABLES_PER_TEN`] syllables in ten, in sentences of ten words. A text of that length or more is
//! measured alone.

/// Maximum grade of a public text, in hundredths of a grade.
pub const GRADE_MAX_HUNDREDTHS: i64 = 800;

/// Number of words to which shorter texts are padded.
const SAMPLE_WORDS: u64 = 30;
/// Number of syllables in ten words of plain English.
const PLAIN_SYLLABLES_PER_TEN: u64 = 13;
/// Number of words in a sentence of plain English.
const PLAIN_SENTENCE_WORDS: u64 = 10;

/// Returns the reading grade of a text, in hundredths. Words without a Latin letter do not count.
pub fn grade_hundredths(text: &str) -> i64 {
    let mut measured = TextMeasure::from_text(text);
    if measured.words == 0 {
        return 0;
    }
    // All values are in tenths from here on, so that the padding needs no fractions.
    let missing = SAMPLE_WORDS.saturating_sub(measured.words);
    measured.words = (measured.words + missing) * 10;
    measured.syllables = measured.syllables * 10 + missing * PLAIN_SYLLABLES_PER_TEN;
    measured.sentences = measured.sentences * 10 + missing * 10 / PLAIN_SENTENCE_WORDS;
    let length = 39 * measured.words / measured.sentences;
    let weight = 1_180 * measured.syllables / measured.words;
    i64::try_from(length + weight).unwrap_or(i64::MAX).saturating_sub(1_559)
}

struct TextMeasure {
    words: u64,
    sentences: u64,
    syllables: u64,
}

impl TextMeasure {
    fn from_text(text: &str) -> Self {
        let mut words = 0;
        let mut sentences = 0;
        let mut syllables = 0;
        let mut open = false;
        for token in text.split_whitespace() {
            let weight: u64 = token.split(['-', '–', '/']).map(count_syllables).sum();
            if weight > 0 {
                words += 1;
                syllables += weight;
                open = true;
            }
            let last = token.trim_end_matches(['”', '"', '\'', '’', ')']);
            if open && last.ends_with(['.', '!', '?', ':', ';']) {
                sentences += 1;
                open = false;
            }
        }
        Self { words, sentences: sentences + u64::from(open), syllables }
    }
}

/// Returns the syllables of a word: its groups of vowels, without silent endings. Digits count as one word of
/// two syllables, whatever their length, because readers do not spell them out.
fn count_syllables(word: &str) -> u64 {
    let mut groups = 0_u64;
    let mut before_vowel = false;
    let mut latin = false;
    let mut ending = ['\0'; 3];
    for letter in word.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase) {
        let vowel = is_vowel(letter);
        groups += u64::from(vowel && !before_vowel);
        before_vowel = vowel;
        latin |= is_latin(letter);
        ending = [ending[1], ending[2], letter];
    }
    match (ending[2], latin) {
        ('\0', _) if word.bytes().any(|byte| byte.is_ascii_digit()) => 2,
        (_, false) => 0,
        (_, true) => groups.saturating_sub(u64::from(is_silent(ending))).max(1),
    }
}

/// Returns whether the last vowel group is silent.
fn is_silent(ending: [char; 3]) -> bool {
    match ending {
        // `table`, `able`: the last syllable is spoken.
        [c, 'l', 'e'] if !is_vowel(c) => false,
        // `needed`, `waited` are spoken; `skipped`, `changed` are not.
        [c, 'e', 'd'] => !matches!(c, 't' | 'd') && !is_vowel(c),
        // `changes`, `passes` are spoken; `files`, `writes` are not.
        [c, 'e', 's'] => !matches!(c, 's' | 'x' | 'z' | 'c' | 'g' | 'h') && !is_vowel(c),
        [_, c, 'e'] => !is_vowel(c),
        _ => false,
    }
}

const fn is_latin(letter: char) -> bool {
    matches!(letter, 'a'..='z' | 'à'..='ÿ' | 'ā'..='ſ')
}

const fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u' | 'y' | 'à'..='æ' | 'è'..='ï' | 'ò'..='ö')
        || matches!(letter, 'ø'..='ý' | 'ÿ' | 'ā'..='ą' | 'ē'..='ě' | 'ō'..='œ' | 'ũ'..='ų')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syllables_are_near_enough() {
        let cases = [
            ("task", 1),
            ("skipped", 1),
            ("needed", 2),
            ("files", 1),
            ("changes", 2),
            ("table", 2),
            ("account", 2),
            ("different", 3),
            ("credentials", 3),
            ("reconciliation", 5),
            ("42", 2),
            ("—", 0),
        ];
        for (word, expected) in cases {
            assert_eq!(count_syllables(word), expected, "{word}");
        }
    }

    #[test]
    fn plain_words_are_easy_and_long_ones_hard() {
        let plain =
            "I was working on the login page. A key is missing. Please add it, then tell me.";
        assert!(grade_hundredths(plain) < 400, "{}", grade_hundredths(plain));
        let hard = "Authentication credentials verification necessitates administrator \
                    reauthorisation preceding subsequent reconciliation procedures.";
        assert!(grade_hundredths(hard) > GRADE_MAX_HUNDREDTHS);
    }

    #[test]
    fn one_long_word_in_a_label_is_no_verdict() {
        assert!(grade_hundredths("Payment integration") <= GRADE_MAX_HUNDREDTHS);
        assert_eq!(grade_hundredths(""), 0);
        assert_eq!(grade_hundredths("登录 页面"), 0);
    }
}

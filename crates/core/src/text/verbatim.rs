//! Foreign words in Unstuck's sentences: shown verbatim, on one line, in quotation marks.
//!
//! A title, a goal, a command or an agent's words may contain any text. None of it is judged or replaced:
//! only characters that move a cursor, are invisible or end the quotation are removed, and a text that is too
//! long is cut. The output code escapes them for its own medium.

use super::bounded::{MARKS_MAX, is_hidden, is_mark, strip_escapes};
use super::lint::lint_text;

/// Maximum length of a title, name or command; a longer one would crowd out the sentence around it.
pub const VALUE_CHARS_MAX: usize = 200;
/// Maximum length of an agent's question to a person: about a paragraph.
pub const QUESTION_CHARS_MAX: usize = 1_000;

/// Returns the words on one line, without invisible and cursor-moving characters, at most `chars_max` long.
pub fn verbatim_line(words: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut left = chars_max;
    let mut marks = 0;
    let mut blank = false;
    for sign in strip_escapes(words).trim().chars() {
        if sign.is_whitespace() || sign.is_control() {
            blank = true;
            continue;
        }
        marks = if is_mark(sign) { marks + 1 } else { 0 };
        if marks > MARKS_MAX || is_hidden(sign) {
            continue;
        }
        let needed = if blank && !line.is_empty() { 2 } else { 1 };
        if left < needed {
            line.push('…');
            return line;
        }
        left -= needed;
        if needed == 2 {
            line.push(' ');
        }
        blank = false;
        line.push(sign);
    }
    line
}

/// Returns the words in quotation marks, or `None` if there are none. Quotation marks inside become single
/// ones, so that the words cannot end the quotation.
pub fn quote_words(words: &str, chars_max: usize) -> Option<String> {
    let line = verbatim_line(words, chars_max).replace('“', "‘").replace('”', "’");
    (!line.is_empty()).then(|| format!("“{line}”"))
}

/// Maximum number of words of a name that is not quoted.
const NAME_WORDS_MAX: usize = 4;

/// Returns a name for use in a sentence: bare if it reads like any other word, otherwise in quotation marks.
pub fn name_in_sentence(name: &str) -> Option<String> {
    let line = verbatim_line(name, VALUE_CHARS_MAX);
    let short = line.split_whitespace().count() <= NAME_WORDS_MAX;
    let bare = short && !line.contains(['“', '”']) && lint_text(&line).is_empty();
    if bare && !line.is_empty() { Some(line) } else { quote_words(name, VALUE_CHARS_MAX) }
}

/// Returns a text without its quotations: Unstuck's own words.
pub fn our_words(text: &str) -> String {
    let mut ours = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('“') {
        let Some((_, behind)) = after.split_once('”') else { break };
        ours.push_str(before);
        ours.push_str("“it”");
        rest = behind;
    }
    ours.push_str(rest);
    ours
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // T1.6, B8
    #[test]
    fn words_of_others_are_shown_as_they_are() {
        for words in [
            "Return HTTP 404 for unknown orders",
            "Describe the set-up in README.md",
            "rename snake_case to camelCase in parse()",
            "Überprüfe die Anmeldung für Größe und Maß",
            "fix src/main.rs:42 (KeyError)",
            "payment_webhook",
            "Is `a | b` right? Then <b>say</b> so. 登录 👩‍💻",
        ] {
            assert_eq!(verbatim_line(words, VALUE_CHARS_MAX), words);
            assert_eq!(quote_words(words, VALUE_CHARS_MAX).unwrap(), format!("“{words}”"));
        }
    }

    #[test]
    fn what_hides_moves_or_ends_a_quotation_is_taken_out() {
        let cases = [
            ("  Add a\n login   page ", "Add a login page"),
            ("red \u{1b}[31mtext", "red text"),
            ("gpj.\u{202e}exe", "gpj.exe"),
            ("zero\u{200b}width", "zerowidth"),
            ("e\u{301}\u{302}\u{303}\u{304}", "e\u{301}\u{302}"),
        ];
        for (words, shown) in cases {
            assert_eq!(verbatim_line(words, VALUE_CHARS_MAX), shown);
        }
        assert_eq!(quote_words("it” is done, pick “yes", 99).unwrap(), "“it’ is done, pick ‘yes”");
        assert_eq!(quote_words(" \n ", 99), None);
        assert_eq!(verbatim_line("a long title", 6), "a long…");
        assert_eq!(verbatim_line("a long title", 12), "a long title");
    }

    #[test]
    fn a_name_is_bare_where_it_reads_like_a_word() {
        assert_eq!(name_in_sentence("Stripe").as_deref(), Some("Stripe"));
        assert_eq!(name_in_sentence("git.example.org").as_deref(), Some("“git.example.org”"));
        assert_eq!(name_in_sentence("  "), None);
    }

    #[test]
    fn our_words_are_what_is_around_the_quotations() {
        assert_eq!(our_words("I ran “rm -rf ~” for “x”."), "I ran “it” for “it”.");
        assert_eq!(our_words("none"), "none");
    }

    proptest! {
        #[test]
        fn any_words_are_one_bounded_line(words in any::<String>()) {
            let shown = verbatim_line(&words, 40);
            prop_assert!(shown.chars().count() <= 41);
            prop_assert!(!shown.contains(char::is_control));
            if let Some(quoted) = quote_words(&words, 40) {
                prop_assert_eq!(our_words(&quoted), "“it”");
            }
        }
    }
}

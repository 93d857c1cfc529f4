//! Text for a single line of a screen or a prompt: folded, without control characters, shortened.

/// Returns `text` on one line of at most `chars_max` characters; a cut is shown as `…`.
pub(super) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    let mut gap = false;
    for char in text.chars() {
        if char.is_whitespace() || char.is_control() {
            gap = !line.is_empty();
            continue;
        }
        let needed = 1 + usize::from(gap);
        if chars + needed > chars_max {
            if chars == chars_max {
                line.pop();
            }
            line.push('…');
            break;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
        }
        line.push(char);
        chars += needed;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_folded_and_shortened() {
        let cases = [
            ("  a \n b\x07c ", 9, "a b c"),
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abcde…"),
            ("abcde fg", 6, "abcde…"),
            ("äöüß", 3, "äö…"),
            ("", 3, ""),
        ];
        for (text, chars_max, expected) in cases {
            assert_eq!(one_line(text, chars_max), expected, "{text:?}");
            assert!(expected.chars().count() <= chars_max);
        }
    }
}

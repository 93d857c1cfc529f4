//! Shortens texts that are too long to be shown whole.

/// Maximum size in bytes of a tool's output.
pub const SHOWN_BYTES_MAX: usize = 30 * 1_024;

/// Shortens a text to at most `bytes_max` bytes plus one line that says how much is left out of the
/// middle: the beginning says what the text is, the end how it came out.
pub fn shorten_text(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let half = bytes_max / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    // Cuts at whole lines, unless a line is longer than the part that is kept.
    let head = head.rfind('\n').map_or(head, |at| &head[..at]);
    let tail = tail.find('\n').map_or(tail, |at| &tail[at + 1..]);
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_goes_and_is_counted() {
        assert_eq!(shorten_text("short", 10), "short");
        let lines: String = (0..100).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let shown = shorten_text(&lines, 40);
        assert!(shown.starts_with("line 0\nline 1\n[… "), "{shown}");
        assert!(shown.ends_with(" …]\nline 98\nline 99\n"), "{shown}");
    }

    proptest! {
        #[test]
        fn what_is_shown_fits(text in "(\\PC|\n){0,400}", max in 0_usize..200) {
            let shown = shorten_text(&text, max);
            prop_assert!(shown.len() <= max.max(text.len().min(max)) + 48, "{}", shown.len());
        }
    }
}

//! What keys of well-known services look like.

/// A kind of key: how it begins, what follows and how long it is at least.
struct Shape {
    what: &'static str,
    begins: &'static str,
    rest_chars_min: usize,
    letters: fn(u8) -> bool,
}

const fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

const fn capitals(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const SHAPES: [Shape; 14] = [
    Shape { what: "an AWS access key", begins: "AKIA", rest_chars_min: 16, letters: capitals },
    Shape { what: "an AWS session key", begins: "ASIA", rest_chars_min: 16, letters: capitals },
    Shape { what: "an Anthropic key", begins: "sk-ant-", rest_chars_min: 20, letters: word },
    Shape { what: "an OpenAI key", begins: "sk-proj-", rest_chars_min: 20, letters: word },
    Shape { what: "a GitHub token", begins: "ghp_", rest_chars_min: 36, letters: word },
    Shape { what: "a GitHub token", begins: "gho_", rest_chars_min: 36, letters: word },
    Shape { what: "a GitHub token", begins: "ghs_", rest_chars_min: 36, letters: word },
    Shape { what: "a GitHub token", begins: "github_pat_", rest_chars_min: 40, letters: word },
    Shape { what: "a GitLab token", begins: "glpat-", rest_chars_min: 20, letters: word },
    Shape { what: "a Google key", begins: "AIza", rest_chars_min: 35, letters: word },
    Shape { what: "an npm token", begins: "npm_", rest_chars_min: 36, letters: word },
    Shape { what: "a Slack token", begins: "xoxb-", rest_chars_min: 20, letters: word },
    Shape { what: "a Slack token", begins: "xoxp-", rest_chars_min: 20, letters: word },
    Shape { what: "a Stripe key", begins: "sk_live_", rest_chars_min: 20, letters: word },
];

/// What a line holds that looks like a key.
pub(super) fn find(line: &[u8]) -> Option<&'static str> {
    if holds(line, b"-----BEGIN ") && holds(line, b"PRIVATE KEY-----") {
        return Some("a private key");
    }
    SHAPES.iter().find(|shape| shape.is_in(line)).map(|shape| shape.what)
}

fn holds(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}

impl Shape {
    fn is_in(&self, line: &[u8]) -> bool {
        let begins = self.begins.as_bytes();
        let starts = line.windows(begins.len()).enumerate().filter(|(_, window)| *window == begins);
        let mut starts = starts.map(|(at, _)| at);
        starts.any(|at| {
            let alone = at == 0 || !line[at - 1].is_ascii_alphanumeric();
            let rest = &line[at + begins.len()..];
            let length = rest.iter().take_while(|byte| (self.letters)(**byte)).count();
            alone && length >= self.rest_chars_min
        })
    }
}

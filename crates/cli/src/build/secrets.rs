//! What must not be shown: the values of variables whose names say that they are secret.

use std::env;

use unstuck_world::redact::Redactor;

/// A variable with one of these words in its name holds a secret.
const WORDS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE"];
/// Shorter values are words of every text.
const VALUE_BYTES_MIN: usize = 8;

/// What takes the secrets of the environment out of whatever is kept or shown.
pub(crate) fn redactor() -> Redactor {
    Redactor::new(secrets().iter().map(String::as_str))
}

/// The secrets of the environment.
pub(super) fn secrets() -> Vec<String> {
    let named = |(name, value): (String, String)| is_secret(&name, &value).then_some(value);
    let readable = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    readable.filter_map(named).collect()
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_uppercase();
    value.trim().len() >= VALUE_BYTES_MIN && WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name_and_a_word_is_none() {
        assert!(is_secret("ANTHROPIC_API_KEY", "sk-ant-canary"));
        assert!(is_secret("db_password", "correct horse"));
        assert!(!is_secret("PATH", "/usr/local/bin"));
        assert!(!is_secret("API_KEY", "none"));
    }
}

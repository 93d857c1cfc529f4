//! Collects the secrets to redact: values of environment variables with secret names, and credentials in
//! the settings.

use std::env;

use unstuck_world::redact::Redactor;

use super::notify::NotifySettings;
use super::resolve::environment_variable;
use super::sections::Settings;

/// Words in the name of a variable that holds a secret.
const WORDS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE"];
/// Minimum length of a secret value; shorter values occur in any text.
const VALUE_BYTES_MIN: usize = 8;

pub(crate) fn collect_secrets(settings: &Settings) -> Vec<String> {
    let mut secrets = environment_secrets();
    secrets.extend(settings.agent.key_env.as_deref().and_then(environment_variable));
    secrets.extend(environment_variable(&settings.github.token_env));
    let actions = settings.actions.allowed.iter().flat_map(|rule| &rule.secrets);
    secrets.extend(actions.filter_map(|name| environment_variable(name)));
    secrets.extend(settings.notify.values().flat_map(NotifySettings::secrets).map(str::to_owned));
    secrets
}

/// Returns the redactor of the secrets of the environment and of these settings.
pub(crate) fn settings_redactor(settings: &Settings) -> Redactor {
    redactor_for(&collect_secrets(settings))
}

pub(crate) fn environment_redactor() -> Redactor {
    redactor_for(&environment_secrets())
}

fn redactor_for(secrets: &[String]) -> Redactor {
    Redactor::new(secrets.iter().map(String::as_str))
}

fn environment_secrets() -> Vec<String> {
    let named = |(name, value): (String, String)| {
        if is_secret(&name, &value) { Some(value) } else { proxy_password(&name, &value) }
    };
    let readable = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    readable.filter_map(named).collect()
}

/// Returns the password in the address of a proxy.
fn proxy_password(name: &str, value: &str) -> Option<String> {
    let is_proxy = name.to_uppercase().ends_with("_PROXY");
    let (_, rest) = value.split_once("://").filter(|_| is_proxy)?;
    let (person, _) = rest.rsplit_once('@')?;
    let (_, password) = person.split_once(':')?;
    (password.len() >= VALUE_BYTES_MIN).then(|| password.to_owned())
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

    #[test]
    fn the_password_of_a_proxy_is_a_secret() {
        let of = |name, value| proxy_password(name, value);
        let address = "http://ada:canary-77aa@proxy.example:3128";
        assert_eq!(of("https_proxy", address).as_deref(), Some("canary-77aa"));
        assert_eq!(of("HTTPS_PROXY", "http://proxy.example:3128"), None);
        assert_eq!(of("SOME_URL", address), None);
    }
}

//! Display names of services.

use std::net::IpAddr;

use super::say::capitalize_first;

/// Top-level domains of hosts that are not public services.
const OWN: [&str; 10] = [
    "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localhost",
    "test",
];
/// Second-level domains between a name and its country.
const BETWEEN: [&str; 6] = ["ac", "co", "com", "gov", "net", "org"];
/// Words of a variable that say what it holds, not whose it is.
const HOLDS: [&str; 10] =
    ["ACCESS", "API", "AUTH", "CREDENTIALS", "KEY", "PASS", "PASSWORD", "PAT", "SECRET", "TOKEN"];
/// Names with an irregular spelling.
const WRITTEN: [(&str, &str); 3] = [("github", "GitHub"), ("gitlab", "GitLab"), ("pypi", "PyPI")];
/// Display names of the providers of agents and models.
const PROVIDERS: [(&str, &str); 4] = [
    ("anthropic-api", "Anthropic"),
    ("claude-cli", "Claude Code"),
    ("codex-cli", "Codex"),
    ("openai-api", "OpenAI"),
];
/// Agent programs, by their providers' names, with the services that their keys and logins are for.
const BEHIND: [(&str, &str); 2] = [("claude-cli", "Anthropic"), ("codex-cli", "OpenAI")];
/// Maximum length of a name that is spelled in capitals.
const SPELLED_OUT: usize = 3;

/// Returns the service of a host: `api.stripe.com` is Stripe. `None` if the name is not informative.
pub fn service_at(host: &str) -> Option<String> {
    if is_numeric(host) {
        return None;
    }
    let mut labels: Vec<&str> = host.split('.').collect();
    let end = labels.pop()?;
    if OWN.contains(&end) {
        return None;
    }
    if labels.len() > 1 && labels.last().is_some_and(|label| BETWEEN.contains(label)) {
        labels.pop();
    }
    labels.pop().and_then(service_name)
}

/// Returns whether a host is a numeric address, with or without a port: `127.0.0.1:8080`, `[::1]`.
pub(crate) fn is_numeric(host: &str) -> bool {
    let address = |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    address(host) || host.rsplit_once(':').is_some_and(|(host, _)| address(host))
}

/// Returns the display name of a provider of agents or models, if it is one.
pub fn provider_display_name(name: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|(known, _)| *known == name).map(|(_, called)| *called)
}

/// Returns the display name of an agent program, with the service behind it.
pub fn agent_service(name: &str) -> Option<(&'static str, &'static str)> {
    let (_, service) = BEHIND.iter().find(|(known, _)| *known == name)?;
    Some((provider_display_name(name)?, service))
}

/// Returns the service that a variable holds a key for: `STRIPE_API_KEY` is Stripe's.
pub fn service_of_variable(variable: &str) -> Option<String> {
    let words: Vec<&str> = variable.split('_').take_while(|word| !HOLDS.contains(word)).collect();
    match words[..] {
        [word] if word.len() <= SPELLED_OUT => {
            Some(word.to_owned()).filter(|word| !word.is_empty())
        }
        _ => service_name(&words.join(" ").to_ascii_lowercase()),
    }
}

fn service_name(name: &str) -> Option<String> {
    let written = WRITTEN.iter().find(|(known, _)| *known == name);
    let plain = || capitalize_first(&name.replace('-', " "));
    (!name.is_empty()).then(|| written.map_or_else(plain, |(_, written)| (*written).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_called_by_its_name() {
        let hosts = [
            ("api.stripe.com", Some("Stripe")),
            ("github.com", Some("GitHub")),
            ("shop.example.co.uk", Some("Example")),
            ("my-shop.de", Some("My shop")),
            ("127.0.0.1", None),
            ("10.0.0.7:8080", None),
            ("::1", None),
            ("[::1]:8080", None),
            ("vault.corp", None),
            ("com", None),
            ("", None),
        ];
        for (host, name) in hosts {
            assert_eq!(service_at(host).as_deref(), name, "{host}");
        }
        let variables = [
            ("STRIPE_API_KEY", Some("Stripe")),
            ("AWS_SECRET_ACCESS_KEY", Some("AWS")),
            ("MY_SHOP_PASSWORD", Some("My shop")),
            ("GITHUB_TOKEN", Some("GitHub")),
            ("API_TOKEN", None),
        ];
        for (variable, name) in variables {
            assert_eq!(service_of_variable(variable).as_deref(), name, "{variable}");
        }
    }
}

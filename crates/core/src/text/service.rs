//! What a service is called in front of people.

use std::net::IpAddr;

use super::say::capital;

/// Ends of hosts that mean no service in the world outside.
const OWN: [&str; 10] = [
    "corp",
    "example",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localhost",
    "test",
];
/// Parts of a host that stand between a name and its country.
const BETWEEN: [&str; 6] = ["ac", "co", "com", "gov", "net", "org"];
/// Words of a variable that say what it holds, not whose it is.
const HOLDS: [&str; 10] =
    ["ACCESS", "API", "AUTH", "CREDENTIALS", "KEY", "PASS", "PASSWORD", "PAT", "SECRET", "TOKEN"];
/// Names that are not written like other words.
const WRITTEN: [(&str, &str); 3] = [("github", "GitHub"), ("gitlab", "GitLab"), ("pypi", "PyPI")];
/// What the providers of agents and models are called.
const PROVIDERS: [(&str, &str); 4] = [
    ("anthropic-api", "Anthropic"),
    ("claude-cli", "Claude Code"),
    ("codex-cli", "Codex"),
    ("openai-api", "OpenAI"),
];
/// Agent programs, by their providers' names, with the services that their keys and logins are for.
const BEHIND: [(&str, &str); 2] = [("claude-cli", "Anthropic"), ("codex-cli", "OpenAI")];
/// A name as short as this is spelled out.
const SPELLED_OUT: usize = 3;

/// The service behind a host: `api.stripe.com` is Stripe. None where the name says nothing.
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
    labels.pop().and_then(called)
}

/// Whether a host is an address in numbers, with or without a port: `127.0.0.1:8080`, `[::1]`.
fn is_numeric(host: &str) -> bool {
    let address = |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    address(host) || host.rsplit_once(':').is_some_and(|(host, _)| address(host))
}

/// What a provider of agents or models is called, where it is one.
pub fn provider_called(name: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|(known, _)| *known == name).map(|(_, called)| *called)
}

/// An agent program, as people call it, with the service behind it.
pub fn agent_service(name: &str) -> Option<(&'static str, &'static str)> {
    let (_, service) = BEHIND.iter().find(|(known, _)| *known == name)?;
    Some((provider_called(name)?, service))
}

/// The service that a variable holds a key for: `STRIPE_API_KEY` is Stripe's.
pub fn service_of(variable: &str) -> Option<String> {
    let words: Vec<&str> = variable.split('_').take_while(|word| !HOLDS.contains(word)).collect();
    match words[..] {
        [word] if word.len() <= SPELLED_OUT => {
            Some(word.to_owned()).filter(|word| !word.is_empty())
        }
        _ => called(&words.join(" ").to_ascii_lowercase()),
    }
}

fn called(name: &str) -> Option<String> {
    let written = WRITTEN.iter().find(|(known, _)| *known == name);
    let plain = || capital(&name.replace('-', " "));
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
            assert_eq!(service_of(variable).as_deref(), name, "{variable}");
        }
    }
}

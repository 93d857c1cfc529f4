//! Determines the service of an agent, the credential for it, and the part of the operator's environment
//! that the agent gets. The reasons why a key is not sent just anywhere are in `docs/design/providers.md`.

use std::env;
use std::ffi::OsString;
use std::net::IpAddr;

use unstuck_core::fault::Code;
use unstuck_world::commands::CommandEnvironment;
use unstuck_world::provider::{AccountAuth, Proxies};

use super::agents::{KEYS, WorkerFactory};
use crate::error::CliError;
use crate::problem::InputProblem;
use crate::settings::{Provider, environment_variable};

impl WorkerFactory<'_> {
    /// Returns the address of a provider's service if it is not the vendor's own: from the settings, or
    /// else from the operator's environment.
    pub(crate) fn base_url(&self, provider: Provider) -> Option<String> {
        let named = self.settings.agent.base_url.clone();
        named.or_else(|| address_variable(provider).and_then(nonblank_variable))
    }

    /// Returns the host of a provider's calls, with the environment variable that names it, if one does.
    pub(crate) fn service_host(
        &self,
        provider: Provider,
    ) -> Option<(String, Option<&'static str>)> {
        let Some(url) = self.base_url(provider) else {
            let login = matches!(self.account_for(provider), AccountAuth::Login(_));
            return vendor_host(provider, login).map(|host| (host.to_owned(), None));
        };
        let by_variable = self.settings.agent.base_url.is_none();
        let host = parse_host(&url).unwrap_or(url);
        Some((host, address_variable(provider).filter(|_| by_variable)))
    }

    /// Refuses a service named by the project's own settings file, which may come from any author: neither
    /// a vendor's key nor a login is sent there unless the operator's environment names the same service.
    pub(super) fn check_address(&self, provider: Provider) -> Result<(), CliError> {
        let agent = &self.settings.agent;
        let Some(url) = agent.base_url.as_deref().filter(|_| agent.address_of_project) else {
            return Ok(());
        };
        let Some(key) = self.vendor_key(provider) else { return Ok(()) };
        let host = parse_host(url);
        let is_own = |own: &str| host.as_deref() == Some(own);
        let named =
            address_variable(provider).and_then(nonblank_variable).and_then(|url| parse_host(&url));
        let trusted = host.as_deref().is_some_and(is_loopback_host)
            || [false, true]
                .into_iter()
                .filter_map(|login| vendor_host(provider, login))
                .any(is_own)
            || (host.is_some() && host == named);
        if trusted {
            return Ok(());
        }
        let message = format!("the project's settings would send {key} to {url}");
        let problem = InputProblem::at_place(Code::ConfigInvalid, "agent.base_url", message);
        let hint = match address_variable(provider) {
            Some(name) => format!(
                "if that is your service, set {name} to it, or name the key that belongs to it with \
                 agent.key_env"
            ),
            None => "name the key that belongs to it with agent.key_env".to_owned(),
        };
        Err(CliError::Problems(vec![problem.with_field("agent.base_url").with_hint(hint)]))
    }

    /// Returns the vendor's credential that would be sent to a service; `None` for a key that the settings
    /// name for this project.
    fn vendor_key(&self, provider: Provider) -> Option<String> {
        let variable = self.key_variable(provider);
        match provider {
            Provider::Script => None,
            Provider::ClaudeCli | Provider::CodexCli => match self.account_for(provider) {
                AccountAuth::Login(_) => Some("your login".to_owned()),
                AccountAuth::Key(_) => {
                    KEYS.contains(&&*variable).then(|| format!("the key in {variable}"))
                }
            },
            Provider::AnthropicApi | Provider::OpenAiApi => {
                let is_vendors =
                    KEYS.contains(&&*variable) && nonblank_variable(&variable).is_some();
                is_vendors.then(|| format!("the key in {variable}"))
            }
        }
    }
}

/// Returns the part of the operator's environment for agent programs, in addition to that of every command.
pub(super) fn agent_environment() -> Vec<(OsString, OsString)> {
    CommandEnvironment::filter_for_agents(env::vars_os())
}

/// Returns the proxies of the operator's environment.
pub(super) fn environment_proxies() -> Proxies {
    let either =
        |lower: &str, upper: &str| nonblank_variable(lower).or_else(|| nonblank_variable(upper));
    let all = either("all_proxy", "ALL_PROXY");
    Proxies {
        http: either("http_proxy", "HTTP_PROXY").or_else(|| all.clone()),
        https: either("https_proxy", "HTTPS_PROXY").or(all),
        not_for: either("no_proxy", "NO_PROXY"),
    }
}

/// Returns the value of an environment variable, if it is not blank.
fn nonblank_variable(name: impl AsRef<str>) -> Option<String> {
    environment_variable(name.as_ref()).filter(|value| !value.trim().is_empty())
}

/// Returns the environment variable for the service address in a vendor's programs.
const fn address_variable(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::ClaudeCli | Provider::AnthropicApi => Some("ANTHROPIC_BASE_URL"),
        Provider::CodexCli | Provider::OpenAiApi => Some("OPENAI_BASE_URL"),
        Provider::Script => None,
    }
}

/// Returns the vendor's own host, for a login or for a key.
const fn vendor_host(provider: Provider, login: bool) -> Option<&'static str> {
    match provider {
        Provider::ClaudeCli | Provider::AnthropicApi => Some("api.anthropic.com"),
        Provider::CodexCli if login => Some("chatgpt.com"),
        Provider::CodexCli | Provider::OpenAiApi => Some("api.openai.com"),
        Provider::Script => None,
    }
}

/// Returns the vendor's hosts that its agent program uses, with a login or with a key.
pub(super) const fn vendor_hosts(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::ClaudeCli | Provider::AnthropicApi => {
            &["api.anthropic.com", "console.anthropic.com", "platform.claude.com"]
        }
        Provider::CodexCli | Provider::OpenAiApi => {
            &["api.openai.com", "auth.openai.com", "chatgpt.com"]
        }
        Provider::Script => &[],
    }
}

/// Returns the host of an address; `None` if the address is ambiguous.
fn parse_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let authority = rest.split(['/', '?', '#']).next()?;
    let odd = |c: char| c == '\\' || c == '@' || c == '%' || c.is_whitespace() || c.is_control();
    if !is_web || authority.contains(odd) {
        return None;
    }
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => authority.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// Returns whether calls to a host stay on this machine.
fn is_loopback_host(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_read_in_one_way_or_not_at_all() {
        let cases = [
            ("https://api.anthropic.com", Some("api.anthropic.com")),
            ("HTTP://Gateway.Example:8080/v1?x#y", Some("gateway.example")),
            ("http://[::1]:80/v1", Some("::1")),
            ("http://127.0.0.1:1", Some("127.0.0.1")),
            ("https://api.anthropic.com@evil.example/", None),
            ("https://evil.example\\@api.anthropic.com/", None),
            ("https://api.anthropic.com%2eevil.example", None),
            ("ftp://api.anthropic.com", None),
            ("api.anthropic.com", None),
            ("https://", None),
        ];
        for (url, host) in cases {
            assert_eq!(parse_host(url).as_deref(), host, "{url}");
        }
        assert!(is_loopback_host("127.0.0.9") && is_loopback_host("::1"));
        assert!(!is_loopback_host("127.example.org") && !is_loopback_host("10.0.0.1"));
    }
}

//! Selects the provider of a task, its service and its account, and the part of the operator's environment
//! that agents get. The reasons why a key is not sent just anywhere are in `docs/design/providers.md`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::fault::{Code, Fault, Provider as About};
use unstuck_core::plan::{GateKey, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_world::commands::{CommandEnvironment, NetworkIsolation};
use unstuck_world::process::GuardCommand;
use unstuck_world::provider::{self, AccountAuth, AccountKey, Credential, Proxies};

use crate::error::{CliError, NO_AGENT_SOURCE};
use crate::problem::InputProblem;
use crate::settings::{Provider, Settings, environment_variable};

/// Agent programs in the order of their lookup.
const INSTALLED: [(Provider, &str); 2] =
    [(Provider::ClaudeCli, "claude"), (Provider::CodexCli, "codex")];

/// The npm packages of the agent programs.
const PACKAGES: [(Provider, &str); 2] =
    [(Provider::ClaudeCli, "@anthropic-ai/claude-code"), (Provider::CodexCli, "@openai/codex")];

/// Variables from which Claude Code reads a key or a long-lived token.
const OWN: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// The variable from which `OpenAI` and compatible programs read a key.
const OPENAI: &str = "OPENAI_API_KEY";

/// All variables that hold a key unless the settings name another.
pub(crate) const KEYS: [&str; 4] = [OWN[0], OWN[1], OWN[2], OPENAI];

/// Selects and creates the workers of tasks.
pub(crate) struct WorkerFactory<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) policy: &'a Arc<Policy>,
    pub(crate) root: &'a Path,
    /// The root of the operator's working tree: the root of the project, or a folder above it.
    pub(crate) checkout: &'a Path,
    /// The folder of the project in its repository; empty at the root.
    pub(crate) folder: &'a Path,
    /// The folder in which agents of this project keep their own state.
    pub(crate) homes: PathBuf,
    pub(crate) guard: &'a GuardCommand,
    /// The network access of commands that models run.
    pub(crate) network: NetworkIsolation,
}

impl WorkerFactory<'_> {
    /// Returns the provider for tasks that name none: the one in the settings, or the first agent program
    /// that is installed.
    pub(crate) fn default_provider(&self) -> Result<Provider, CliError> {
        if let Some(provider) = self.settings.agent.provider {
            return Ok(provider);
        }
        installed_providers().next().ok_or_else(|| {
            let message = "no agent is installed and none is named in the settings";
            let about = About { name: "claude-cli".to_owned(), model: None };
            Fault::provider_not_available(NO_AGENT_SOURCE, message, about).into()
        })
    }

    pub(crate) fn provider_for(&self, spec: &TaskSpec) -> Result<Provider, CliError> {
        let Some(name) = &spec.provider else { return self.default_provider() };
        Provider::from_name(name).ok_or_else(|| {
            let place = spec.file.clone().unwrap_or_else(|| spec.name.clone());
            let names = "claude-cli, codex-cli, anthropic-api, openai-api or script";
            let problem = InputProblem::at_place(
                Code::ConfigInvalid,
                place,
                format!("there is no provider {name:?}"),
            );
            CliError::Problems(vec![problem.with_hint(format!("write {names}"))])
        })
    }

    pub(crate) fn model_for(&self, spec: &TaskSpec) -> Option<String> {
        spec.model.clone().or_else(|| self.settings.agent.model.clone())
    }

    /// Returns the program of a provider, if the provider is an agent program and it is installed.
    pub(crate) fn installed_program(&self, provider: Provider) -> Option<PathBuf> {
        let (_, usual) = INSTALLED.iter().find(|(of, _)| *of == provider)?;
        self.find_program(provider, usual).ok()
    }

    /// Returns the account of a provider; all work on one account waits together.
    pub(crate) fn account_gate(&self, provider: Provider) -> GateKey {
        let base_url = self.base_url(provider).unwrap_or_default();
        provider::derive_gate_key(
            provider.name(),
            &base_url,
            self.credential_for(provider).as_ref(),
        )
    }

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

    pub(super) fn find_program(
        &self,
        provider: Provider,
        usual: &str,
    ) -> Result<PathBuf, CliError> {
        let name = self.settings.agent.program.as_deref().unwrap_or(usual);
        let path = env::var_os("PATH");
        provider::find_program(OsStr::new(name), path.as_deref()).ok_or_else(|| {
            let mut message = format!("there is no program `{name}` on the path");
            if let Some((_, package)) = PACKAGES.iter().find(|(of, _)| *of == provider) {
                let _ = write!(message, "; `npm install -g {package}` installs it");
            }
            let about = About { name: provider.name().to_owned(), model: None };
            Fault::provider_not_available(provider.name(), message, about).into()
        })
    }

    /// Returns the account of an agent program: a key if the settings name one, and otherwise the one that
    /// the program itself would take. Claude Code prefers a key in the environment to a login, Codex a
    /// login to a key.
    pub(crate) fn account_for(&self, provider: Provider) -> AccountAuth {
        let (variable, usual, file) = match provider {
            Provider::CodexCli => ("CODEX_HOME", ".codex", "auth.json"),
            // The APIs and the scripted agent have no program with a login: only their key counts.
            Provider::ClaudeCli
            | Provider::AnthropicApi
            | Provider::OpenAiApi
            | Provider::Script => ("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json"),
        };
        let login = env::var_os(variable).map_or_else(|| home_folder().join(usual), PathBuf::from);
        let named = self.settings.agent.key_env.is_some();
        let credential = self.credential_for(provider);
        let key_first = provider == Provider::ClaudeCli;
        if named || (credential.is_some() && (key_first || !login.join(file).exists())) {
            let variable = match (provider, self.key_variable(provider)) {
                // Claude Code reads these by their own names; any other variable is passed as a plain key.
                (Provider::ClaudeCli, own) if OWN.contains(&own.as_str()) => own,
                (Provider::ClaudeCli, _) => OWN[0].to_owned(),
                (_, own) => own,
            };
            return AccountAuth::Key(AccountKey { variable, credential });
        }
        AccountAuth::Login(login)
    }

    /// Returns the environment variable that holds the key: the one in the settings, or the first set one
    /// of those that the vendor's own programs read.
    pub(crate) fn key_variable(&self, provider: Provider) -> String {
        if let Some(named) = &self.settings.agent.key_env {
            return named.clone();
        }
        let [key, token, login] = OWN;
        let looked_at: &[&str] = match provider {
            Provider::ClaudeCli => &[token, key, login],
            Provider::AnthropicApi => &[key, token],
            Provider::CodexCli | Provider::OpenAiApi => &[OPENAI],
            Provider::Script => return String::new(),
        };
        let holds = |name: &&&str| {
            environment_variable(name).is_some_and(|key| Credential::new(&key).is_some())
        };
        let usual = looked_at.iter().find(holds).copied();
        usual.unwrap_or(if looked_at == [OPENAI] { OPENAI } else { key }).to_owned()
    }

    pub(crate) fn credential_for(&self, provider: Provider) -> Option<Credential> {
        environment_variable(&self.key_variable(provider)).and_then(|key| Credential::new(&key))
    }
}

/// Returns the installed agent programs in the order of their lookup.
pub(crate) fn installed_providers() -> impl Iterator<Item = Provider> {
    let path = env::var_os("PATH");
    let found =
        move |name: &str| provider::find_program(OsStr::new(name), path.as_deref()).is_some();
    INSTALLED.iter().filter(move |(_, name)| found(name)).map(|(provider, _)| *provider)
}

fn home_folder() -> PathBuf {
    env::var_os("HOME").map_or_else(env::temp_dir, PathBuf::from)
}

/// Returns the part of the operator's environment for agent programs, in addition to that of every command.
pub(super) fn agent_environment() -> Vec<(OsString, OsString)> {
    CommandEnvironment::filter_for_agents(env::vars_os())
}

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

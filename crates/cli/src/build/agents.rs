//! Creates the worker of a task from the settings: an agent program, a model or a script.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::fault::{Code, Fault, Provider as About};
use unstuck_core::plan::{GateKey, TaskSpec};
use unstuck_core::policy::Policy;
use unstuck_core::time::Span;
use unstuck_runner::build::{ModelWorker, TaskWorker};
use unstuck_world::commands::{CommandRules, NetworkIsolation};
use unstuck_world::model::Model;
use unstuck_world::process::GuardCommand;
use unstuck_world::provider::anthropic_api::AnthropicApi;
use unstuck_world::provider::claude_cli::{self, ClaudeCli};
use unstuck_world::provider::codex_cli::{self, CodexCli};
use unstuck_world::provider::openai_api::{self, OpenAiApi};
use unstuck_world::provider::prices::Prices;
use unstuck_world::provider::script::{AgentScript, ScriptedAgent};
use unstuck_world::provider::{self, AccountAuth, AccountKey, Credential, TurnDeadlines};
use unstuck_world::tool::{ActionRule, DeclarationPolicy};

use super::egress::tool_egress;
use super::service;
use crate::error::CliError;
use crate::problem::InputProblem;
use crate::settings::{
    AgentPermissionsSetting, AgentSettings, ApiDialectSetting, Provider, Settings,
    environment_variable,
};

/// Agent programs in the order of their lookup.
const INSTALLED: [(Provider, &str); 2] =
    [(Provider::ClaudeCli, "claude"), (Provider::CodexCli, "codex")];

/// The npm packages of the agent programs.
const PACKAGES: [(Provider, &str); 2] =
    [(Provider::ClaudeCli, "@anthropic-ai/claude-code"), (Provider::CodexCli, "@openai/codex")];

/// Selects and creates the workers of tasks.
pub(crate) struct WorkerFactory<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) policy: &'a Arc<Policy>,
    /// The root of the project.
    pub(crate) root: &'a Path,
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
            Fault::provider_not_available("settings", message, about).into()
        })
    }

    /// Returns the provider of this task.
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

    /// Returns the model of a task.
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

    /// Creates the worker of a task.
    pub(crate) fn create_worker(&self, spec: &TaskSpec) -> Result<TaskWorker, CliError> {
        let provider = self.provider_for(spec)?;
        self.check_address(provider)?;
        Ok(match provider {
            Provider::ClaudeCli => TaskWorker::Agent(Arc::new(self.create_claude(spec)?)),
            Provider::CodexCli => TaskWorker::Agent(Arc::new(self.create_codex()?)),
            Provider::Script => TaskWorker::Agent(Arc::new(self.create_scripted(spec)?)),
            Provider::AnthropicApi => {
                let settings = self.service_settings(provider, spec)?;
                self.create_model_worker(spec, Arc::new(AnthropicApi::new(settings)))
            }
            Provider::OpenAiApi => {
                let dialect = match self.agent_settings().dialect {
                    ApiDialectSetting::Chat => openai_api::OpenAiDialect::Chat,
                    ApiDialectSetting::Responses => openai_api::OpenAiDialect::Responses,
                };
                let settings = self.service_settings(provider, spec)?;
                let effort = self.agent_settings().effort.clone();
                self.create_model_worker(spec, Arc::new(OpenAiApi::new(settings, dialect, effort)))
            }
        })
    }

    const fn agent_settings(&self) -> &AgentSettings {
        &self.settings.agent
    }

    fn create_claude(&self, spec: &TaskSpec) -> Result<ClaudeCli, CliError> {
        Ok(ClaudeCli::new(claude_cli::ClaudeSettings {
            program: self.find_program(Provider::ClaudeCli, "claude")?,
            guard: self.guard.clone(),
            account: self.account_for(Provider::ClaudeCli),
            home: self.homes.join("claude"),
            base_url: self.base_url(Provider::ClaudeCli),
            environment: service::agent_environment(),
            permissions: match self.agent_settings().permissions {
                AgentPermissionsSetting::Listed => {
                    claude_cli::ClaudePermissions::Listed(self.shell_rules(spec))
                }
                AgentPermissionsSetting::Everything => claude_cli::ClaudePermissions::Skipped,
            },
            sandboxed: true,
            own_tools: Some(self.guard.executable.clone()),
            arguments: self.agent_settings().args.clone(),
        }))
    }

    /// Returns the commands that Claude Code may run without asking, in its own syntax.
    fn shell_rules(&self, spec: &TaskSpec) -> claude_cli::ShellRules {
        let Settings { validate, commands, .. } = self.settings;
        let checks = spec.validate.as_ref().unwrap_or(&validate.pre_commit);
        let checks = checks.iter().map(|check| format!("Bash({check})"));
        let allowed = commands.allowed.iter().map(|command| format!("Bash({command}:*)"));
        claude_cli::ShellRules {
            allowed: checks.chain(allowed).collect(),
            blocked: commands.blocked.iter().map(|command| format!("Bash({command}:*)")).collect(),
            only_allowed: !commands.allowed.is_empty(),
        }
    }

    fn create_codex(&self) -> Result<CodexCli, CliError> {
        Ok(CodexCli::new(codex_cli::CodexSettings {
            program: codex_cli::find_native_program(
                &self.find_program(Provider::CodexCli, "codex")?,
            ),
            guard: self.guard.clone(),
            account: self.account_for(Provider::CodexCli),
            home: self.homes.join("codex"),
            base_url: self.base_url(Provider::CodexCli),
            environment: service::agent_environment(),
            access: match self.agent_settings().permissions {
                AgentPermissionsSetting::Listed => codex_cli::CodexAccess::Workspace,
                AgentPermissionsSetting::Everything => codex_cli::CodexAccess::Full,
            },
            own_tools: Some(self.guard.executable.clone()),
            overrides: self.agent_settings().args.clone(),
        }))
    }

    fn create_scripted(&self, spec: &TaskSpec) -> Result<ScriptedAgent, CliError> {
        let Some(name) = &self.agent_settings().script else {
            let problem =
                InputProblem::at_place(Code::ConfigMissing, "agent.script", "it is not set");
            let problem = problem.with_field("agent.script");
            let hint = "the script provider plays a file: agent.script = \"agent.toml\"";
            return Err(CliError::Problems(vec![problem.with_hint(hint)]));
        };
        let path = self.root.join(name.replace("{task}", &spec.name));
        let place = path.display().to_string();
        let text = fs::read_to_string(&path).map_err(|source| {
            let code = match source.kind() {
                io::ErrorKind::NotFound => Code::ConfigMissing,
                _ => Code::ConfigParseError,
            };
            let problem =
                InputProblem::at_place(code, place.clone(), format!("cannot read it: {source}"));
            CliError::Problems(vec![problem.with_field("agent.script")])
        })?;
        Ok(ScriptedAgent::new(AgentScript::parse(&text, &place)?, self.guard.clone()))
    }

    fn create_model_worker(&self, spec: &TaskSpec, model: Arc<dyn Model>) -> TaskWorker {
        let run = &self.settings.run;
        let agent = self.agent_settings();
        let name = self.model_for(spec);
        TaskWorker::Model(Arc::new(ModelWorker {
            model,
            settings: unstuck_runner::agent::ModelCallLimits {
                output_tokens_max: agent.output_tokens_max.0,
                price: name.and_then(|name| Prices::default().find_price(&name)),
                call_time_max: match self.settings.budget.per_task.time {
                    Some(_) => run.attempt.0,
                    None => Span::ZERO,
                },
            },
            commands: self.command_rules(),
            network: self.network,
            egress: tool_egress(self.settings),
            declarable: self.declarable_resources(),
            policy: Arc::clone(self.policy),
        }))
    }

    fn service_settings(
        &self,
        provider: Provider,
        spec: &TaskSpec,
    ) -> Result<provider::ModelSettings, CliError> {
        let Some(model) = self.model_for(spec) else {
            let message = format!("{} needs to know which model", provider.name());
            let problem = InputProblem::at_place(Code::ConfigMissing, "agent.model", message);
            let problem = problem.with_field("agent.model").with_hint("set it, or use --model");
            return Err(CliError::Problems(vec![problem]));
        };
        let run = &self.settings.run;
        Ok(provider::ModelSettings {
            model,
            base_url: self.base_url(provider),
            proxies: service::environment_proxies(),
            credential: self.credential_for(provider),
            variable: Some(self.key_variable(provider)),
            deadlines: TurnDeadlines {
                first_byte: run.first_sign.0.into(),
                idle: run.idle.0.into(),
                total: run.attempt.0.into(),
                ..TurnDeadlines::default()
            },
            prices: Prices::default(),
        })
    }

    /// Returns the resources that declared actions may use, and the actions that need no approval.
    pub(crate) fn declarable_resources(&self) -> DeclarationPolicy {
        let allowed = self.settings.actions.allowed.iter().map(|rule| ActionRule {
            command: rule.command.clone(),
            hosts: rule.hosts.clone(),
            secrets: rule.secrets.iter().cloned().collect(),
        });
        let allowed: Vec<ActionRule> = allowed.collect();
        let secrets = allowed.iter().flat_map(|rule| rule.secrets.iter().cloned()).collect();
        DeclarationPolicy { secrets, pull_request: None, allowed }
    }

    /// Returns the rules about commands from the settings.
    pub(crate) fn command_rules(&self) -> CommandRules {
        let commands = &self.settings.commands;
        CommandRules {
            allowed: commands.allowed.clone(),
            blocked: commands.blocked.clone(),
            unlisted: commands.allow_destructive.clone(),
            network: commands.network.is_open(),
            environment: commands.env.clone(),
        }
    }

    /// Finds an agent program on the path.
    fn find_program(&self, provider: Provider, usual: &str) -> Result<PathBuf, CliError> {
        let name = self.agent_settings().program.as_deref().unwrap_or(usual);
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
            _ => ("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json"),
        };
        let login = env::var_os(variable).map_or_else(|| home_folder().join(usual), PathBuf::from);
        let named = self.agent_settings().key_env.is_some();
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
        if let Some(named) = &self.agent_settings().key_env {
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

    fn credential_for(&self, provider: Provider) -> Option<Credential> {
        environment_variable(&self.key_variable(provider)).and_then(|key| Credential::new(&key))
    }
}

/// Variables from which Claude Code reads a key or a long-lived token.
const OWN: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// The variable from which `OpenAI` and compatible programs read a key.
const OPENAI: &str = "OPENAI_API_KEY";

/// All variables that hold a key unless the settings name another.
pub(crate) const KEYS: [&str; 4] = [OWN[0], OWN[1], OWN[2], OPENAI];

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

//! Creates the worker of a task from the settings: an agent program, a model or a script.

use std::fs;
use std::io;
use std::sync::Arc;

use unstuck_core::fault::Code;
use unstuck_core::plan::TaskSpec;
use unstuck_runner::build::{ModelWorker, TaskWorker};
use unstuck_world::commands::CommandRules;
use unstuck_world::model::Model;
use unstuck_world::provider::anthropic_api::AnthropicApi;
use unstuck_world::provider::claude_cli::{self, ClaudeCli};
use unstuck_world::provider::codex_cli::{self, CodexCli};
use unstuck_world::provider::openai_api::{self, OpenAiApi};
use unstuck_world::provider::prices::Prices;
use unstuck_world::provider::script::{AgentScript, ScriptedAgent};
use unstuck_world::provider::{ModelSettings, TurnDeadlines};
use unstuck_world::tool::{ActionRule, DeclarationPolicy};

use super::provider::{WorkerFactory, agent_environment, environment_proxies};
use super::sandbox::tool_egress;
use crate::error::CliError;
use crate::problem::InputProblem;
use crate::settings::{AgentPermissionsSetting, ApiDialectSetting, Provider, Settings};

impl WorkerFactory<'_> {
    pub(crate) fn create_worker(&self, spec: &TaskSpec) -> Result<TaskWorker, CliError> {
        let provider = self.provider_for(spec)?;
        self.check_address(provider)?;
        Ok(match provider {
            Provider::ClaudeCli => TaskWorker::Agent(Arc::new(self.create_claude(spec)?)),
            Provider::CodexCli => TaskWorker::Agent(Arc::new(self.create_codex(spec)?)),
            Provider::Script => TaskWorker::Agent(Arc::new(self.create_scripted(spec)?)),
            Provider::AnthropicApi => {
                let settings = self.service_settings(provider, spec)?;
                self.create_model_worker(spec, Arc::new(AnthropicApi::new(settings)))
            }
            Provider::OpenAiApi => {
                let dialect = match self.settings.agent.dialect {
                    ApiDialectSetting::Chat => openai_api::OpenAiDialect::Chat,
                    ApiDialectSetting::Responses => openai_api::OpenAiDialect::Responses,
                };
                let settings = self.service_settings(provider, spec)?;
                let effort = self.settings.agent.effort.clone();
                self.create_model_worker(spec, Arc::new(OpenAiApi::new(settings, dialect, effort)))
            }
        })
    }

    fn create_claude(&self, spec: &TaskSpec) -> Result<ClaudeCli, CliError> {
        Ok(ClaudeCli::new(claude_cli::ClaudeSettings {
            program: self.find_program(Provider::ClaudeCli, "claude")?,
            guard: self.guard.clone(),
            account: self.account_for(Provider::ClaudeCli),
            home: self.homes.join("claude"),
            base_url: self.base_url(Provider::ClaudeCli),
            environment: agent_environment(),
            permissions: match self.settings.agent.permissions {
                AgentPermissionsSetting::Listed => {
                    claude_cli::ClaudePermissions::Listed(self.shell_rules(spec))
                }
                AgentPermissionsSetting::Everything => claude_cli::ClaudePermissions::Skipped,
            },
            sandboxed: true,
            own_tools: Some(self.guard.executable.clone()),
            arguments: self.settings.agent.args.clone(),
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

    /// Returns the rules about Codex's commands, if the settings list any. The checks may run.
    fn codex_rules(&self, spec: &TaskSpec) -> Option<CommandRules> {
        let Settings { agent, validate, commands, .. } = self.settings;
        let is_listed = agent.permissions == AgentPermissionsSetting::Listed;
        let has_rules = !commands.allowed.is_empty() || !commands.blocked.is_empty();
        let mut rules = (is_listed && has_rules).then(|| self.command_rules())?;
        if !rules.allowed.is_empty() {
            let checks = spec.validate.as_ref().unwrap_or(&validate.pre_commit);
            rules.allowed.extend(checks.iter().cloned());
        }
        Some(rules)
    }

    fn create_codex(&self, spec: &TaskSpec) -> Result<CodexCli, CliError> {
        Ok(CodexCli::new(codex_cli::CodexSettings {
            program: codex_cli::find_native_program(
                &self.find_program(Provider::CodexCli, "codex")?,
            ),
            guard: self.guard.clone(),
            account: self.account_for(Provider::CodexCli),
            home: self.homes.join("codex"),
            base_url: self.base_url(Provider::CodexCli),
            environment: agent_environment(),
            access: match self.settings.agent.permissions {
                AgentPermissionsSetting::Listed => codex_cli::CodexAccess::Workspace,
                AgentPermissionsSetting::Everything => codex_cli::CodexAccess::Full,
            },
            commands: self.codex_rules(spec),
            own_tools: Some(self.guard.executable.clone()),
            overrides: self.settings.agent.args.clone(),
        }))
    }

    fn create_scripted(&self, spec: &TaskSpec) -> Result<ScriptedAgent, CliError> {
        let Some(name) = &self.settings.agent.script else {
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
        let agent = &self.settings.agent;
        let name = self.model_for(spec);
        TaskWorker::Model(Arc::new(ModelWorker {
            model,
            settings: unstuck_runner::agent::ModelCallLimits {
                output_tokens_max: agent.output_tokens_max.0,
                price: name.and_then(|name| Prices::default().find_price(&name)),
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
    ) -> Result<ModelSettings, CliError> {
        let Some(model) = self.model_for(spec) else {
            let message = format!("{} needs to know which model", provider.name());
            let problem = InputProblem::at_place(Code::ConfigMissing, "agent.model", message);
            let problem = problem.with_field("agent.model").with_hint("set it, or use --model");
            return Err(CliError::Problems(vec![problem]));
        };
        let run = &self.settings.run;
        Ok(ModelSettings {
            model,
            base_url: self.base_url(provider),
            proxies: environment_proxies(),
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
}

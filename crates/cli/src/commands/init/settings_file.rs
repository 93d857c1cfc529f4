//! Composes the first `unstuck.toml` of a project from the findings, with comments.

use std::fmt::Write as _;

use toml::Value;

use super::found::ProjectFindings;
use crate::settings::Provider;

/// Providers proposed for a key without an agent program; an API needs a model.
const MODELS: [(&str, Provider, &str); 2] = [
    ("ANTHROPIC_API_KEY", Provider::AnthropicApi, "claude-sonnet-5-5"),
    ("OPENAI_API_KEY", Provider::OpenAiApi, "gpt-5.4"),
];

const HEAD: &str = "\
# Settings of Unstuck for this project. Settings that are not listed have their defaults.
# `unstuck config` shows every setting, `unstuck doctor` checks whether a run can start.
";

const BUDGET: &str = "
[budget.per_day]
# The most that may be spent per day; without it there is no limit.
# money = \"$20\"
";

pub(super) fn compose_settings(found: &ProjectFindings) -> String {
    let mut text = HEAD.to_owned();
    text.push_str(&agent_section(found));
    text.push_str(&run_section(found));
    text.push_str(&validate_section(found));
    text.push_str(&scope_section(found));
    text.push_str(&wall_section(found));
    text.push_str(BUDGET);
    text
}

fn agent_section(found: &ProjectFindings) -> String {
    let mut text = String::from(
        "\n[agent]\n\
         # The agent that works on the tasks: claude-cli, codex-cli, anthropic-api or openai-api.\n\
         # Without it, the first agent program that is installed.\n",
    );
    let with_key = MODELS.iter().find(|(key, ..)| found.keys.contains(key));
    match (found.agents.first().copied(), with_key) {
        (None, Some((_, provider, model))) => {
            put_setting(&mut text, "provider", &Value::from(provider.name()));
            put_setting(&mut text, "model", &Value::from(*model));
        }
        (first, _) => {
            let name = first.unwrap_or(Provider::ClaudeCli).name();
            put_commented(&mut text, "provider", &Value::from(name));
        }
    }
    text
}

fn run_section(found: &ProjectFindings) -> String {
    let mut text = String::from(
        "\n[run]\n\
         # Number of tasks worked on at the same time.\n\
         # jobs = 1\n\
         # Commands that run once in every new worktree, before an agent starts.\n",
    );
    if found.setup.is_empty() {
        text.push_str("# setup = []\n");
    } else {
        put_setting(&mut text, "setup", &toml_list(&found.setup));
    }
    if !found.shareable.is_empty() {
        text.push_str(
            "# Paths that worktrees share with your own tree: a folder is linked, a file is copied.\n\
             # Share a build folder only with jobs = 1: only one task at a time can use it.\n",
        );
        put_commented(&mut text, "share", &toml_list(&found.shareable));
    }
    text
}

fn validate_section(found: &ProjectFindings) -> String {
    let mut text = String::from(
        "\n[validate]\n\
         # Commands that have to pass before anything is committed. Unstuck runs them itself.\n",
    );
    if found.checks.is_empty() {
        text.push_str("# No test command was found. Without one, nothing is checked.\n");
        put_commented(&mut text, "pre_commit", &toml_list(&["make test"]));
    } else {
        put_setting(&mut text, "pre_commit", &toml_list(&found.checks));
    }
    text.push_str(
        "# Files that are restored before the checks run, so that no agent makes a check pass by changing it.\n\
         # A task may change them only if its scope names them.\n",
    );
    if found.protect.is_empty() {
        put_commented(&mut text, "protect", &toml_list(&["tests/**"]));
    } else {
        put_setting(&mut text, "protect", &toml_list(&found.protect));
    }
    if found.checks_download {
        text.push_str(
            "# The checks download dependencies, and may reach only the package registries.\n",
        );
        put_setting(&mut text, "network", &Value::from("registries"));
    }
    text
}

/// Returns the section for package managers that keep downloads in the home folder and read them again.
fn wall_section(found: &ProjectFindings) -> String {
    if found.private.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n[wall]\n\
         # Download folders: each task gets empty ones of its own, and yours stay as they are.\n",
    );
    put_setting(&mut text, "private", &toml_list(&found.private));
    text
}

/// Returns the section, if there are paths to ask about.
fn scope_section(found: &ProjectFindings) -> String {
    if found.ask_first.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n[scope]\n# Changes of these files need your approval, because they run elsewhere.\n",
    );
    put_setting(&mut text, "ask_first", &toml_list(&found.ask_first));
    text
}

fn toml_list<T: AsRef<str>>(items: &[T]) -> Value {
    Value::Array(items.iter().map(|item| Value::from(item.as_ref())).collect())
}

// Writing to a string cannot fail, so the result is ignored.
fn put_setting(text: &mut String, key: &str, value: &Value) {
    let _ = writeln!(text, "{key} = {value}");
}

fn put_commented(text: &mut String, key: &str, value: &Value) {
    let _ = writeln!(text, "# {key} = {value}");
}

#[cfg(test)]
mod tests {
    use unstuck_world::provider::prices::Prices;

    use super::*;
    use crate::commands::init::found::InitRepositoryState;
    use crate::settings::Settings;

    fn nothing() -> ProjectFindings {
        ProjectFindings {
            git: InitRepositoryState::Ready,
            languages: Vec::new(),
            checks: Vec::new(),
            setup: Vec::new(),
            private: Vec::new(),
            checks_download: false,
            protect: Vec::new(),
            ask_first: Vec::new(),
            shareable: Vec::new(),
            not_ignored: Vec::new(),
            agents: Vec::new(),
            keys: Vec::new(),
        }
    }

    fn settings(text: &str) -> Settings {
        toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn where_nothing_was_found_everything_has_its_default() {
        assert_eq!(settings(&compose_settings(&nothing())), Settings::default());
    }

    #[test]
    fn what_is_only_mentioned_can_be_used_by_taking_the_mark_away() {
        let found = ProjectFindings { shareable: vec!["target", ".env"], ..nothing() };
        let keys = ["provider", "jobs", "setup", "share", "pre_commit", "protect", "money"];
        let mut text = compose_settings(&found);
        for key in keys {
            assert!(text.contains(&format!("# {key} = ")), "{key} in {text}");
            text = text.replace(&format!("# {key} = "), &format!("{key} = "));
        }
        let read = settings(&text);
        assert_eq!(read.run.share, ["target", ".env"]);
        assert_eq!(read.agent.provider, Some(Provider::ClaudeCli));
    }

    #[test]
    fn what_was_found_is_what_is_set() {
        let found = ProjectFindings {
            checks: vec!["npm test".to_owned()],
            setup: vec!["npm ci".to_owned()],
            protect: vec!["tests/**".to_owned()],
            ..nothing()
        };
        let read = settings(&compose_settings(&found));
        assert_eq!(read.validate.pre_commit, ["npm test"]);
        assert_eq!(read.validate.protect, ["tests/**"]);
        assert_eq!(read.run.setup, ["npm ci"]);
        assert_eq!(read.agent.provider, None);
    }

    #[test]
    fn a_key_without_an_agent_program_names_its_service_and_a_model_with_a_price() {
        for (key, provider, model) in MODELS {
            let read =
                settings(&compose_settings(&ProjectFindings { keys: vec![key], ..nothing() }));
            assert_eq!(read.agent.provider, Some(provider));
            assert_eq!(read.agent.model.as_deref(), Some(model));
            assert!(Prices::default().find_price(model).is_some(), "{model}");
            let agents = vec![Provider::CodexCli];
            let read = settings(&compose_settings(&ProjectFindings {
                keys: vec![key],
                agents,
                ..nothing()
            }));
            assert_eq!(read.agent.provider, None);
        }
    }
}

//! Irreversible actions that a model declares, and the specification made from them.
//!
//! The specification is complete: the call is stored with the intent, so that a holder that
//! recovers after a crash calls and looks up the same. Secrets are named by their variable, and
//! only variables and places listed in the settings are accepted: an agent that was manipulated
//! must not be able to send a secret to a place of its choice.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use unstuck_core::engine::Reconciled;
use unstuck_core::fault::{Fault, Permission};
use unstuck_core::plan::{
    Call, CommandCall, HttpCall, MutationKind, MutationSpec, ProbeCommand, PullRequest,
    render_command_line,
};
use unstuck_core::time::Span;

use super::allow::{
    ActionPermit, ActionReach, ActionRule, TEXT_BYTES_MAX, as_shell_line, render_action,
};
use super::output::bad_input_fault;
use super::push::DeclaredPush;
use super::wish::{Declaration, IrreversibleAction};
use crate::commands::{CommandPolicy, list_programs};

const TOOL: &str = "mutate";
pub(super) const KEY_BYTES_MAX: usize = 200;
const TIMEOUT_MAX: Span = Span::from_hours(1);

/// The secrets, places and rules for actions that an agent declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeclarationPolicy {
    /// The variables of secrets that actions may name.
    pub secrets: BTreeSet<String>,
    /// The place and the token of pull requests; `None` if they are not set up.
    pub pull_request: Option<PullRequest>,
    /// The rules for commands and requests that are performed without asking the operator.
    pub allowed: Vec<ActionRule>,
}

impl DeclarationPolicy {
    /// Builds the specification of a declared action. A forbidden command, or a variable or place
    /// that is not listed, is a fault.
    pub fn build_spec(
        &self,
        declared: &Declaration,
        commands: &CommandPolicy,
    ) -> Result<MutationSpec, Box<Fault>> {
        let key = declared.key.trim();
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            let why = format!("the key has to have 1 to {KEY_BYTES_MAX} bytes");
            return Err(bad_input_fault(TOOL, &why));
        }
        let spec = match &declared.action {
            IrreversibleAction::Command { command, secrets, timeout_seconds } => {
                commands.check_line(command).map_err(Box::new)?;
                self.check_secrets(secrets.iter())?;
                let push = DeclaredPush::parse(command).transpose();
                let push = push.map_err(|why| bad_input_fault(TOOL, why))?;
                let call = build_shell_call(command, secrets, *timeout_seconds);
                let spec = make_permanent(MutationSpec::from_call(key, Call::Command(call)));
                let spec = match split_plain_line(command).filter(|_| secrets.is_empty()) {
                    Some(call) => MutationSpec { arguments: call.digest(), ..spec },
                    None => spec,
                };
                // The remote says whether it has the commit, and may get it twice.
                MutationSpec { idempotent: push.is_some(), probe: push.is_some(), ..spec }
            }
            IrreversibleAction::Http { secrets, .. } => {
                self.check_secrets(secrets.iter().map(|header| &header.variable))?;
                make_permanent(MutationSpec::from_call(
                    key,
                    Call::Http(build_http_call(&declared.action)),
                ))
            }
            IrreversibleAction::Push {} => build_push(key),
            IrreversibleAction::PullRequest { .. } => {
                let call = self.build_pull_request(&declared.action)?;
                MutationSpec::from_call(key, Call::PullRequest(call))
            }
        };
        let spec = match &declared.probe {
            Some(line) if commands.check_line(line).map_err(Box::new)?.is_some() => {
                return Err(bad_input_fault(TOOL, "a probe must not do what cannot be taken back"));
            }
            Some(line) => spec.with_probe_command(build_probe(line)),
            None => spec,
        };
        if render_action(&spec).len() > TEXT_BYTES_MAX {
            let why = "it is too long for a person to read; put it into a script or a file";
            return Err(bad_input_fault(TOOL, why));
        }
        Ok(MutationSpec { requires: declared.after.clone(), ..spec })
    }

    /// Returns the sentence that tells the agent when an action is performed; `before` is the
    /// outcome of an earlier use of its key, `approved` says whether the operator allowed the action
    /// already.
    pub fn explain_timing(
        &self,
        spec: &MutationSpec,
        before: Option<Reconciled>,
        approved: bool,
    ) -> &'static str {
        match before {
            Some(Reconciled::Applied) => {
                "not again: it was done before under this key. Another action needs another key"
            }
            Some(Reconciled::Skipped) => {
                "not at all: a person left it out before. Another action needs another key"
            }
            Some(Reconciled::NotApplied) | None if approved || self.find_permit(spec).is_some() => {
                "once, after the checks"
            }
            Some(Reconciled::NotApplied) | None => {
                "once, after the checks and when a person has said yes to it"
            }
        }
    }

    /// Returns the permissions of an action that an agent's process composed. It has to be one that
    /// [`build_spec`](Self::build_spec) could have built, and a rule has to cover it, or the operator has
    /// to have approved its exact text: `approved` holds those texts. The declaring process is not
    /// trusted to have asked. No rule applies to an action that runs code which the work changed:
    /// `changed` shows that code.
    pub fn permit_action(
        &self,
        spec: &MutationSpec,
        commands: &CommandPolicy,
        approved: &BTreeSet<String>,
        changed: Option<&str>,
    ) -> Result<ActionPermit, Box<Fault>> {
        match spec.call.as_deref() {
            None => {}
            Some(Call::Command(call)) => {
                admit_line(commands, as_shell_line(&call.program, &call.arguments))?;
                self.check_secrets(call.variables.iter())?;
            }
            Some(Call::Http(call)) => {
                self.check_secrets(call.secrets.iter().map(|header| &header.variable))?;
            }
            Some(Call::PullRequest(wanted)) => self.check_pull_request(wanted)?,
        }
        if let Some(probe) = &spec.look_up {
            admit_line(commands, as_shell_line(&probe.program, &probe.arguments))?;
        }
        let ruled = self.find_permit(spec);
        let text = match (&ruled, changed) {
            (Some(_), None) => return Ok(ruled.unwrap_or_default()),
            (_, Some(changed)) => format!("{}\n\n{changed}", render_action(spec)),
            (None, None) => render_action(spec),
        };
        if approved.contains(&text) {
            // The operator approved the code that it runs; its permissions are still those of the
            // rule.
            return Ok(ruled.unwrap_or_default());
        }
        Err(not_allowed_fault(spec, text, changed.is_some()))
    }

    /// Returns the permissions that the rules give to an action; `None` if no rule covers it. The
    /// call and the probe may be covered by different rules. Pushes and pull requests go where the
    /// settings say.
    fn find_permit(&self, spec: &MutationSpec) -> Option<ActionPermit> {
        let hosts = |rule: &ActionRule| ActionReach::Hosts(rule.hosts.clone());
        let mut secrets = BTreeSet::new();
        let call = match spec.call.as_deref() {
            None | Some(Call::PullRequest(_)) => ActionReach::Anything,
            Some(call) => {
                let rule = self.allowed.iter().find(|rule| rule.covers_call(call))?;
                secrets.clone_from(&rule.secrets);
                hosts(rule)
            }
        };
        let probe = match &spec.look_up {
            None => call.clone(),
            Some(probe) => hosts(self.allowed.iter().find(|rule| rule.covers_probe(probe))?),
        };
        Some(ActionPermit { call, probe, secrets })
    }

    fn check_pull_request(&self, wanted: &PullRequest) -> Result<(), Box<Fault>> {
        let said = |place: &PullRequest| PullRequest {
            title: wanted.title.clone(),
            body: wanted.body.clone(),
            base: wanted.base.clone(),
            draft: wanted.draft,
            ..place.clone()
        };
        match &self.pull_request {
            Some(place) if said(place) == *wanted => Ok(()),
            _ => Err(bad_input_fault(TOOL, "pull requests go where the settings say")),
        }
    }

    fn check_secrets<'a>(
        &self,
        mut named: impl Iterator<Item = &'a String>,
    ) -> Result<(), Box<Fault>> {
        match named.find(|variable| !self.secrets.contains(*variable)) {
            None => Ok(()),
            Some(other) => {
                Err(bad_input_fault(TOOL, &format!("{other} may not be named by an action")))
            }
        }
    }

    /// Builds a pull request: the text comes from the model, the repository and the token from the
    /// settings.
    fn build_pull_request(&self, wanted: &IrreversibleAction) -> Result<PullRequest, Box<Fault>> {
        let (Some(place), IrreversibleAction::PullRequest { title, body, base, draft }) =
            (&self.pull_request, wanted)
        else {
            return Err(bad_input_fault(TOOL, "no place for pull requests is set"));
        };
        Ok(PullRequest {
            title: title.clone(),
            body: body.clone(),
            base: base.clone().unwrap_or_else(|| place.base.clone()),
            draft: *draft,
            ..place.clone()
        })
    }
}

/// Builds the fault of an action that no rule and no approval allows; the operator is asked, and
/// reads its whole text.
fn not_allowed_fault(spec: &MutationSpec, text: String, is_changed: bool) -> Box<Fault> {
    let message = if is_changed {
        "this action runs what the work itself has changed, so it needs your leave"
    } else {
        "no rule of actions.allowed covers this action, so it needs your leave"
    };
    let message = message.to_owned();
    let context = Permission {
        commands: vec![text.clone()],
        what: text,
        action: Some(spec.key.clone()),
        request: matches!(spec.call.as_deref(), Some(Call::Http(_))),
        ..Permission::default()
    };
    Box::new(Fault::permission_command_blocked(TOOL, message, context))
}

fn admit_line(commands: &CommandPolicy, line: Option<&str>) -> Result<(), Box<Fault>> {
    let line = line.ok_or_else(|| bad_input_fault(TOOL, "a command is a line of shell"))?;
    commands.check_line(line).map(drop).map_err(Box::new)
}

/// Returns the shell lines that an action runs: its call and its probe.
pub fn shell_lines(spec: &MutationSpec) -> Vec<&str> {
    let probe = spec.look_up.as_ref();
    let probe = probe.and_then(|probe| as_shell_line(&probe.program, &probe.arguments));
    command_line(spec).into_iter().chain(probe).collect()
}

/// Returns the shell line of an action that is a command.
pub fn command_line(spec: &MutationSpec) -> Option<&str> {
    match spec.call.as_deref() {
        Some(Call::Command(call)) => as_shell_line(&call.program, &call.arguments),
        _ => None,
    }
}

/// Returns the call without a shell that a line stands for. It is the same action where a script performs it.
fn split_plain_line(line: &str) -> Option<Call> {
    let commands = list_programs(line);
    let [words] = commands.as_slice() else { return None };
    let (program, arguments) = words.split_first()?;
    let is_plain = render_command_line(program, arguments) == line.trim();
    is_plain.then(|| {
        let arguments = arguments.to_vec();
        Call::Command(CommandCall { program: program.clone(), arguments, ..CommandCall::default() })
    })
}

fn build_shell_call(line: &str, secrets: &[String], timeout_seconds: Option<u64>) -> CommandCall {
    let call = CommandCall {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        variables: secrets.to_vec(),
        ..CommandCall::default()
    };
    CommandCall { timeout_ms: clamp_timeout(timeout_seconds, call.timeout_ms), ..call }
}

fn build_http_call(wanted: &IrreversibleAction) -> HttpCall {
    let usual = HttpCall::default();
    let IrreversibleAction::Http {
        url,
        method,
        headers,
        secrets,
        body,
        look_up_url,
        timeout_seconds,
    } = wanted
    else {
        return usual;
    };
    HttpCall {
        method: method.clone().unwrap_or(usual.method),
        url: url.clone(),
        headers: headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        secrets: secrets.clone(),
        body: body.clone(),
        look_up_url: look_up_url.clone(),
        timeout_ms: clamp_timeout(*timeout_seconds, usual.timeout_ms),
    }
}

/// Makes the key permanent, because a model's key for a charge or a release holds for good: another
/// task or a later build that declares the same key does not perform it again. Pushes and pull
/// requests belong to their branch.
fn make_permanent(spec: MutationSpec) -> MutationSpec {
    MutationSpec { permanent: true, ..spec }
}

fn build_push(key: &str) -> MutationSpec {
    MutationSpec {
        key: key.to_owned(),
        kind: MutationKind::Push,
        idempotent: true,
        probe: true,
        ..MutationSpec::default()
    }
}

fn build_probe(line: &str) -> ProbeCommand {
    ProbeCommand {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        ..ProbeCommand::default()
    }
}

fn clamp_timeout(seconds: Option<u64>, usual: Span) -> Span {
    seconds.map_or(usual, |seconds| Span::from_secs(seconds).min(TIMEOUT_MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unstuck_core::fault::{Code, Kind};
    use unstuck_core::plan::SecretHeader;

    use super::*;
    use crate::commands::CommandRules;
    use crate::egress::HostPattern;
    use crate::tool::{ModelStatement, ToolCall};

    fn declared(input: &serde_json::Value) -> Result<MutationSpec, Box<Fault>> {
        let may = DeclarationPolicy {
            secrets: ["TOKEN".to_owned()].into(),
            pull_request: Some(PullRequest {
                repository: "ada/shop".to_owned(),
                base: "main".to_owned(),
                ..PullRequest::default()
            }),
            allowed: Vec::new(),
        };
        match ToolCall::parse("mutate", input)? {
            ToolCall::Speak(ModelStatement::Mutate(wish)) => {
                may.build_spec(&wish, &CommandPolicy::new(&CommandRules::default()))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_becomes_an_action_with_all_that_is_needed_to_perform_it() {
        let spec = declared(&json!({"key": "release", "probe": "./released", "after": "push",
            "action": {"kind": "command", "command": "npm publish", "secrets": ["TOKEN"]}}));
        let spec = spec.unwrap();
        let Some(Call::Command(call)) = spec.call.as_deref() else { panic!("{spec:?}") };
        assert_eq!((call.program.as_str(), &call.arguments[1][..]), ("sh", "npm publish"));
        assert_eq!((call.variables.len(), spec.requires.as_deref()), (1, Some("push")));
        assert_eq!(spec.look_up.unwrap().arguments, ["-c", "./released"]);

        let spec = declared(&json!({"key": "order", "action": {"kind": "http", "url": "http://a",
            "look_up_url": "http://a/1", "timeout_seconds": 5,
            "secrets": [{"name": "authorization", "before": "Bearer ", "variable": "TOKEN"}]}}));
        let spec = spec.unwrap();
        assert!(spec.probe && spec.settle_ms == Span::from_secs(5));
        let Some(Call::Http(call)) = spec.call.as_deref() else { panic!("{spec:?}") };
        assert_eq!((call.method.as_str(), call.url.as_str()), ("POST", "http://a"));

        let spec = declared(&json!({"key": "out", "action": {"kind": "git.push"}})).unwrap();
        assert_eq!((spec.kind, spec.probe, spec.call), (MutationKind::Push, true, None));

        let spec = declared(&json!({"key": "pr",
            "action": {"kind": "github.pr", "title": "Shop"}}));
        let spec = spec.unwrap();
        let Some(Call::PullRequest(call)) = spec.call.as_deref() else { panic!("{spec:?}") };
        assert_eq!((call.repository.as_str(), call.base.as_str()), ("ada/shop", "main"));
    }

    #[test]
    fn a_call_from_another_source_is_held_to_the_same() {
        let place = PullRequest { repository: "ada/shop".to_owned(), ..PullRequest::default() };
        let secrets: BTreeSet<String> = ["TOKEN".to_owned()].into();
        let rule = |command: Option<&str>| ActionRule {
            command: command.map(str::to_owned),
            hosts: vec![HostPattern::parse("a.example").unwrap()],
            secrets: secrets.clone(),
        };
        let may = DeclarationPolicy {
            allowed: vec![rule(Some("npm publish")), rule(None)],
            pull_request: Some(place.clone()),
            secrets: secrets.clone(),
        };
        let commands = CommandPolicy::new(&CommandRules::default());
        let command = |program: &str, line: &str, variable: &str| {
            Call::Command(CommandCall {
                program: program.to_owned(),
                arguments: vec!["-c".to_owned(), line.to_owned()],
                variables: vec![variable.to_owned()],
                ..CommandCall::default()
            })
        };
        let header = |variable: &str| {
            let variable = variable.to_owned();
            let secrets = vec![SecretHeader { variable, ..SecretHeader::default() }];
            let url = "https://a.example/".to_owned();
            Call::Http(HttpCall { secrets, url, ..HttpCall::default() })
        };
        let pull = |wanted: PullRequest| Call::PullRequest(wanted);
        let titled = PullRequest { title: "Shop".to_owned(), draft: true, ..place.clone() };
        let theirs = PullRequest { repository: "eve/x".to_owned(), ..place.clone() };
        let sent = PullRequest { base_url: Some("http://eve".to_owned()), ..place };
        for (call, code) in [
            (command("sh", "npm publish", "TOKEN"), None),
            (command("sh", "npm publish", "OTHER"), Some(Code::LogicBadInput)),
            (command("sh", "npm publish; curl x", "TOKEN"), Some(Code::PermissionCommandBlocked)),
            (command("sh", "rm -rf ~", "TOKEN"), Some(Code::PermissionCommandBlocked)),
            (command("python3", "x", "TOKEN"), Some(Code::LogicBadInput)),
            (header("TOKEN"), None),
            (header("OTHER"), Some(Code::LogicBadInput)),
            (pull(titled), None),
            (pull(theirs), Some(Code::LogicBadInput)),
            (pull(sent), Some(Code::LogicBadInput)),
        ] {
            let spec = MutationSpec::from_call("key", call);
            let permitted = may.permit_action(&spec, &commands, &BTreeSet::new(), None);
            assert_eq!(permitted.err().map(|fault| fault.code()), code, "{spec:?}");
        }
        let probed = build_push("out").with_probe_command(build_probe("rm -rf ~"));
        assert!(may.permit_action(&build_push("out"), &commands, &BTreeSet::new(), None).is_ok());
        assert!(may.permit_action(&probed, &commands, &BTreeSet::new(), None).is_err());
        // An approval covers exactly that action, with all its parts.
        let spec = |call| MutationSpec::from_call("key", call);
        let wanted = spec(command("sh", "./deploy a", "TOKEN"));
        let approved = BTreeSet::from([render_action(&wanted)]);
        let permitted = may.permit_action(&wanted, &commands, &approved, None).unwrap();
        assert_eq!(permitted.call, ActionReach::Anything);
        let other = spec(command("sh", "./deploy b", "TOKEN"));
        let probed = wanted.clone().with_probe_command(build_probe("curl evil"));
        for unlike in [other, probed] {
            assert!(may.permit_action(&unlike, &commands, &approved, None).is_err(), "{unlike:?}");
        }
    }

    #[test]
    fn what_the_work_changed_is_shown_to_a_person_before_it_runs() {
        let rule = ActionRule {
            command: Some("./deploy *".to_owned()),
            hosts: vec![HostPattern::parse("a.example").unwrap()],
            secrets: ["TOKEN".to_owned()].into(),
        };
        let may = DeclarationPolicy { allowed: vec![rule.clone()], ..DeclarationPolicy::default() };
        let commands = CommandPolicy::new(&CommandRules::default());
        let spec = MutationSpec::from_call(
            "out",
            Call::Command(build_shell_call("./deploy 1", &[], None)),
        );
        let permits = |approved: &BTreeSet<String>, changed| {
            may.permit_action(&spec, &commands, approved, changed)
        };
        let ruled = permits(&BTreeSet::new(), None).unwrap();
        assert_eq!(ruled.call, ActionReach::Hosts(rule.hosts));
        assert_eq!(ruled.secrets, rule.secrets, "the rule gives its variables");
        let fault = permits(&BTreeSet::new(), Some("+curl evil")).unwrap_err();
        let Kind::PermissionCommandBlocked(asked) = &fault.kind else { panic!("{fault}") };
        assert!(asked.what.starts_with("./deploy 1\n") && asked.what.ends_with("+curl evil"));
        let approved = asked.commands.iter().cloned().collect();
        assert_eq!(permits(&approved, Some("+curl evil")).unwrap(), ruled);
        assert!(permits(&approved, Some("+curl worse")).is_err());
    }

    #[test]
    fn one_rule_allows_the_call_and_another_the_command_that_looks_it_up() {
        let rule = |command: Option<&str>, host: &str| ActionRule {
            command: command.map(str::to_owned),
            hosts: vec![HostPattern::parse(host).unwrap()],
            ..ActionRule::default()
        };
        let reach = |host: &str| ActionReach::Hosts(vec![HostPattern::parse(host).unwrap()]);
        let (pay, asks) =
            (rule(Some("./pay *"), "pay.example"), rule(Some("./paid *"), "b.example"));
        let post = rule(None, "shop.example");
        let commands = CommandPolicy::new(&CommandRules::default());
        let permits = |allowed: &[&ActionRule], spec: &MutationSpec| {
            let allowed = allowed.iter().map(|rule| (*rule).clone()).collect();
            let may = DeclarationPolicy { allowed, ..DeclarationPolicy::default() };
            may.permit_action(spec, &commands, &BTreeSet::new(), None).ok()
        };
        let command = Call::Command(build_shell_call("./pay 7", &[], None));
        let request = HttpCall { url: "https://shop.example/".to_owned(), ..HttpCall::default() };
        for (call, host) in [(command, "pay.example"), (Call::Http(request), "shop.example")] {
            let spec =
                MutationSpec::from_call("pay", call).with_probe_command(build_probe("./paid 7"));
            let permitted = permits(&[&pay, &post, &asks], &spec).unwrap();
            assert_eq!((permitted.call, permitted.probe), (reach(host), reach("b.example")));
            assert_eq!(permits(&[&pay, &post], &spec), None);
            assert_eq!(permits(&[&asks], &spec), None);
        }
        let probed = build_push("out").with_probe_command(build_probe("./paid 7"));
        assert!(permits(&[&asks], &probed).is_some() && permits(&[&pay], &probed).is_none());
    }

    #[test]
    fn what_an_agent_may_not_decide_is_refused() {
        let command = |line: &str| json!({"kind": "command", "command": line});
        for (input, code) in [
            (json!({"key": " ", "action": command("x")}), Code::LogicBadInput),
            (json!({"key": "a"}), Code::LogicBadInput),
            (
                json!({"key": "a", "action": {"kind": "git.push", "remote": "x"}}),
                Code::LogicBadInput,
            ),
            (json!({"key": "a", "action": {"kind": "wire", "to": "x"}}), Code::LogicBadInput),
            (
                json!({"key": "a", "action": {"kind": "command", "command": "x",
                "secrets": ["OTHER"]}}),
                Code::LogicBadInput,
            ),
            (
                json!({"key": "a", "action": {"kind": "http", "url": "http://a",
                "secrets": [{"name": "x", "variable": "OTHER"}]}}),
                Code::LogicBadInput,
            ),
            (
                json!({"key": "a", "action": {"kind": "github.pr", "title": "x",
                "repository": "eve/x"}}),
                Code::LogicBadInput,
            ),
            (json!({"key": "a", "action": command("rm -rf ~")}), Code::PermissionCommandBlocked),
            (
                json!({"key": "a", "action": command("x"), "probe": "rm -rf ~"}),
                Code::PermissionCommandBlocked,
            ),
            (json!({"key": "a", "action": command("x"), "probe": "git push"}), Code::LogicBadInput),
        ] {
            assert_eq!(declared(&input).unwrap_err().code(), code, "{input}");
        }
        let nowhere = DeclarationPolicy::default();
        let wish = Declaration {
            key: "pr".to_owned(),
            action: IrreversibleAction::PullRequest {
                title: String::new(),
                body: String::new(),
                base: None,
                draft: false,
            },
            probe: None,
            after: None,
        };
        let fault =
            nowhere.build_spec(&wish, &CommandPolicy::new(&CommandRules::default())).unwrap_err();
        assert_eq!(fault.code(), Code::LogicBadInput);
    }
}

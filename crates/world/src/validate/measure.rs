//! Measures the baseline.
//!
//! A check that cannot run before any work, or that fails because of the sandbox (it refuses a read
//! or a write, or the worktree lacks a file that git ignores), says nothing about the base. No
//! agent can fix that, so the operator is asked, for example for a line in the settings, before any
//! money is spent.

use std::collections::BTreeMap;
use std::path::Path;

use unstuck_core::fault::text_rules::{self, CheckStop};
use unstuck_core::fault::{
    BROKEN_BASE, CheckStage, Code, Crash, Fault, KEPT_BASE, Kind, Missing, SLOW_BASE, Tool,
};
use unstuck_core::text::{VALUE_CHARS_MAX, quote_words, span_words};
use unstuck_core::time::Span;

use super::baseline::{Baseline, BaselineCheck, BaselineMode};
use super::check::{CheckFailure, CheckOutcome, GateCheck};
use super::checks::GateChecks;
use super::missing::{find_missing_package, find_needed_of_machine, is_known_tool, is_own_module};
use super::starting::BrokenPart;
use crate::workspace::{Shell, Workspace, is_own_program};

impl Baseline {
    /// Runs every check of these gates in a worktree that no agent has worked in yet. A check that
    /// cannot run says nothing about the base, and is a fault; so is one that only the sandbox
    /// makes red.
    pub async fn measure(
        workspace: &Workspace,
        (gates, wanted): (&[&GateChecks], BaselineRequirement<'_>),
        shell: &Shell,
    ) -> Result<Self, Fault> {
        let commit = workspace.resolve_base().await?;
        let changes = workspace.list_changes().await?;
        if let Some(change) = changes.first() {
            let message = format!("{} is changed already", change.path.display());
            let what = "an untouched worktree".to_owned();
            return Err(Fault::precondition_missing("validate:base", message, Missing { what }));
        }
        let shell = &workspace.confine_shell(shell);
        let red = BTreeMap::new();
        let flaky = Vec::new();
        let tests_run = BTreeMap::new();
        let mut baseline = Self { commit, red, flaky, tests_run };
        for checks in gates {
            for check in checks.list_checks() {
                let command = check.command.to_owned();
                match check.run(workspace, shell).await {
                    CheckOutcome::Green(passed) => {
                        baseline.tests_run.extend(passed.tests_run.map(|ran| (command, ran)));
                    }
                    CheckOutcome::GreenWithoutLeftovers(_) => {}
                    CheckOutcome::Flaky => baseline.flaky.push(command),
                    CheckOutcome::Red(red) => {
                        let red = keep_red_check(check, *red, wanted, workspace).await?;
                        baseline.red.insert(command, red);
                    }
                    CheckOutcome::Failed(fault) => return Err(cannot_run_fault(&command, *fault)),
                }
            }
        }
        Ok(baseline)
    }
}

/// Returns what is kept of a check that is red at the base, or the fault of one that says nothing
/// about the base.
async fn keep_red_check(
    check: GateCheck<'_>,
    red: CheckFailure,
    wanted: BaselineRequirement<'_>,
    workspace: &Workspace,
) -> Result<BaselineCheck, Fault> {
    let root = &*workspace.project_folder();
    let command = check.command;
    if let Some(fault) = find_broken_fault(check, &red, wanted, root) {
        return Err(fault);
    }
    let kept = find_fence_fault((command, &red), wanted, workspace).await?;
    if let Some(package) = find_missing_package(&red.output, root) {
        let missing = missing_package_fault(check, red.exit, &package, &red.output);
        return Err(cannot_run_fault(command, missing));
    }
    if let Some(fault) = kept {
        return Err(fault);
    }
    if let Some(needed) = find_needed_of_machine(&red.output).filter(|of| !wanted.is_about(of)) {
        let message = format!("the check `{command}` cannot run here\n{}", red.output);
        let what = format!("{needed}, which the check `{command}` asks for");
        return Err(Fault::precondition_missing("validate:base", message, Missing { what }));
    }
    let stopped = red.stop.as_ref().filter(|stop| !wanted.is_about_stop(stop, root));
    if let Some(stop) = stopped {
        let mut fault = check.stop_fault(stop, &red);
        if matches!(stop, CheckStop::Signal(_)) {
            fault.message = format!("{}\n{}", fault.message, red.output);
        }
        return Err(cannot_run_fault(command, fault));
    }
    let asks = red.failures.tests.is_empty() && asks_for_login(&red);
    let login = text_rules::extract_names(red.output.as_bytes()).login;
    let login = login.filter(|login| asks && !wanted.mentions_word(login));
    if let Some(login) = login {
        let message =
            format!("the check `{command}` cannot run here without a login\n{}", red.output);
        let what = format!("a login (`{login}`), which the check `{command}` asks for");
        return Err(Fault::precondition_missing("validate:base", message, Missing { what }));
    }
    let CheckFailure { exit, output, failures, tests_run, .. } = red;
    Ok(BaselineCheck { gate: check.gate, exit, output, failures, tests_run })
}

/// Returns whether a red check is one of a missing login, and not one that prints how to use a program.
fn asks_for_login(red: &CheckFailure) -> bool {
    let said = text_rules::classify_ended(red.output.as_bytes(), red.exit);
    matches!(said.code, Code::AuthMissing | Code::AuthInvalid | Code::AuthExpired)
}

/// Returns the fault of a check that needs a package which is not installed.
fn missing_package_fault(check: GateCheck<'_>, exit: i32, package: &str, output: &str) -> Fault {
    let tool = Tool { command: Some(package.to_owned()), exit: Some(exit), ..Tool::default() };
    let message = format!("{package} is not installed\n{output}");
    Fault::tool_missing(check.fault_source(), message, tool)
}

/// Returns the fault of a check that cannot run at the base. The operator is asked before any money
/// is spent; an outage is returned as it is, because it passes by itself.
fn cannot_run_fault(command: &str, fault: Fault) -> Fault {
    if let Kind::OperationTimeout(of) = &fault.kind {
        let limit = match of.limit_ms {
            ..=1_000 => "one second".to_owned(),
            limit_ms => span_words(Span::from_millis(limit_ms)),
        };
        let took = format!("took longer than {limit}");
        let output = fault.cause.as_deref().unwrap_or("it wrote nothing");
        let message = format!("{} (validate.timeout)\n{output}", fault.message);
        let what = command.to_owned();
        return Fault::precondition_missing(SLOW_BASE, message, Missing { what }).with_cause(took);
    }
    let passes = !matches!(
        fault.code(),
        Code::ToolMissing | Code::ToolConfig | Code::ToolCrash | Code::ToolAccessDenied
    );
    if passes {
        return fault;
    }
    if let Kind::ToolCrash(Crash { signal: Some(signal), .. }) = &fault.kind {
        let who = quote_words(command, VALUE_CHARS_MAX).unwrap_or_default();
        let cause = format!("The check {who} was ended by signal {signal}, so {NOT_BEGUN}.");
        let what = command.to_owned();
        return Fault::precondition_missing(BROKEN_BASE, fault.message, Missing { what })
            .with_cause(cause);
    }
    let message = format!("the check `{command}` cannot run here: {}", fault.message);
    let what = match &fault.kind {
        Kind::ToolMissing(Tool { command: Some(missing), .. }) => {
            format!("{missing}, which the check `{command}` needs")
        }
        _ => format!("what the check `{command}` needs to run"),
    };
    Fault::precondition_missing("validate:base", message, Missing { what }).with_cause(fault)
}

/// The consequence, as the operator reads it.
const NOT_BEGUN: &str = "the work has not begun";

/// The conditions of a task for checks at the base.
#[derive(Clone, Copy, Debug)]
pub struct BaselineRequirement<'a> {
    /// The text of the task: an agent has to provide the files that it names.
    pub words: &'a str,
    /// The consequence of a red check.
    pub mode: BaselineMode,
    /// `true` if the task has checks before its commit of its own.
    pub has_own_checks: bool,
    /// Variables that the operator has set and checks do not get.
    pub withheld: &'a [String],
}

impl BaselineRequirement<'_> {
    fn mentions_path(self, path: &Path) -> bool {
        self.mentions_word(&path.file_name().unwrap_or_default().to_string_lossy())
    }

    fn mentions_word(self, name: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        self.words.match_indices(name).any(|(at, _)| {
            !self.words[..at].ends_with(is_part)
                && !self.words[at + name.len()..].starts_with(is_part)
        })
    }

    /// Returns whether the task mentions the tool that needs something of the machine.
    fn is_about(self, needed: &str) -> bool {
        const TOOLS: [&str; 5] = ["Playwright", "Puppeteer", "Cypress", "Docker", "Podman"];
        let mut tools = TOOLS.iter().filter(|tool| needed.contains(**tool));
        let words = self.words.to_lowercase();
        tools.any(|tool| words.contains(&tool.to_lowercase()))
    }

    /// Returns whether the task mentions a part of the project, or the file in which it is defined.
    fn mentions_part(self, part: &BrokenPart) -> bool {
        self.mentions_path(Path::new(&part.name))
            || part.defining_file().is_some_and(|file| self.mentions_word(file))
    }

    /// Returns whether the task mentions a program or module that is not a well-known tool.
    fn is_to_provide(self, name: &str) -> bool {
        let name = name.rsplit('/').next().unwrap_or(name);
        !is_known_tool(name) && self.mentions_word(name)
    }

    /// Returns whether the reason why a check in the folder `root` did not run is the work itself: a part of
    /// the project, a name that the task mentions, or the crash that it is about.
    fn is_about_stop(self, stop: &CheckStop, root: &Path) -> bool {
        match stop {
            CheckStop::Program(program) => {
                is_own_program(program, root) || self.is_to_provide(program)
            }
            CheckStop::Module(module) => {
                let name = module.split('.').next().unwrap_or(module);
                is_own_module(name, root) || self.is_to_provide(name)
            }
            CheckStop::Signal(_) => {
                let words = self.words.to_lowercase();
                ["crash", "segfault", "segmentation"].iter().any(|word| words.contains(word))
            }
        }
    }
}

/// Returns the fault that asks the operator about a check which does not start because of a part of
/// the project of which the task says nothing.
fn find_broken_fault(
    check: GateCheck<'_>,
    red: &CheckFailure,
    wanted: BaselineRequirement<'_>,
    root: &Path,
) -> Option<Fault> {
    let broken = red.broken.as_ref().filter(|broken| !wanted.mentions_part(broken))?;
    let setting = |line: &str| match check.gate {
        CheckStage::PreCommit if wanted.has_own_checks => {
            format!("`validate: {line}` at the top of the task")
        }
        _ => format!("`{} = [{line:?}]` below [validate] in unstuck.toml", check.gate_name()),
    };
    let who = quote_words(check.command, VALUE_CHARS_MAX).unwrap_or_default();
    let fact = broken.render_fact();
    let remedy = broken.render_remedy(check.command, root, setting);
    let cause = format!("The check {who} cannot start: {fact}, so {NOT_BEGUN}. {remedy}");
    let what = check.command.to_owned();
    let fault = Fault::precondition_missing(BROKEN_BASE, &*red.output, Missing { what });
    Some(fault.with_cause(cause))
}

/// Returns the fault that asks the operator about a check which is red at the base because of the
/// sandbox; `None` if it is red for another reason.
async fn find_fence_fault(
    (command, red): (&str, &CheckFailure),
    wanted: BaselineRequirement<'_>,
    workspace: &Workspace,
) -> Result<Option<Fault>, Fault> {
    // Where failures are compared, existing ones may stay.
    if wanted.mode == BaselineMode::Compare && !red.failures.tests.is_empty() {
        return Ok(None);
    }
    let who = quote_words(command, VALUE_CHARS_MAX).unwrap_or_default();
    let denied = red.denied.as_ref().filter(|denied| !denied.warned);
    if let Some(denied) = denied.filter(|denied| !wanted.mentions_path(&denied.path)) {
        let who = format!("the check {who}");
        return Ok(Some(denied.to_fault(KEPT_BASE, (&who, NOT_BEGUN), &red.output)));
    }
    if let Some(port) = red.closed_port {
        let what = format!(
            "`network = [\"localhost:{port}\"]` below [validate] in unstuck.toml (validate.network)"
        );
        let cause = format!(
            "The check {who} was kept from the network: it does not reach the service on port \
             {port} of this machine, so {NOT_BEGUN}."
        );
        let fault = Fault::precondition_missing(KEPT_BASE, &*red.output, Missing { what });
        return Ok(Some(fault.with_cause(cause)));
    }
    let withheld = find_withheld(&red.output, wanted.withheld);
    if let Some(name) = withheld.filter(|name| !wanted.mentions_word(name)) {
        let what = format!("`env = [\"{name}\"]` below [commands] in unstuck.toml (commands.env)");
        let cause = format!(
            "The check {who} does not get the variable {name}, which is set in your shell, so {NOT_BEGUN}."
        );
        let fault = Fault::precondition_missing(KEPT_BASE, &*red.output, Missing { what });
        return Ok(Some(fault.with_cause(cause)));
    }
    let Some(path) = workspace.find_unshared(&red.output).await? else { return Ok(None) };
    if wanted.mentions_path(&path) {
        return Ok(None);
    }
    let path = path.display().to_string();
    let what = format!("`share = [\"{path}\"]` below [run] in unstuck.toml (run.share)");
    let file = quote_words(&path, VALUE_CHARS_MAX).unwrap_or_default();
    let cause = format!(
        "The check {who} needs {file}, which only your own tree has because git ignores it, so \
         {NOT_BEGUN}."
    );
    let output = format!(
        "{}\n[{path} is in your own tree and ignored by git, so worktrees do not have it; {what} copies \
         a file and links a folder]",
        red.output.trim_end()
    );
    Ok(Some(Fault::precondition_missing(KEPT_BASE, output, Missing { what }).with_cause(cause)))
}

/// Returns the variable whose absence the output of a check reports, if the operator has set it and checks do
/// not get it.
pub fn find_withheld<'a>(output: &str, withheld: &'a [String]) -> Option<&'a str> {
    const ABSENT: [&str; 11] = [
        "not set", "unset", "unbound", "undefined", "not defined", "missing", "required",
        "keyerror", "must be", "not found", "empty",
    ];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_about = |line: &str, name: &str| line.split(|c| !is_part(c)).any(|word| word == name);
    let mut lines = output.lines().filter(|line| {
        let line = line.to_lowercase();
        ABSENT.iter().any(|words| line.contains(words))
    });
    let names = withheld.iter().filter(|name| name.len() > 2).map(String::as_str);
    lines.find_map(|line| names.clone().find(|name| is_about(line, name)))
}

/// Returns the message about a check or a hook that the sandbox kept from a file, with the setting
/// that allows it.
pub fn render_fence_denial(fault: &Fault) -> Option<String> {
    let Kind::PreconditionMissing(missing) = &fault.kind else { return None };
    let cause = fault.cause.as_deref().filter(|_| fault.needs_settings_line())?;
    Some(format!("{cause} To allow it: {}.", missing.what))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: BaselineRequirement<'_> = BaselineRequirement {
        words: "",
        mode: BaselineMode::Green,
        has_own_checks: false,
        withheld: &[],
    };

    // B15: only a variable that is said to be missing, and that the operator has set
    #[test]
    fn a_withheld_variable_is_found_in_the_words_of_a_check() {
        let withheld = ["DATABASE_URL".to_owned(), "MODE".to_owned(), "X".to_owned()];
        for (output, name) in [
            ("ok\nerror: DATABASE_URL is not set\n", Some("DATABASE_URL")),
            ("checks/a.sh: 1: DATABASE_URL: parameter not set", Some("DATABASE_URL")),
            ("KeyError: 'DATABASE_URL'", Some("DATABASE_URL")),
            ("DATABASE_URL_TEST is not set", None),
            ("MODE is fast: expected 3, got 4", None),
            ("the value of X is missing", None),
            ("PORT is not set", None),
        ] {
            assert_eq!(find_withheld(output, &withheld), name, "{output}");
        }
    }

    #[test]
    fn what_the_task_names_is_its_work() {
        let cases = [
            ("write local.json", "local.json", true),
            ("see to `config/local.json`.", "config/local.json", true),
            ("write mylocal.json", "local.json", false),
            ("add a function", "local.json", false),
        ];
        for (words, path, expected) in cases {
            let wanted = BaselineRequirement { words, ..REQUIRED };
            assert_eq!(wanted.mentions_path(Path::new(path)), expected, "{words}");
        }
    }

    // B15: what the project or the task is to provide is not a missing tool.
    #[test]
    fn a_check_that_did_not_run_may_be_the_work() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("shop.py"), "").unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::fs::write(folder.path().join("bin/verify"), "").unwrap();
        let program = |name: &str| CheckStop::Program(name.to_owned());
        let module = |name: &str| CheckStop::Module(name.to_owned());
        let cases = [
            ("add a farewell", program("pytest"), false),
            ("add a farewell", program("./run-tests.sh"), true),
            ("add a farewell", program("scripts/verify"), true),
            ("add a farewell", program("node_modules/.bin/jest"), false),
            ("add a farewell", program(".venv/bin/pytest"), false),
            ("add a farewell", program("/opt/tool/bin/lint"), false),
            ("add a farewell", program("verify"), true),
            ("write the program greet", program("greet"), true),
            ("make the pytest suite green", program("pytest"), false),
            ("add a farewell", module("pytest"), false),
            ("add a farewell", module("shop.cli"), true),
            ("write wordcount", module("wordcount"), true),
            ("add a farewell", CheckStop::Signal(11), false),
            ("repair the crash of `make test`", CheckStop::Signal(11), true),
        ];
        for (words, stop, expected) in cases {
            let wanted = BaselineRequirement { words, ..REQUIRED };
            assert_eq!(wanted.is_about_stop(&stop, folder.path()), expected, "{words}: {stop:?}");
        }
    }
}

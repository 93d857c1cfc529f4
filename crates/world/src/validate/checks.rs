//! The checks of one gate, and the protection of the files that define them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use unstuck_core::engine::RunId;
use unstuck_core::failing::CheckFailures;
use unstuck_core::fault::{CheckStage, Fault};
use unstuck_core::time::Time;

use super::baseline::Baseline;
use super::check::{CheckFailure, CheckOutcome, GateCheck};
use super::definition::{
    checks_something, list_command_lines, list_compared_files, scripts_differ, tool_settings_differ,
};
use crate::regular_file::read_regular;
use crate::scope::{BadPattern, CaseMatching, PathPatterns, PathScope};
use crate::workspace::{ChangeKind, RevertReport, Shell, Workspace, WorktreeChange};

/// Maximum size of a manifest or test file that is read, in bytes.
const MANIFEST_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

/// The checks of one gate.
#[derive(Clone, Debug)]
pub struct GateChecks {
    gate: CheckStage,
    commands: Vec<String>,
    protected: PathPatterns,
    /// Files that define what the commands do; restored like protected ones if the base has them.
    defining: Vec<PathBuf>,
    /// Files that would be read instead of those; reverted if they are new.
    replacing: Vec<PathBuf>,
    /// `true` if protected paths are restored even if the scope names them.
    firm: bool,
}

/// The exemptions of a change from the protection.
#[derive(Clone, Copy, Debug)]
pub struct ChangePermissions<'a> {
    /// The task's own scope: paths that it names may change.
    pub scope: &'a PathScope,
    /// Paths that the operator allowed the task to change.
    pub free: &'a [PathBuf],
    /// `true` if tests inside the files of the work may change, because the task asks for that.
    pub inline_tests: bool,
}

impl ChangePermissions<'_> {
    fn allows_change(self, path: &Path) -> bool {
        self.scope.names_path(path) || self.free.iter().any(|free| free == path)
    }
}

/// The result of a gate.
#[derive(Debug)]
pub enum GateVerdict {
    /// The gate has no checks, which is not the same as green.
    NothingToCheck,
    /// Every check is green, or fails exactly as it did at the base.
    Green(GateReport),
    /// A check is red in a new way, or could not run.
    Red {
        /// The fault of that check.
        fault: Box<Fault>,
        /// The observations up to that check.
        seen: GateReport,
    },
}

/// Observations during the checks of a gate.
#[derive(Clone, Debug, Default)]
pub struct GateReport {
    /// Protected paths that had been changed, and were restored before the checks.
    pub restored: Option<RevertReport>,
    /// Checks that are green.
    pub green: Vec<String>,
    /// Green checks that were red first and green when they were run again.
    pub flaky: Vec<String>,
    /// Green checks that were red until files were removed which earlier runs had left.
    pub leftovers: BTreeMap<String, Vec<PathBuf>>,
    /// Checks that fail exactly as they did at the base.
    pub red_at_base: Vec<BaselineFailure>,
    /// Number of tests that green checks report, by command.
    pub tests_run: BTreeMap<String, u64>,
    /// Faults of checks that are green without having tested what they tested at the base.
    pub proves_less: Vec<Fault>,
}

/// A check that fails exactly as it did before any agent worked.
#[derive(Clone, Debug)]
pub struct BaselineFailure {
    /// The command of the check.
    pub command: String,
    /// The tests that failed.
    pub failures: CheckFailures,
    /// The fault of the red check.
    pub fault: Box<Fault>,
}

impl GateChecks {
    /// Makes the checks of a gate, with patterns of paths that are restored before they run.
    pub fn new(
        gate: CheckStage,
        commands: &[String],
        protect: &[String],
    ) -> Result<Self, BadPattern> {
        let protected = PathPatterns::parse(protect, CaseMatching::Folds)?;
        let commands = commands.to_vec();
        let defining = Vec::new();
        let replacing = Vec::new();
        Ok(Self { gate, commands, protected, defining, replacing, firm: false })
    }

    /// Adds files that define the checks, which are protected if the base has them: a new one may
    /// be the task's purpose, unless it is in `replacing`, that is, would be read instead of an
    /// existing one.
    #[must_use]
    pub fn with_definitions(self, files: Vec<PathBuf>, replacing: Vec<PathBuf>) -> Self {
        Self { defining: files, replacing, ..self }
    }

    /// Restores protected paths even if a scope names them: a repair is held to the existing
    /// checks.
    #[must_use]
    pub fn with_firm_protection(self) -> Self {
        Self { firm: true, ..self }
    }

    /// Returns the gate that the checks belong to.
    pub const fn gate(&self) -> CheckStage {
        self.gate
    }

    /// Returns the commands, in their order.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    pub(super) fn list_checks(&self) -> impl Iterator<Item = GateCheck<'_>> {
        self.commands.iter().enumerate().map(|(at, command)| GateCheck {
            gate: self.gate,
            n: at + 1,
            command,
            before: &self.commands[..at],
        })
    }

    /// Returns whether protected paths are restored even if a scope or the operator exempts them.
    pub const fn is_firm(&self) -> bool {
        self.firm
    }

    /// Restores protected paths, then runs the checks until one is red in a way that `baseline`
    /// does not know.
    pub async fn run(
        &self,
        workspace: &Workspace,
        held: ChangePermissions<'_>,
        baseline: Option<&Baseline>,
        shell: &Shell,
        (run, now): (RunId, Time),
    ) -> Result<GateVerdict, Fault> {
        if self.commands.is_empty() {
            return Ok(GateVerdict::NothingToCheck);
        }
        let restored = self.restore_protected(workspace, held, run, now).await?;
        let mut seen = GateReport { restored, ..GateReport::default() };
        let shell = &workspace.confine_shell(shell);
        let folder = workspace.project_folder();
        for check in self.list_checks() {
            let command = check.command.to_owned();
            let checked = if baseline.is_some() {
                check.run_on_change(workspace, shell).await
            } else {
                check.run(workspace, shell).await
            };
            match checked {
                CheckOutcome::GreenWithoutLeftovers(removed) => {
                    seen.leftovers.insert(command.clone(), removed);
                    seen.green.push(command);
                }
                CheckOutcome::Green(_) | CheckOutcome::Flaky => {
                    if let CheckOutcome::Green(passed) = &checked {
                        let proof = (passed, &*folder);
                        let weaker = baseline.and_then(|of| of.weaker_proof_fault(check, proof));
                        seen.proves_less.extend(weaker);
                        seen.tests_run.extend(passed.tests_run.map(|ran| (command.clone(), ran)));
                    }
                    let was_flaky = baseline.is_some_and(|base| base.is_flaky(&command));
                    if was_flaky || matches!(checked, CheckOutcome::Flaky) {
                        seen.flaky.push(command.clone());
                    }
                    seen.green.push(command);
                }
                CheckOutcome::Red(red) => {
                    let did_not_run = red.did_not_run();
                    let CheckFailure { fault, failures, .. } = *red;
                    let fault = Box::new(fault);
                    let is_known = |base: &Baseline| base.fails_as_before(&command, &failures);
                    // What did not run has not failed as before.
                    if did_not_run || !baseline.is_some_and(is_known) {
                        return Ok(GateVerdict::Red { fault, seen });
                    }
                    seen.red_at_base.push(BaselineFailure { command, failures, fault });
                }
                CheckOutcome::Failed(fault) => {
                    return Ok(GateVerdict::Red { fault, seen });
                }
            }
        }
        let Some(base) = baseline else { return Ok(GateVerdict::Green(seen)) };
        if !held.inline_tests {
            let confirmed = self.confirm_with_base_tests(workspace, base, shell, &seen);
            if let Some(fault) = Box::pin(confirmed).await? {
                return Ok(GateVerdict::Red { fault: Box::new(fault), seen });
            }
        }
        self.confirm_without_new_tests(workspace, base, shell, seen).await
    }

    /// Runs green checks again without the tests that the agent added: a check that failed at the
    /// base has to be green without them, because one of them could end the run before the others.
    /// So has one that was green at the base, without a file that decides which tests run.
    async fn confirm_without_new_tests(
        &self,
        workspace: &Workspace,
        base: &Baseline,
        shell: &Shell,
        seen: GateReport,
    ) -> Result<GateVerdict, Fault> {
        let changes = workspace.list_changes().await?;
        let added = changes.into_iter().filter(|change| change.kind == ChangeKind::Added);
        let added = added.map(|change| change.path).filter(|path| self.protected.covers_path(path));
        let added: Vec<PathBuf> = added.collect();
        if added.is_empty() {
            return Ok(GateVerdict::Green(seen));
        }
        let is_green =
            |check: &GateCheck<'_>| seen.green.iter().any(|green| green == check.command);
        for check in self.list_checks().filter(is_green) {
            let red = base.red.get(check.command);
            let names_tests = red.is_some_and(|red| !red.failures.tests.is_empty());
            if red.is_some() && !names_tests {
                continue;
            }
            let decides = |path: &Path| decides_which_tests_run(&workspace.directory().join(path));
            let counts = |path: &&PathBuf| match red {
                // A check that failed because a file was missing may be green because of it.
                Some(red) => !red.mentions_file(path),
                // New tests beside the file that decides may need it.
                None => added.iter().any(|of| of.parent() == path.parent() && decides(of)),
            };
            let tests: Vec<PathBuf> = added.iter().filter(counts).cloned().collect();
            if tests.is_empty() {
                continue;
            }
            let folder = workspace.project_folder();
            let again = check.run_once(&folder, shell);
            let again = workspace.run_without_files(&tests, again).await?;
            if let CheckOutcome::Red(still) = again
                && red.is_none_or(|red| !still.failures.tests.is_disjoint(&red.failures.tests))
            {
                let fault = Box::new(check.new_tests_only_fault(&tests, &still));
                return Ok(GateVerdict::Red { fault, seen });
            }
        }
        Ok(GateVerdict::Green(seen))
    }

    /// Runs the checks in a folder that holds a finished commit: no agent works there, so no path
    /// has to be restored, and no failure is excused.
    pub async fn run_in_folder(&self, directory: &Path, shell: &Shell) -> Result<(), Fault> {
        for check in self.list_checks() {
            check.run_in_folder(directory, shell).await.into_result()?;
        }
        Ok(())
    }

    /// Runs each check only once, in a checkout in which none has run before. If all pass, returns
    /// the fault of the first that has tested less than at the base.
    pub async fn run_once_in_folder(
        &self,
        directory: &Path,
        baseline: Option<&Baseline>,
        shell: &Shell,
    ) -> Result<Option<Fault>, Fault> {
        let mut proves_less = None;
        for check in self.list_checks() {
            let verbose = baseline.filter(|base| base.failed_in_go(check.command)).map(|_| {
                let mut verbose = shell.clone();
                let flags = shell.find_variable(GO_FLAGS).unwrap_or_default();
                let flags = format!("{} -v", flags.to_string_lossy());
                verbose.environment.push((GO_FLAGS.into(), Some(flags.trim_start().into())));
                verbose
            });
            let shell = verbose.as_ref().unwrap_or(shell);
            let checked = check.run_once(directory, shell).await;
            if let (Some(base), CheckOutcome::Green(passed)) = (baseline, &checked) {
                let unproved = || base.unproved_in_go(check, passed).filter(|_| verbose.is_some());
                proves_less = proves_less
                    .or_else(|| base.weaker_proof_fault(check, (passed, directory)))
                    .or_else(unproved);
            }
            checked.into_result()?;
        }
        Ok(proves_less)
    }

    /// Returns the protected paths among these changes that are not exempt.
    pub async fn find_guarded_changes(
        &self,
        workspace: &Workspace,
        changes: &[WorktreeChange],
        held: ChangePermissions<'_>,
    ) -> Result<Vec<PathBuf>, Fault> {
        let mut defining = self.find_changed_manifests(workspace, changes).await?;
        defining.extend(self.find_test_support(workspace, changes).await?);
        let guarded = |change: &&WorktreeChange| {
            let defines = self.defining.contains(&change.path) || defining.contains(&change.path);
            // A new file is work, unless it takes the place of an existing one.
            let known = defines || self.protected.covers_path(&change.path);
            let replaces = self.replacing.iter().any(|other| change.path.starts_with(other));
            known && change.kind != ChangeKind::Added || replaces
        };
        let free = |change: &&WorktreeChange| !self.firm && held.allows_change(&change.path);
        let protected = changes.iter().filter(guarded).filter(|change| !free(change));
        Ok(protected.map(|change| change.path.clone()).collect())
    }

    /// Restores protected paths that were changed, unless they are exempt.
    async fn restore_protected(
        &self,
        workspace: &Workspace,
        held: ChangePermissions<'_>,
        run: RunId,
        now: Time,
    ) -> Result<Option<RevertReport>, Fault> {
        let changes = workspace.list_changes().await?;
        let mut paths = self.find_guarded_changes(workspace, &changes, held).await?;
        if paths.is_empty() {
            return Ok(None);
        }
        // A link or a file at the path of a protected folder.
        let in_the_way = |change: &&WorktreeChange| {
            let is_above = |path: &PathBuf| *path != change.path && path.starts_with(&change.path);
            paths.iter().any(is_above)
        };
        let in_the_way: Vec<PathBuf> =
            changes.iter().filter(in_the_way).map(|change| change.path.clone()).collect();
        paths.extend(in_the_way);
        workspace.revert_paths(&paths, run, now).await.map(Some)
    }

    /// Returns changed files that serve tests only: their names say that they help, and at the base
    /// nothing but tests names them.
    async fn find_test_support(
        &self,
        workspace: &Workspace,
        changes: &[WorktreeChange],
    ) -> Result<Vec<PathBuf>, Fault> {
        let mut found = Vec::new();
        for change in changes {
            let path = &change.path;
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if change.kind == ChangeKind::Added || !is_named_as_support(path) || stem.len() < 3 {
                continue;
            }
            let users = workspace.find_base_files_with_word(stem).await?;
            let mut users = users.iter().filter(|user| *user != path && !is_prose(user)).peekable();
            let is_test = |user: &PathBuf| {
                self.protected.covers_path(user)
                    || self.defining.contains(user)
                    || checks_something(user)
            };
            if users.peek().is_some() && users.all(is_test) {
                found.push(path.clone());
            }
        }
        Ok(found)
    }

    /// Returns changed manifests in which a script that the checks run differs from the base.
    async fn find_changed_manifests(
        &self,
        workspace: &Workspace,
        changes: &[WorktreeChange],
    ) -> Result<Vec<PathBuf>, Fault> {
        let mut differing = Vec::new();
        let folder = workspace.project_folder();
        let lines = list_command_lines(&folder, &self.commands);
        let compared = list_compared_files(&folder, &self.commands);
        for (file, script) in compared {
            let path = workspace.locate(&file);
            if !changes.iter().any(|change| change.path == path) {
                continue;
            }
            let now = read_regular(&workspace.directory().join(&path), MANIFEST_BYTES_MAX);
            let now = now.unwrap_or_default();
            let base = workspace.read_base_file(&path).await?;
            let differs = |base: Vec<u8>| match &script {
                Some(script) => scripts_differ(script, &base, &now),
                None => tool_settings_differ(&file, &lines, (&base, &now)),
            };
            if base.is_some_and(differs) {
                differing.push(path);
            }
        }
        Ok(differing)
    }
}

/// The variable with further arguments of `go`, which is told to name the tests that pass.
const GO_FLAGS: &str = "GOFLAGS";

/// Returns whether a part of a path says that the file helps others: `support/near.py`.
fn is_named_as_support(path: &Path) -> bool {
    const SUPPORT: [&str; 12] = [
        "support", "helper", "assert", "expect", "matcher", "fixture", "mock", "fake", "stub",
        "harness", "factor", "testing",
    ];
    let parts = path.iter().map(|part| part.to_string_lossy().to_lowercase());
    parts.into_iter().any(|part| SUPPORT.iter().any(|word| part.contains(word)))
}

/// Returns whether a file is a text for people, which names files without using them.
fn is_prose(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("md" | "rst" | "adoc" | "txt"))
}

/// Returns whether a test file controls the running of all other tests, as Go's `TestMain` does.
fn decides_which_tests_run(file: &Path) -> bool {
    const MAIN: &[u8] = b"func TestMain(";
    let text = read_regular(file, MANIFEST_BYTES_MAX).unwrap_or_default();
    memchr::memmem::find(&text, MAIN).is_some()
}

//! The rules of a task's scope, and their application to a path.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::patterns::{BadPattern, CaseMatching, PathPatterns};
use super::private::is_private;
use super::verdict::{PathVerdict, ScopeVerdict};

/// The treatment of a change outside the allowed paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeMode {
    /// The change is reverted.
    #[default]
    Strict,
    /// The operator is asked.
    Ask,
    /// The change is accepted; forbidden paths stay forbidden.
    Open,
}

/// The rules, as they are written in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeRules {
    /// The treatment of a change outside the allowed paths.
    pub mode: ScopeMode,
    /// Paths that may be changed; if empty, all that no other rule covers.
    pub allowed: Vec<String>,
    /// Paths that must not be changed, regardless of case.
    pub forbidden: Vec<String>,
    /// Paths that may be changed with the operator's approval.
    pub ask_first: Vec<String>,
    /// Paths that need the operator's approval unless an allowed pattern names them.
    pub ask_unless_named: Vec<String>,
    /// Patterns of `ask_unless_named` that the agent is told about before the operator is asked.
    pub tell_first: Vec<String>,
}

/// The scope of a task.
#[derive(Clone, Debug)]
pub struct PathScope {
    mode: ScopeMode,
    allowed: PathPatterns,
    /// The parts between the slashes of all allowed patterns.
    allowed_parts: BTreeSet<String>,
    forbidden: PathPatterns,
    ask_first: PathPatterns,
    ask_unless_named: PathPatterns,
    tell_first: PathPatterns,
    /// Allowed patterns that begin with a name: `**` names no path in particular.
    named: PathPatterns,
}

impl PathScope {
    /// Parses the rules.
    pub fn new(rules: &ScopeRules) -> Result<Self, BadPattern> {
        let named = rules.allowed.iter().filter(|one| !one.starts_with('*')).cloned();
        Ok(Self {
            mode: rules.mode,
            allowed: PathPatterns::parse(&rules.allowed, CaseMatching::Matters)?,
            allowed_parts: rules
                .allowed
                .iter()
                .flat_map(|one| one.split('/'))
                .map(str::to_owned)
                .collect(),
            forbidden: PathPatterns::parse(&rules.forbidden, CaseMatching::Folds)?,
            ask_first: PathPatterns::parse(&rules.ask_first, CaseMatching::Folds)?,
            ask_unless_named: PathPatterns::parse(&rules.ask_unless_named, CaseMatching::Folds)?,
            tell_first: PathPatterns::parse(&rules.tell_first, CaseMatching::Folds)?,
            named: PathPatterns::parse(&named.collect::<Vec<_>>(), CaseMatching::Matters)?,
        })
    }

    /// Returns the standing of a path within the worktree. A path that leaves the worktree is
    /// forbidden.
    pub fn judge_path(&self, path: &Path) -> PathVerdict {
        if !stays_inside(path) || is_private(path) || self.forbidden.covers_path(path) {
            return PathVerdict::Forbidden;
        }
        if self.ask_first.covers_path(path) {
            return PathVerdict::Ask;
        }
        let is_inside = self.allowed.is_empty() || self.allowed.covers_path(path);
        match self.mode {
            ScopeMode::Strict if !is_inside => PathVerdict::Outside,
            ScopeMode::Ask if !is_inside => PathVerdict::Ask,
            _ if self.ask_unless_named.covers_path(path) && !self.named.covers_path(path) => {
                PathVerdict::Ask
            }
            _ => PathVerdict::Inside,
        }
    }

    /// Returns whether the agent is told about a change of this path before the operator is asked.
    pub fn tells_agent_first(&self, path: &Path) -> bool {
        self.tell_first.covers_path(path) && !self.ask_first.covers_path(path)
    }

    /// Returns whether the rules list this path explicitly as one that may be changed.
    pub fn names_path(&self, path: &Path) -> bool {
        self.allowed.covers_path(path) && !self.forbidden.covers_path(path)
    }

    /// Returns the names of files and folders in the allowed patterns.
    pub(crate) fn allowed_parts(&self) -> impl Iterator<Item = &str> {
        self.allowed_parts.iter().map(String::as_str)
    }

    /// Judges a set of changed paths.
    pub fn judge_paths<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> ScopeVerdict {
        let mut verdict = ScopeVerdict::default();
        for path in paths {
            match self.judge_path(path) {
                PathVerdict::Inside => {}
                PathVerdict::Forbidden => verdict.forbidden.push(path.to_owned()),
                PathVerdict::Outside => verdict.outside.push(path.to_owned()),
                PathVerdict::Ask => verdict.ask.push(path.to_owned()),
            }
        }
        verdict
    }
}

/// Returns whether a path is relative and has only normal components.
pub(super) fn stays_inside(path: &Path) -> bool {
    let mut components = path.components().peekable();
    components.peek().is_some()
        && components.all(|component| matches!(component, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(mode: ScopeMode) -> ScopeRules {
        let list = |patterns: &[&str]| patterns.iter().map(|&one| one.to_owned()).collect();
        ScopeRules {
            mode,
            allowed: list(&["src/**", "docs"]),
            forbidden: list(&["src/secret/**", "LICENSE"]),
            ask_first: list(&["src/api.rs", "Cargo.toml"]),
            ask_unless_named: list(&["unstuck.toml", ".ci"]),
            tell_first: Vec::new(),
        }
    }

    #[test]
    fn what_decides_about_checks_is_asked_about_unless_the_rules_name_it() {
        let standing = |allowed: &[&str], path: &str| {
            let allowed = allowed.iter().map(|&one| one.to_owned()).collect();
            let scope =
                PathScope::new(&ScopeRules { allowed, ..rules(ScopeMode::Strict) }).unwrap();
            scope.judge_path(Path::new(path))
        };
        assert_eq!(standing(&[], "unstuck.toml"), PathVerdict::Ask);
        assert_eq!(standing(&["**"], ".ci/run.sh"), PathVerdict::Ask);
        assert_eq!(standing(&[".ci/**"], ".ci/run.sh"), PathVerdict::Inside);
        assert_eq!(standing(&["src/**"], ".ci/run.sh"), PathVerdict::Outside);
    }

    // T4.24: forbidden is told from outside, and paths that are allowed or to be asked about stay
    // so.
    #[test]
    fn each_path_stands_as_the_rules_say() {
        let table = [
            ("src/a.rs", PathVerdict::Inside, PathVerdict::Inside, PathVerdict::Inside),
            ("docs/deep/page.md", PathVerdict::Inside, PathVerdict::Inside, PathVerdict::Inside),
            (
                "src/secret/key",
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
            ),
            (
                "SRC/Secret/key",
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
            ),
            ("license", PathVerdict::Forbidden, PathVerdict::Forbidden, PathVerdict::Forbidden),
            (".git/config", PathVerdict::Forbidden, PathVerdict::Forbidden, PathVerdict::Forbidden),
            ("src/.GIT/x", PathVerdict::Forbidden, PathVerdict::Forbidden, PathVerdict::Forbidden),
            (
                ".unstuck/state.db",
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
            ),
            (
                "src/../LICENSE",
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
                PathVerdict::Forbidden,
            ),
            ("/etc/passwd", PathVerdict::Forbidden, PathVerdict::Forbidden, PathVerdict::Forbidden),
            ("", PathVerdict::Forbidden, PathVerdict::Forbidden, PathVerdict::Forbidden),
            ("src/api.rs", PathVerdict::Ask, PathVerdict::Ask, PathVerdict::Ask),
            ("Cargo.toml", PathVerdict::Ask, PathVerdict::Ask, PathVerdict::Ask),
            ("build.rs", PathVerdict::Outside, PathVerdict::Ask, PathVerdict::Inside),
            ("Src/a.rs", PathVerdict::Outside, PathVerdict::Ask, PathVerdict::Inside),
        ];
        for (path, strict, ask, open) in table {
            for (mode, expected) in
                [(ScopeMode::Strict, strict), (ScopeMode::Ask, ask), (ScopeMode::Open, open)]
            {
                let scope = PathScope::new(&rules(mode)).unwrap();
                assert_eq!(
                    scope.judge_path(Path::new(path)),
                    expected,
                    "{path:?} in mode {mode:?}"
                );
            }
        }
    }

    // T4.24
    #[test]
    fn the_fault_is_the_gravest_and_names_its_files() {
        use unstuck_core::fault::{Code, Kind};
        let scope = PathScope::new(&rules(ScopeMode::Strict)).unwrap();
        let judge = |paths: &[&str]| scope.judge_paths(paths.iter().map(Path::new));
        assert_eq!(judge(&["src/a.rs", "docs/b"]).to_fault(None), None);
        let mixed = judge(&["build.rs", "LICENSE", "Cargo.toml", "src/a.rs"]);
        let fault = mixed.to_fault(Some(Path::new("kept.patch"))).unwrap();
        let Kind::ScopeForbidden(files) = &fault.kind else { panic!("{fault}") };
        assert_eq!(files.files, ["LICENSE"]);
        assert_eq!(files.patch.as_deref(), Some("kept.patch"));
        assert_eq!(mixed.out_of_scope(), [Path::new("LICENSE"), Path::new("build.rs")]);
        let outside = judge(&["build.rs", "Cargo.toml"]).to_fault(None).unwrap();
        assert_eq!(outside.code(), Code::ScopeOutsideAllowed);
        let asked = judge(&["Cargo.toml"]).to_fault(None).unwrap();
        assert_eq!(asked.code(), Code::PermissionFileAccess);
    }

    #[test]
    fn without_a_list_everything_else_is_allowed() {
        let scope = PathScope::new(&ScopeRules::default()).unwrap();
        assert_eq!(scope.judge_path(Path::new("anything")), PathVerdict::Inside);
        assert_eq!(scope.judge_path(Path::new(".git/config")), PathVerdict::Forbidden);
        assert!(!scope.names_path(Path::new("anything")));
    }
}

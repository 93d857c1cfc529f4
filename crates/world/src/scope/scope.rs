//! The rules of a task's scope, and their application to a path.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::patterns::{BadPattern, Case, Patterns};
use super::private::is_private;
use super::verdict::{Standing, Verdict};

/// The treatment of a change outside the allowed paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
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
pub struct Rules {
    /// The treatment of a change outside the allowed paths.
    pub mode: Mode,
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
pub struct Scope {
    mode: Mode,
    allowed: Patterns,
    /// The parts between the slashes of all allowed patterns.
    allowed_parts: BTreeSet<String>,
    forbidden: Patterns,
    ask_first: Patterns,
    ask_unless_named: Patterns,
    tell_first: Patterns,
    /// Allowed patterns that begin with a name: `**` names no path in particular.
    named: Patterns,
}

impl Scope {
    /// Parses the rules.
    pub fn new(rules: &Rules) -> Result<Self, BadPattern> {
        let named = rules.allowed.iter().filter(|one| !one.starts_with('*')).cloned();
        Ok(Self {
            mode: rules.mode,
            allowed: Patterns::read(&rules.allowed, Case::Matters)?,
            allowed_parts: rules
                .allowed
                .iter()
                .flat_map(|one| one.split('/'))
                .map(str::to_owned)
                .collect(),
            forbidden: Patterns::read(&rules.forbidden, Case::Folds)?,
            ask_first: Patterns::read(&rules.ask_first, Case::Folds)?,
            ask_unless_named: Patterns::read(&rules.ask_unless_named, Case::Folds)?,
            tell_first: Patterns::read(&rules.tell_first, Case::Folds)?,
            named: Patterns::read(&named.collect::<Vec<_>>(), Case::Matters)?,
        })
    }

    /// Returns the standing of a path within the worktree. A path that leaves the worktree is
    /// forbidden.
    pub fn standing(&self, path: &Path) -> Standing {
        if !stays_inside(path) || is_private(path) || self.forbidden.cover(path) {
            return Standing::Forbidden;
        }
        if self.ask_first.cover(path) {
            return Standing::Ask;
        }
        let is_inside = self.allowed.is_empty() || self.allowed.cover(path);
        match self.mode {
            Mode::Strict if !is_inside => Standing::Outside,
            Mode::Ask if !is_inside => Standing::Ask,
            _ if self.ask_unless_named.cover(path) && !self.named.cover(path) => Standing::Ask,
            _ => Standing::Inside,
        }
    }

    /// Returns whether the agent is told about a change of this path before the operator is asked.
    pub fn tells_first(&self, path: &Path) -> bool {
        self.tell_first.cover(path) && !self.ask_first.cover(path)
    }

    /// Returns whether the rules list this path explicitly as one that may be changed.
    pub fn names(&self, path: &Path) -> bool {
        self.allowed.cover(path) && !self.forbidden.cover(path)
    }

    /// Returns the names of files and folders in the allowed patterns.
    pub(crate) fn allowed_parts(&self) -> impl Iterator<Item = &str> {
        self.allowed_parts.iter().map(String::as_str)
    }

    /// Judges a set of changed paths.
    pub fn judge<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Verdict {
        let mut verdict = Verdict::default();
        for path in paths {
            match self.standing(path) {
                Standing::Inside => {}
                Standing::Forbidden => verdict.forbidden.push(path.to_owned()),
                Standing::Outside => verdict.outside.push(path.to_owned()),
                Standing::Ask => verdict.ask.push(path.to_owned()),
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

    fn rules(mode: Mode) -> Rules {
        let list = |patterns: &[&str]| patterns.iter().map(|&one| one.to_owned()).collect();
        Rules {
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
            let scope = Scope::new(&Rules { allowed, ..rules(Mode::Strict) }).unwrap();
            scope.standing(Path::new(path))
        };
        assert_eq!(standing(&[], "unstuck.toml"), Standing::Ask);
        assert_eq!(standing(&["**"], ".ci/run.sh"), Standing::Ask);
        assert_eq!(standing(&[".ci/**"], ".ci/run.sh"), Standing::Inside);
        assert_eq!(standing(&["src/**"], ".ci/run.sh"), Standing::Outside);
    }

    // T4.24: forbidden is told from outside, and paths that are allowed or to be asked about stay
    // so.
    #[test]
    fn each_path_stands_as_the_rules_say() {
        let table = [
            ("src/a.rs", Standing::Inside, Standing::Inside, Standing::Inside),
            ("docs/deep/page.md", Standing::Inside, Standing::Inside, Standing::Inside),
            ("src/secret/key", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            ("SRC/Secret/key", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            ("license", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            (".git/config", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            ("src/.GIT/x", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            (".unstuck/state.db", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            ("src/../LICENSE", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            ("/etc/passwd", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            ("", Standing::Forbidden, Standing::Forbidden, Standing::Forbidden),
            ("src/api.rs", Standing::Ask, Standing::Ask, Standing::Ask),
            ("Cargo.toml", Standing::Ask, Standing::Ask, Standing::Ask),
            ("build.rs", Standing::Outside, Standing::Ask, Standing::Inside),
            ("Src/a.rs", Standing::Outside, Standing::Ask, Standing::Inside),
        ];
        for (path, strict, ask, open) in table {
            for (mode, expected) in [(Mode::Strict, strict), (Mode::Ask, ask), (Mode::Open, open)] {
                let scope = Scope::new(&rules(mode)).unwrap();
                assert_eq!(scope.standing(Path::new(path)), expected, "{path:?} in mode {mode:?}");
            }
        }
    }

    // T4.24
    #[test]
    fn the_fault_is_the_gravest_and_names_its_files() {
        use unstuck_core::fault::{Code, Kind};
        let scope = Scope::new(&rules(Mode::Strict)).unwrap();
        let judge = |paths: &[&str]| scope.judge(paths.iter().map(Path::new));
        assert_eq!(judge(&["src/a.rs", "docs/b"]).fault(None), None);
        let mixed = judge(&["build.rs", "LICENSE", "Cargo.toml", "src/a.rs"]);
        let fault = mixed.fault(Some(Path::new("kept.patch"))).unwrap();
        let Kind::ScopeForbidden(files) = &fault.kind else { panic!("{fault}") };
        assert_eq!(files.files, ["LICENSE"]);
        assert_eq!(files.patch.as_deref(), Some("kept.patch"));
        assert_eq!(mixed.out_of_scope(), [Path::new("LICENSE"), Path::new("build.rs")]);
        let outside = judge(&["build.rs", "Cargo.toml"]).fault(None).unwrap();
        assert_eq!(outside.code(), Code::ScopeOutsideAllowed);
        let asked = judge(&["Cargo.toml"]).fault(None).unwrap();
        assert_eq!(asked.code(), Code::PermissionFileAccess);
    }

    #[test]
    fn without_a_list_everything_else_is_allowed() {
        let scope = Scope::new(&Rules::default()).unwrap();
        assert_eq!(scope.standing(Path::new("anything")), Standing::Inside);
        assert_eq!(scope.standing(Path::new(".git/config")), Standing::Forbidden);
        assert!(!scope.names(Path::new("anything")));
    }
}

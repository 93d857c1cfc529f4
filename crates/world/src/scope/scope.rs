//! The rules of a task's scope, their application to paths, and the names that no task may touch in
//! any spelling: the folders of git and of Unstuck.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::fault::{Fault, Files, Permission};

use super::patterns::{BadPattern, CaseMatching, PathPatterns, place_patterns};

pub(super) const SOURCE: &str = "scope";

/// The standing of a path in the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathVerdict {
    /// The path may be changed.
    Inside,
    /// The path must not be changed.
    Forbidden,
    /// The path is not among those that may be changed.
    Outside,
    /// The operator has to be asked first.
    Ask,
}

/// The result of judging a set of changes, in the order they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeVerdict {
    /// Paths that must not be changed.
    pub forbidden: Vec<PathBuf>,
    /// Paths that are not among those that may be changed.
    pub outside: Vec<PathBuf>,
    /// Paths that the operator has to be asked about.
    pub ask: Vec<PathBuf>,
}

impl ScopeVerdict {
    /// Returns whether all paths are inside.
    pub const fn is_clean(&self) -> bool {
        self.forbidden.is_empty() && self.outside.is_empty() && self.ask.is_empty()
    }

    /// Returns the paths that have to be reverted regardless of the operator's answer.
    pub fn out_of_scope(&self) -> Vec<PathBuf> {
        self.forbidden.iter().chain(&self.outside).cloned().collect()
    }

    /// Returns the fault, with the file in which the reverted change is kept. Forbidden paths take
    /// precedence over those outside, and these over those to be asked about.
    pub fn to_fault(&self, patch: Option<&Path>) -> Option<Fault> {
        let files = |paths: &[PathBuf]| Files {
            files: display_paths(paths),
            patch: patch.map(|patch| patch.display().to_string()),
        };
        if !self.forbidden.is_empty() {
            let message = format!("forbidden: {}", display_paths(&self.forbidden).join(", "));
            return Some(Fault::scope_forbidden(SOURCE, message, files(&self.forbidden)));
        }
        if !self.outside.is_empty() {
            let message = format!("outside: {}", display_paths(&self.outside).join(", "));
            return Some(Fault::scope_outside_allowed(SOURCE, message, files(&self.outside)));
        }
        (!self.ask.is_empty()).then(|| {
            let what = display_paths(&self.ask).join(", ");
            let message = format!("to be asked about: {what}");
            Fault::permission_file_access(
                SOURCE,
                message,
                Permission { what, ..Permission::default() },
            )
        })
    }
}

fn display_paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// Returns whether a component of the path is the folder of git or of Unstuck.
pub(super) fn is_private(path: &Path) -> bool {
    path.components().any(|component| match component {
        Component::Normal(name) => is_private_name(name.as_bytes()),
        _ => false,
    })
}

fn is_private_name(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name);
    let kept: String = text.chars().filter(|letter| !is_invisible(*letter)).collect();
    // A colon separates another stream of the same file.
    let plain = kept.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    [".git", "git~1", ".unstuck"].iter().any(|private| plain.eq_ignore_ascii_case(private))
}

/// Returns whether some file systems ignore a character.
const fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

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

/// The rules. `allowed`, `forbidden` and `ask_first` are patterns of paths in `folder`, as they are
/// written in the settings; all others begin at the root of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeRules {
    /// The folder of the project in its repository; empty at the root.
    pub folder: PathBuf,
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
    /// Files and links, regardless of case, that need the operator's approval in the same way. A
    /// path below a folder of that name does not.
    pub ask_names: Vec<String>,
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
    ask_names: Vec<String>,
    tell_first: PathPatterns,
    /// Allowed patterns that begin with a name: `**` names no path in particular.
    named: PathPatterns,
}

impl PathScope {
    /// Parses the rules.
    pub fn new(rules: &ScopeRules) -> Result<Self, BadPattern> {
        let placed = |patterns: &[String]| place_patterns(&rules.folder, patterns);
        let named = rules.allowed.iter().filter(|one| !one.starts_with('*')).cloned();
        let named: Vec<String> = named.collect();
        Ok(Self {
            mode: rules.mode,
            allowed: PathPatterns::parse(&placed(&rules.allowed), CaseMatching::Matters)?,
            allowed_parts: rules
                .allowed
                .iter()
                .flat_map(|one| one.split('/'))
                .map(str::to_owned)
                .collect(),
            forbidden: PathPatterns::parse(&placed(&rules.forbidden), CaseMatching::Folds)?,
            ask_first: PathPatterns::parse(&placed(&rules.ask_first), CaseMatching::Folds)?,
            ask_unless_named: PathPatterns::parse(&rules.ask_unless_named, CaseMatching::Folds)?,
            ask_names: rules.ask_names.clone(),
            tell_first: PathPatterns::parse(&rules.tell_first, CaseMatching::Folds)?,
            named: PathPatterns::parse(&placed(&named), CaseMatching::Matters)?,
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
            _ if self.asks_unless_named(path) && !self.named.covers_path(path) => PathVerdict::Ask,
            _ => PathVerdict::Inside,
        }
    }

    fn asks_unless_named(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        self.ask_unless_named.covers_path(path)
            || self.ask_names.iter().any(|name| text.eq_ignore_ascii_case(name))
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
fn stays_inside(path: &Path) -> bool {
    let mut components = path.components().peekable();
    components.peek().is_some()
        && components.all(|component| matches!(component, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_known() {
        for path in [
            ".git", ".git/config", "a/.GIT/hooks", ".Git", "GIT~1", ".git.", ".git ",
            ".git::$DATA", ".g\u{200c}it", ".unstuck/state.db", ".UNSTUCK",
        ] {
            assert!(is_private(Path::new(path)), "{path}");
        }
        for path in ["git", ".gitignore", ".github/x", "a.git/b", "unstuck", ".unstuck-notes"] {
            assert!(!is_private(Path::new(path)), "{path}");
        }
    }

    fn rules(mode: ScopeMode) -> ScopeRules {
        let list = |patterns: &[&str]| patterns.iter().map(|&one| one.to_owned()).collect();
        ScopeRules {
            folder: PathBuf::new(),
            mode,
            allowed: list(&["src/**", "docs"]),
            forbidden: list(&["src/secret/**", "LICENSE"]),
            ask_first: list(&["src/api.rs", "Cargo.toml"]),
            ask_unless_named: list(&["unstuck.toml", ".ci"]),
            ask_names: list(&["jobs"]),
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
        assert_eq!(standing(&[], "jobs"), PathVerdict::Ask);
        assert_eq!(standing(&[], "Jobs"), PathVerdict::Ask);
        assert_eq!(standing(&["jobs"], "jobs"), PathVerdict::Inside);
        assert_eq!(standing(&[], "jobs/run.sh"), PathVerdict::Inside);
    }

    #[test]
    fn the_rules_of_a_project_in_a_folder_are_about_its_paths() {
        let standing = |path: &str| {
            let folder = PathBuf::from("web");
            let scope = PathScope::new(&ScopeRules { folder, ..rules(ScopeMode::Strict) }).unwrap();
            scope.judge_path(Path::new(path))
        };
        assert_eq!(standing("web/src/a.rs"), PathVerdict::Inside);
        assert_eq!(standing("src/a.rs"), PathVerdict::Outside);
        assert_eq!(standing("web/src/secret/key"), PathVerdict::Forbidden);
        assert_eq!(standing("web/Cargo.toml"), PathVerdict::Ask);
        assert_eq!(standing("Cargo.toml"), PathVerdict::Outside);
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

//! The allowlist of environment variables that a command gets.
//!
//! It contains what tools need to find their files and the operator's language, and no credential.
//! Files below the home folder (ssh keys, stored logins of other tools) are beyond its control.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variables that are always passed on.
const USUAL: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
    "TMP", "TEMP", "PWD", "HOSTNAME", "CI", "NO_COLOR", "COLUMNS", "LINES", "XDG_*_HOME",
    "XDG_RUNTIME_DIR", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_*", "RUST_*", "RUSTFLAGS",
    "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "JAVA_HOME", "MAVEN_OPTS",
    "GRADLE_USER_HOME", "NODE_PATH", "NODE_ENV", "NODE_OPTIONS", "NVM_*", "VOLTA_HOME",
    "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "UV_CACHE_DIR",
    "GEM_HOME", "GEM_PATH", "BUNDLE_PATH", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS",
    "MAKEFLAGS", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "UNSTUCK_GUARD",
];

/// Variables that are also passed on to agent programs: their own settings, and those of their
/// tools.
const OF_AGENTS: &[&str] = &["ANTHROPIC_*", "OPENAI_*", "CLAUDE_CODE_*", "CODEX_*"];

/// An environment that holds only allowed variables: the complete environment of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandEnvironment {
    variables: Vec<(OsString, Option<OsString>)>,
    passed: Vec<String>,
}

impl CommandEnvironment {
    /// Returns the variables of `all` that are on the allowlist or in `also`.
    pub fn filter_passed(
        all: impl IntoIterator<Item = (OsString, OsString)>,
        also: &[String],
    ) -> Vec<(OsString, OsString)> {
        let passing = all.into_iter().filter(|(name, _)| is_passed(name, also));
        passing
            .filter(|(name, value)| {
                !is_missing_temp_folder(name, value) && !hides_failures(name, value)
            })
            .collect()
    }

    /// Returns the names of `all` that are not passed on.
    pub fn list_withheld(
        all: impl IntoIterator<Item = (OsString, OsString)>,
        also: &[String],
    ) -> Vec<String> {
        let withheld = all.into_iter().filter(|(name, _)| !is_passed(name, also));
        withheld.filter_map(|(name, _)| name.into_string().ok()).collect()
    }

    /// Returns the variables of `all` that are for agent programs alone.
    pub fn filter_for_agents(
        all: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        all.into_iter()
            .filter(|(name, _)| matches_any_pattern(name, OF_AGENTS.iter().copied()))
            .collect()
    }

    /// Keeps only the variables of `all` that are on the allowlist or in `also`, and puts `shims`
    /// first in the search path.
    pub fn from_variables(
        all: impl IntoIterator<Item = (OsString, OsString)>,
        also: &[String],
        shims: &Path,
    ) -> Self {
        let mut narrowed = Self::default();
        let mut path = OsString::from(shims);
        for (name, value) in all {
            if name == "PATH" {
                path.push(":");
                path.push(value);
            } else if is_passed(&name, also)
                && !is_missing_temp_folder(&name, &value)
                && !hides_failures(&name, &value)
            {
                narrowed.passed.push(name.to_string_lossy().into_owned());
                narrowed.variables.push((name, Some(value)));
            }
        }
        narrowed.passed.push("PATH".to_owned());
        narrowed.passed.sort();
        narrowed.variables.push(("PATH".into(), Some(path)));
        narrowed
    }

    /// Adds variables that the supervisor sets.
    #[must_use]
    pub fn with_variables(mut self, ours: Vec<(OsString, Option<OsString>)>) -> Self {
        self.variables.extend(ours);
        self
    }

    /// Returns the names that are passed on.
    pub fn passed_names(&self) -> &[String] {
        &self.passed
    }

    /// Returns all variables; one without a value is removed.
    pub fn variables(&self) -> &[(OsString, Option<OsString>)] {
        &self.variables
    }
}

/// Returns whether a variable names a missing folder for temporary files: programs fail or hang
/// because of it, and without it they use the usual one.
fn is_missing_temp_folder(name: &OsStr, value: &OsStr) -> bool {
    (name == "TMPDIR" || name == "TMP" || name == "TEMP") && !Path::new(value).is_dir()
}

/// Returns whether a variable tells `make` to end well although a recipe fails or is not run.
fn hides_failures(name: &OsStr, value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let first = value.split_whitespace().next().unwrap_or_default();
    let letters = first.strip_prefix('-').unwrap_or(first);
    let is_short = !letters.starts_with('-') && !letters.contains('=');
    let long = ["--ignore-errors", "--dry-run", "--just-print", "--touch", "--question", "--recon"];
    let is_hiding = |word: &str| long.contains(&word) || matches!(word, "-i" | "-n" | "-t" | "-q");
    name == "MAKEFLAGS"
        && (is_short && letters.contains(['i', 'n', 't', 'q'])
            || value.split_whitespace().any(is_hiding))
}

/// Returns whether a variable is on the allowlist.
fn is_passed(name: &OsStr, also: &[String]) -> bool {
    matches_any_pattern(name, USUAL.iter().copied().chain(also.iter().map(String::as_str)))
}

fn matches_any_pattern<'a>(name: &OsStr, mut patterns: impl Iterator<Item = &'a str>) -> bool {
    let name = name.to_string_lossy();
    patterns.any(|pattern| match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => name == pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_passed_on() {
        let also = ["MY_*".to_owned()];
        for name in [
            "PATH", "LC_ALL", "XDG_CACHE_HOME", "CARGO_HOME", "MY_THING", "HTTPS_PROXY",
            "no_proxy", "UNSTUCK_GUARD",
        ] {
            assert!(is_passed(OsStr::new(name), &also), "{name}");
        }
        for name in [
            "GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN", "CARGO_REGISTRY_TOKEN", "SSH_AUTH_SOCK",
            "AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GIT_ASKPASS",
            "UNSTUCK_TOKEN", "UNSTUCK_SOCKET", "DOCKER_AUTH_CONFIG", "MYTHING",
        ] {
            assert!(!is_passed(OsStr::new(name), &also), "{name}");
        }
    }

    // B15: what the person's own `make` is told is no verdict on the work
    #[test]
    fn make_is_not_told_to_end_well() {
        let hides = |value: &str| hides_failures(OsStr::new("MAKEFLAGS"), OsStr::new(value));
        for value in ["-i", "i", "ki", "-j4 -i", "--ignore-errors", "-n"] {
            assert!(hides(value), "{value}");
        }
        for value in
            ["-j8", "j8", "-j 4 -O", "--output-sync=line", "--no-print-directory", "", "V=in"]
        {
            assert!(!hides(value), "{value}");
        }
    }

    #[test]
    fn the_shims_are_looked_through_first() {
        let all = [("PATH", "/bin"), ("GH_TOKEN", "x"), ("HOME", "/home/ada")];
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let narrowed = CommandEnvironment::from_variables(all, &[], Path::new("/shims"));
        let expected: [(OsString, Option<OsString>); 2] = [
            ("HOME".into(), Some("/home/ada".into())),
            ("PATH".into(), Some("/shims:/bin".into())),
        ];
        assert_eq!(narrowed.variables(), expected);
        assert_eq!(narrowed.passed_names(), ["HOME", "PATH"]);
    }
}

//! Prepares the pull request of a build: runs the checks before a push and before a pull request on its last
//! commit, and composes its destination and its text.

use std::env;
use std::path::{Path, PathBuf};

use unstuck_core::fault::{CheckStage, Fault, Kind};
use unstuck_core::plan::PullRequest;
use unstuck_runner::report::{BuildFacts, BuildReport};
use unstuck_store::Store;
use unstuck_world::commands::CommandEnvironment;
use unstuck_world::git::Git;
use unstuck_world::provider::Credential;
use unstuck_world::validate::GateChecks;
use unstuck_world::workspace::{self, Shell};

use super::plan::{LandingPlan, LandingSource};
use crate::build::wall_rules;
use crate::commands::report;
use crate::error::{CliError, LandError};
use crate::project::{self, LocalProject, own_guard, project_redactor};
use crate::settings::{GithubSettings, Settings, environment_variable};

/// The host of the service that needs no configured address.
const GITHUB: &str = "github.com";
/// Maximum length of the body, below the service's own limit because it adds to the text.
const BODY_CHARS_MAX: usize = 60_000;
const TITLE_CHARS_MAX: usize = 200;

/// Returns the token, or an error that names the variable to set.
pub(super) fn find_token(github: &GithubSettings) -> Result<Credential, CliError> {
    let name = &github.token_env;
    let found = environment_variable(name).as_deref().and_then(Credential::new);
    found.ok_or_else(|| LandError::NoToken { variable: name.clone() }.into())
}

pub(super) async fn compose_request(
    project: &LocalProject,
    store: &dyn Store,
    settings: &Settings,
    coming: &LandingPlan,
) -> Result<PullRequest, CliError> {
    let Some(base) = coming.onto.clone() else { return Err(LandError::NoBranchHere.into()) };
    let url = coming.found.git.read_push_url(&settings.run.remote).await?;
    let github = &settings.github;
    let read = parse_remote(&url);
    let at_github = read.as_ref().is_some_and(|(host, _)| host == GITHUB);
    let named = github.repository.clone().or(read.map(|(_, name)| name));
    let Some(repository) = named.filter(|_| at_github || github.base_url.is_some()) else {
        return Err(LandError::NotAtGithub { remote: settings.run.remote.clone() }.into());
    };
    let seen = (false, project::now());
    let facts = BuildFacts::load(store, project.name(), Some(coming.build), seen).await?;
    let body = facts
        .map(|facts| report::render_as_markdown(BuildReport::from_facts(&facts)))
        .unwrap_or_default();
    Ok(PullRequest {
        repository,
        head: Some(coming.branch.clone()),
        base,
        title: cut_text(&compose_title(coming), TITLE_CHARS_MAX),
        body: cut_text(&project_redactor(project).redact_text(&body), BODY_CHARS_MAX),
        draft: github.draft,
        base_url: github.base_url.clone(),
        token_variable: github.token_env.clone(),
        ..PullRequest::default()
    })
}

/// Returns the title of the first commit, with the number of the others.
fn compose_title(coming: &LandingPlan) -> String {
    let first = coming.commits.first().map_or("", |commit| commit.title.as_str());
    match coming.commits.len() {
        0 | 1 => first.to_owned(),
        commits => format!("{first}, and {} more", commits - 1),
    }
}

fn cut_text(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Parses the address of a remote into the host, and the owner and name of the repository.
fn parse_remote(url: &str) -> Option<(String, String)> {
    let (authority, path) = match url.split_once("://") {
        Some((scheme, rest)) => {
            let known = matches!(scheme, "https" | "http" | "ssh" | "git");
            rest.split_once('/').filter(|_| known)?
        }
        // The form of ssh: `git@host:owner/name`. A path on this machine has no host.
        None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host).to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    let [owner, name] = parts[..] else { return None };
    let plain = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    (!host.is_empty() && plain(owner) && plain(name)).then(|| (host, format!("{owner}/{name}")))
}

/// The folder of the worktree, in the project's `.unstuck/`.
const FOLDER: &str = "landing";

/// Passes if every check is green. There is no comparison with a baseline here: the commit that is sent
/// must be green.
pub(super) async fn require_green(
    project: &LocalProject,
    settings: &Settings,
    source: &LandingSource,
) -> Result<(), CliError> {
    let LandingSource { git, tip, folder, .. } = source;
    let validate = &settings.validate;
    let gates = [(CheckStage::PrePush, &validate.pre_push), (CheckStage::PrePr, &validate.pre_pr)];
    if gates.iter().all(|(_, commands)| commands.is_empty()) {
        return Ok(());
    }
    let place = LandingWorktree { git, path: project.unstuck_folder().join(FOLDER), folder };
    place.remove().await?;
    git.add_worktree(&place.path, tip).await?;
    let checked = place.run_checks(project, settings, &gates).await;
    place.remove().await?;
    checked
}

struct LandingWorktree<'a> {
    git: &'a Git,
    path: PathBuf,
    /// The folder of the project in the repository.
    folder: &'a Path,
}

impl LandingWorktree<'_> {
    /// Removes the worktree, which an interrupted command may have left.
    async fn remove(&self) -> Result<(), CliError> {
        // A folder that is not a worktree of git was never completed.
        let known = self.path.exists() && self.git.remove_worktree(&self.path).await.is_ok();
        let left = (!known).then(|| self.path.clone());
        for folder in left.into_iter().chain([self.private_folder()]) {
            workspace::remove_folder(&folder).map_err(CliError::unusable(&folder))?;
        }
        Ok(())
    }

    /// Returns the folder that replaces the operator's private folders during checks.
    fn private_folder(&self) -> PathBuf {
        self.path.with_added_extension("private")
    }

    async fn run_checks(
        &self,
        project: &LocalProject,
        settings: &Settings,
        gates: &[(CheckStage, &Vec<String>)],
    ) -> Result<(), CliError> {
        let folder = &self.path.join(self.folder);
        workspace::share_into(project.root(), folder, &settings.run.share)?;
        let shell = self.create_shell(project, settings)?;
        for command in &settings.run.setup {
            let ended = shell.run(folder, command).await?;
            if let Some(fault) = unstuck_world::process::derive_fault(&ended, "setup", command) {
                return Err(fault.into());
            }
        }
        for (gate, commands) in gates {
            // No file is restored in a finished commit, so no protected path is needed.
            let Ok(checks) = GateChecks::new(*gate, commands, &[]) else { continue };
            checks.run_in_folder(folder, &shell).await.map_err(check_error)?;
        }
        Ok(())
    }

    /// Returns the shell for setup and checks, behind the same sandbox as in a build.
    fn create_shell(&self, project: &LocalProject, settings: &Settings) -> Result<Shell, CliError> {
        let environment = CommandEnvironment::filter_passed(env::vars_os(), &settings.commands.env);
        let root = project.root();
        let private = self.private_folder();
        let wall = workspace::build_wall_around(root, &self.path, &private, &environment);
        Ok(Shell {
            guard: own_guard()?,
            lock: project.runs_folder().join("landing.lock"),
            inherits_environment: false,
            environment: environment.into_iter().map(|(name, value)| (name, Some(value))).collect(),
            timeout: settings.validate.timeout.0.into(),
            wall: wall.with_rules(&wall_rules(settings, project.root())),
        })
    }
}

/// Converts a failed check to an error with its output.
fn check_error(fault: Fault) -> CliError {
    match &fault.kind {
        Kind::ValidationPrePush(check) | Kind::ValidationPrePr(check) => LandError::Red {
            code: fault.code(),
            command: check.command.clone(),
            output: check.output.clone(),
        }
        .into(),
        _ => fault.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_says_where_its_pull_requests_are() {
        let cases = [
            ("https://github.com/ada/shop.git", Some(("github.com", "ada/shop"))),
            ("https://github.com/ada/shop/", Some(("github.com", "ada/shop"))),
            ("https://ada:secret@GitHub.com/ada/shop", Some(("github.com", "ada/shop"))),
            ("git@github.com:ada/shop.git", Some(("github.com", "ada/shop"))),
            ("ssh://git@git.example:2222/ada/shop.git", Some(("git.example", "ada/shop"))),
            ("/srv/git/shop.git", None),
            ("../shop", None),
            ("file:///srv/git/shop.git", None),
            ("https://github.com/ada", None),
            ("https://git.example/group/ada/shop", None),
            ("", None),
        ];
        for (url, expected) in cases {
            let expected = expected.map(|(host, name)| (host.to_owned(), name.to_owned()));
            assert_eq!(parse_remote(url), expected, "{url}");
        }
    }

    #[test]
    fn a_text_is_cut_between_signs() {
        assert_eq!(cut_text("grün", 4), "grün");
        assert_eq!(cut_text("grün", 3), "grü…");
    }
}

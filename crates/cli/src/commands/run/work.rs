//! Carries out the work of `unstuck run` and `unstuck resume`: starts or continues builds and follows them to the
//! end, in this process or in the background.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use unstuck_core::engine::BuildId;
use unstuck_core::plan::Plan;
use unstuck_runner::report::{BuildFacts, find_missing_push};
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;

use super::FollowArgs;
use super::ending::BuildsEnding;
use super::follow::{self, FollowLimits};
use super::show::RunOutput;
use crate::commands::builds::{BuildWorkers, OtherPerformers, PerformedBuilds, load_open_builds};
use crate::commands::land;
use crate::commands::serve::RunServer;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, EndSignals, LocalProject, ProjectSession};
use crate::render::Terminal;

pub(super) struct RunWork<'a> {
    pub(super) project: &'a LocalProject,
    pub(super) workers: &'a BuildWorkers,
    pub(super) follow: &'a FollowArgs,
    pub(super) terminal: &'a Terminal,
}

impl RunWork<'_> {
    /// Starts the plan, or continues unfinished builds, and follows them to the end.
    pub(super) async fn carry_out(&self, plan: Option<Plan>) -> Result<Exit, CliError> {
        let store = self.project.open_or_create_store()?;
        let mut signals = EndSignals::new()?;
        let mut view = RunOutput::new(self.follow, self.project, &store, self.terminal)?;
        let mut session = None;
        let mut server = None;
        let ending = tokio::select! {
            biased;
            signal = signals.next() => {
                view.report_ending()?;
                BuildsEnding::Signal(signal)
            }
            ending = self.follow_to_end(&store, (&mut session, &mut server), plan, &mut view) => {
                ending?
            }
        };
        if let Some(server) = server {
            server.shut_down().await;
        }
        tokio::select! {
            biased;
            signal = signals.next() => return Ok(signal.to_exit()),
            left = project::leave_session(session) => left?,
        }
        view.close(&ending).await?;
        match ending {
            BuildsEnding::Background => resume_in_background(self.project, self.terminal),
            ending => Ok(ending.to_exit()),
        }
    }

    async fn follow_to_end(
        &self,
        store: &Arc<dyn Store>,
        (place, server): (&mut Option<ProjectSession>, &mut Option<RunServer>),
        plan: Option<Plan>,
        view: &mut RunOutput<'_>,
    ) -> Result<BuildsEnding, CliError> {
        let verb = if plan.is_some() { "run" } else { "resume" };
        let mut patience = FollowLimits::new(self.follow);
        // Pending answers may end a build as soon as the session is open.
        let mut builds = match plan {
            Some(_) => Vec::new(),
            None => load_open_builds(self.project, store).await?,
        };
        let before = store.load_builds(self.project.name()).await?;
        let mut is_asked_for = false;
        if plan.is_none() && builds.is_empty() {
            return Ok(BuildsEnding::NothingToDo);
        }
        let mut performing = PerformedBuilds::new(self.project);
        let follow = async |session: &mut ProjectSession| {
            self.start_server(session, store, server, view).await?;
            performing.move_to(session.connection()).await?;
            if let Some(server) = server.as_ref() {
                server.connect(session.connection()).await?;
            }
            match &plan {
                Some(plan) if builds.is_empty() => {
                    // A previous holder may have started the build without a response.
                    let begun = if std::mem::replace(&mut is_asked_for, true) {
                        self.find_begun_build(store, plan, &before).await?
                    } else {
                        None
                    };
                    builds.push(match begun {
                        Some(build) => build,
                        None => {
                            self.workers.require_free_branch(store).await?;
                            self.workers.start_build(session.connection(), plan.clone()).await?
                        }
                    });
                }
                _ => self.workers.resume_builds(session, store, &builds).await?,
            }
            let waited_for = OtherPerformers::WaitedFor;
            self.workers
                .perform_builds(&mut performing, session.connection(), store, &builds, waited_for)
                .await?;
            view.follow_builds(&builds).await?;
            follow::follow_until_end(session, store, self.project, &builds, view, &mut patience)
                .await
        };
        let ending = project::with_session(self.project, store, verb, place, follow).await?;
        match (ending, place) {
            (BuildsEnding::Done | BuildsEnding::SomeNotDone, Some(session)) => {
                self.open_pull_requests(session, store, &builds, view, ending).await
            }
            _ => Ok(ending),
        }
    }

    /// Returns the build of the plan that is new since `before`.
    async fn find_begun_build(
        &self,
        store: &Arc<dyn Store>,
        plan: &Plan,
        before: &[BuildRow],
    ) -> Result<Option<BuildId>, CliError> {
        let is_new = |row: &&BuildRow| before.iter().all(|known| known.id != row.id);
        for row in store.load_builds(self.project.name()).await?.iter().filter(is_new) {
            let begun = store.load_build_tasks(self.project.name(), row.id).await?;
            if begun.iter().map(|task| &*task.spec).eq(plan.iter().map(|(spec, _)| spec)) {
                return Ok(Some(row.id));
            }
        }
        Ok(None)
    }

    /// Serves the project while this process is the holder. Otherwise the holder serves it.
    async fn start_server(
        &self,
        session: &ProjectSession,
        store: &Arc<dyn Store>,
        server: &mut Option<RunServer>,
        view: &mut RunOutput<'_>,
    ) -> Result<(), CliError> {
        let settings = &self.workers.settings().server;
        if server.is_none() && settings.during_run && session.holder_handle().is_some() {
            match RunServer::start(self.project, store, settings).await {
                Ok(begun) => {
                    view.show_server(&begun.frontend)?;
                    *server = Some(begun);
                }
                // The work does not need the server.
                Err(error) => {
                    view.write_message(&format!("unstuck: nothing is served: {error}."))?;
                }
            }
        }
        Ok(())
    }

    /// Reports the branches that were not pushed to their remote, with the command that pushes them.
    async fn report_unpushed(
        &self,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
        view: &mut RunOutput<'_>,
    ) -> Result<(), CliError> {
        if !self.workers.settings().run.push {
            return Ok(());
        }
        for build in builds {
            let name = self.project.name();
            let seen = (false, project::now());
            let facts = BuildFacts::load(store.as_ref(), name, Some(*build), seen).await?;
            if let Some(left) = facts.as_ref().and_then(find_missing_push) {
                view.write_message(&format!(
                    "unstuck: {build} was not pushed to {}. {}",
                    left.remote,
                    left.render_advice()
                ))?;
            }
        }
        Ok(())
    }

    /// Opens the pull requests that the settings ask for. A failure does not undo any work.
    async fn open_pull_requests(
        &self,
        session: &ProjectSession,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
        view: &mut RunOutput<'_>,
        mut ending: BuildsEnding,
    ) -> Result<BuildsEnding, CliError> {
        self.report_unpushed(store, builds, view).await?;
        if !self.workers.settings().run.pull_request {
            return Ok(ending);
        }
        for build in builds {
            match land::open_pull_request(self.project, store, session, *build).await {
                Ok(Some(url)) => {
                    view.write_message(&format!("unstuck: pull request of {build}: {url}"))?;
                }
                Ok(None) => {}
                Err(error) => {
                    view.write_message(&format!(
                        "unstuck: {build} has no pull request: {error}. `unstuck land {build} --pr` \
                         tries again."
                    ))?;
                    ending = BuildsEnding::SomeNotDone;
                }
            }
        }
        Ok(ending)
    }
}

/// Leaves the project, so that nothing keeps running.
/// Starts this command again in the background.
pub(super) fn start_in_background(
    project: &LocalProject,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let arguments = env::args_os().skip(1).filter(|argument| argument != "--detach");
    spawn_background(project, arguments.collect(), "runs", terminal)
}

/// Continues the builds of this process in the background.
fn resume_in_background(project: &LocalProject, terminal: &Terminal) -> Result<Exit, CliError> {
    let root = project.root().into();
    spawn_background(project, vec!["-C".into(), root, "resume".into()], "continues", terminal)
}

/// Starts the program without a terminal and in its own process group, so that closing the terminal does
/// not end it.
fn spawn_background(
    project: &LocalProject,
    arguments: Vec<OsString>,
    does: &str,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let log = project.run_log_path();
    let unusable = CliError::unusable(&log);
    project.open_or_create_store()?;
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(&log).map_err(unusable)?;
    let executable = env::current_exe().map_err(unusable)?;
    let mut command = Command::new(executable);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    command.stdout(file.try_clone().map_err(unusable)?).stderr(file);
    let child = command.spawn().map_err(unusable)?;
    let mut out = terminal.plain();
    writeln!(out, "It {does} in the background (process {}).", child.id())?;
    writeln!(out, "`unstuck status` shows where it stands, `unstuck log -f` what happens.")?;
    writeln!(out, "What it says itself is in {}.", log.display())?;
    out.flush()?;
    Ok(Exit::Done)
}

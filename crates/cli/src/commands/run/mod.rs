//! `unstuck run`: performs tasks as a build, with commits as results and questions to a person.
//! `unstuck resume`: continues unfinished builds.

mod begin;
mod begun;
mod board;
mod detach;
mod dry;
mod elsewhere;
mod ending;
mod follow;
mod in_place;
mod live;
mod performing;
mod show;
pub(super) mod tasks;
mod tick;

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::BuildId;
use unstuck_core::plan::Plan;
use unstuck_runner::report::{Facts, push_left};
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;
use unstuck_world::process::Guard;

use crate::args::{Follow, Resume, Run};
use crate::commands::land;
use crate::commands::serve::Aside;
use crate::error::{Error, TasksError};
use crate::exit::Exit;
use crate::project::{self, Project, Seat, Signals};
use crate::render::{self, Terminal};
use crate::settings::{Resolved, kept_options, load_under};
pub(super) use begin::{Crew, open_builds};
use ending::Ending;
use follow::Patience;
pub(super) use performing::{Others, Performing};
use show::View;

/// Runs `unstuck run`.
pub(crate) fn run(args: &Run, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let resolved =
        Resolved::load(project.root(), args.follow.config.path.as_deref(), &args.flags())?;
    let project = project.with(resolved.clone());
    let options = kept_options(&args.flags(), args.follow.config.path.as_deref());
    project::runtime()?.block_on(async {
        let tasks = match tasks::tasks(&project, &args.work, dir).await {
            Err(done @ Error::Tasks(TasksError::AllDone)) => {
                render::note(&format!("unstuck: {done}."));
                return Ok(Exit::Done);
            }
            tasks => tasks?,
        };
        let (mut tasks, left_out) = begun::leave_out(&project, tasks).await?;
        if let Some(left_out) = left_out {
            render::note(&format!("unstuck: {left_out}."));
        }
        for task in &mut tasks {
            task.options.clone_from(&options);
        }
        let crew = Crew::gather(&project, resolved).await?.under(options);
        let plan = crew.plan(tasks)?;
        if args.dry {
            return dry::show(&crew, &plan, args.follow.json, terminal);
        }
        for concern in crew.check(&plan).await? {
            render::note(&format!("unstuck: {}", concern.line()));
        }
        if let Some(line) = crew.missing_remote().await? {
            render::note(&line);
        }
        if args.detach {
            return detach::start(&project, terminal);
        }
        let work = Work { project: &project, crew: &crew, follow: &args.follow, terminal };
        work.carry_out(Some(plan)).await
    })
}

/// Runs `unstuck resume`.
pub(crate) fn resume(
    args: &Resume,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let config = args.follow.config.path.as_deref();
    // Without a store there is nothing to continue.
    let store = project.store()?;
    project::runtime()?.block_on(async {
        let open = open_builds(&project, &store).await?;
        let options = begin::options_of(&project, &store, &open).await?;
        let resolved = load_under(project.root(), &options, config)?;
        let project = project.with(resolved.clone());
        let crew = Crew::gather(&project, resolved).await?.under(options);
        let work = Work { project: &project, crew: &crew, follow: &args.follow, terminal };
        work.carry_out(None).await
    })
}

/// The work to carry out, with its context.
struct Work<'a> {
    project: &'a Project,
    crew: &'a Crew,
    follow: &'a Follow,
    terminal: &'a Terminal,
}

impl Work<'_> {
    /// Starts the plan, or continues unfinished builds, and follows them to the end.
    async fn carry_out(&self, plan: Option<Plan>) -> Result<Exit, Error> {
        let store = self.project.make_store()?;
        let mut signals = Signals::new()?;
        let mut view = View::new(self.follow, self.project, &store, self.terminal)?;
        let mut seat = None;
        let mut aside = None;
        let ending = tokio::select! {
            biased;
            signal = signals.next() => {
                view.ending()?;
                Ending::Signal(signal)
            }
            ending = self.follow_to_the_end(&store, (&mut seat, &mut aside), plan, &mut view) => {
                ending?
            }
        };
        if let Some(aside) = aside {
            aside.end().await;
        }
        tokio::select! {
            biased;
            signal = signals.next() => return Ok(signal.exit()),
            left = leave(seat) => left?,
        }
        view.close(&ending).await?;
        match ending {
            Ending::Background => detach::go_on(self.project, self.terminal),
            ending => Ok(ending.exit()),
        }
    }

    async fn follow_to_the_end(
        &self,
        store: &Arc<dyn Store>,
        (place, aside): (&mut Option<Seat>, &mut Option<Aside>),
        plan: Option<Plan>,
        view: &mut View<'_>,
    ) -> Result<Ending, Error> {
        let verb = if plan.is_some() { "run" } else { "resume" };
        let mut patience = Patience::new(self.follow);
        // Pending answers may end a build as soon as the seat is taken.
        let mut builds = match plan {
            Some(_) => Vec::new(),
            None => open_builds(self.project, store).await?,
        };
        let before = store.builds(self.project.name()).await?;
        let mut is_asked_for = false;
        if plan.is_none() && builds.is_empty() {
            return Ok(Ending::NothingToDo);
        }
        let mut performing = Performing::new(self.project);
        loop {
            let seat = place.insert(Seat::take(self.project, store, verb).await?);
            self.serve_from(seat, store, aside, view).await?;
            let followed = async {
                performing.sit(seat.post()).await?;
                if let Some(aside) = aside {
                    aside.sit(seat.post()).await?;
                }
                match &plan {
                    Some(plan) if builds.is_empty() => {
                        // A previous holder may have started the build without a response.
                        let begun = if std::mem::replace(&mut is_asked_for, true) {
                            self.begun(store, plan, &before).await?
                        } else {
                            None
                        };
                        builds.push(match begun {
                            Some(build) => build,
                            None => {
                                self.crew.make_way(store).await?;
                                self.crew.begin(seat.post(), plan.clone()).await?
                            }
                        });
                    }
                    _ => self.crew.let_go_on(seat, store, &builds).await?,
                }
                let waited_for = Others::WaitedFor;
                self.crew.perform(&mut performing, seat.post(), store, &builds, waited_for).await?;
                view.open(&builds).await?;
                follow::until_they_end(seat, store, self.project, &builds, view, &mut patience)
                    .await
            };
            match followed.await {
                // The holder is gone, and the work goes on.
                Ok(Ending::HolderGone) => {}
                Err(error) if seat.is_left_by(&error) => {}
                Ok(over @ (Ending::Done | Ending::SomeNotDone)) => {
                    return self.send(seat, store, &builds, view, over).await;
                }
                ended => return ended,
            }
        }
    }

    /// Returns the build of the plan that is new since `before`.
    async fn begun(
        &self,
        store: &Arc<dyn Store>,
        plan: &Plan,
        before: &[BuildRow],
    ) -> Result<Option<BuildId>, Error> {
        let is_new = |row: &&BuildRow| before.iter().all(|known| known.id != row.id);
        for row in store.builds(self.project.name()).await?.iter().filter(is_new) {
            let begun = store.tasks(self.project.name(), row.id).await?;
            if begun.iter().map(|task| &*task.spec).eq(plan.iter().map(|(spec, _)| spec)) {
                return Ok(Some(row.id));
            }
        }
        Ok(None)
    }

    /// Serves the project while this process is the holder. Otherwise the holder serves it.
    async fn serve_from(
        &self,
        seat: &Seat,
        store: &Arc<dyn Store>,
        aside: &mut Option<Aside>,
        view: &mut View<'_>,
    ) -> Result<(), Error> {
        let server = &self.crew.settings().server;
        if aside.is_none() && server.during_run && seat.holder().is_some() {
            match Aside::begin(self.project, store, server).await {
                Ok(begun) => {
                    view.serves(&begun.face)?;
                    *aside = Some(begun);
                }
                // The work does not need the server.
                Err(error) => view.say(&format!("unstuck: nothing is served: {error}."))?,
            }
        }
        Ok(())
    }

    /// Reports the branches that were not pushed to their remote, with the command that pushes them.
    async fn tell_pushes(
        &self,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
        view: &mut View<'_>,
    ) -> Result<(), Error> {
        if !self.crew.settings().run.push {
            return Ok(());
        }
        for build in builds {
            let name = self.project.name();
            let seen = (false, project::now());
            let facts = Facts::read(store.as_ref(), name, Some(*build), seen).await?;
            if let Some(left) = facts.as_ref().and_then(push_left) {
                view.say(&format!(
                    "unstuck: {build} was not pushed to {}. {}",
                    left.remote,
                    left.advice()
                ))?;
            }
        }
        Ok(())
    }

    /// Opens the pull requests that the settings ask for. A failure does not undo any work.
    async fn send(
        &self,
        seat: &Seat,
        store: &Arc<dyn Store>,
        builds: &[BuildId],
        view: &mut View<'_>,
        mut ending: Ending,
    ) -> Result<Ending, Error> {
        self.tell_pushes(store, builds, view).await?;
        if !self.crew.settings().run.pull_request {
            return Ok(ending);
        }
        for build in builds {
            match land::pull_request(self.project, store, seat, *build).await {
                Ok(Some(url)) => view.say(&format!("unstuck: pull request of {build}: {url}"))?,
                Ok(None) => {}
                Err(error) => {
                    view.say(&format!(
                        "unstuck: {build} has no pull request: {error}. `unstuck land {build} --pr` \
                         tries again."
                    ))?;
                    ending = Ending::SomeNotDone;
                }
            }
        }
        Ok(ending)
    }
}

/// Leaves the project, so that nothing keeps running.
async fn leave(seat: Option<Seat>) -> Result<(), Error> {
    match seat {
        Some(seat) => seat.leave().await,
        None => Ok(()),
    }
}

/// Returns this program as the guard of child processes.
fn guard() -> Result<Guard, Error> {
    project::own_guard()
}

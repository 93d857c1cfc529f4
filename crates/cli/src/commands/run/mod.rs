//! `unstuck run`: tasks in, commits out, questions in between. `unstuck resume`: the same for what
//! was not finished.

mod begin;
mod board;
mod detach;
mod dry;
mod elsewhere;
mod ending;
mod follow;
mod in_place;
mod live;
mod show;
pub(super) mod tasks;
mod tick;

use std::path::Path;
use std::sync::Arc;

use unstuck_core::engine::BuildId;
use unstuck_runner::report::{Facts, push_left};
use unstuck_store::Store;
use unstuck_world::process::Guard;

use crate::args::{Follow, Resume, Run};
use crate::commands::land;
use crate::commands::serve::Aside;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{self, Project, Seat, Signals};
use crate::render::{self, Terminal};
use crate::settings::{Resolved, kept_options, load_under};
pub(super) use begin::{Crew, Others, Performing, open_builds};
use ending::Ending;
use follow::Patience;
use show::View;

/// Carries `run` out.
pub(crate) fn run(args: &Run, dir: Option<&Path>, terminal: &Terminal) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let resolved =
        Resolved::load(project.root(), args.follow.config.path.as_deref(), &args.flags())?;
    let project = project.with(resolved.clone());
    let options = kept_options(&args.flags(), args.follow.config.path.as_deref());
    project::runtime()?.block_on(async {
        let mut tasks = tasks::tasks(&project, &args.work, dir).await?;
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

/// Carries `resume` out.
pub(crate) fn resume(
    args: &Resume,
    dir: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, Error> {
    let project = Project::find(dir)?;
    let config = args.follow.config.path.as_deref();
    // Where nothing was ever run, there is nothing to go on with.
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

/// What is carried out, and what that takes.
struct Work<'a> {
    project: &'a Project,
    crew: &'a Crew,
    follow: &'a Follow,
    terminal: &'a Terminal,
}

impl Work<'_> {
    /// Starts the plan, or takes up what was not finished, and follows it to its end.
    async fn carry_out(&self, plan: Option<unstuck_core::plan::Plan>) -> Result<Exit, Error> {
        let store = self.project.make_store()?;
        let mut signals = Signals::new()?;
        let mut view = View::new(self.follow, self.project, &store, self.terminal)?;
        let (mut seat, mut aside) = (None, None);
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
        plan: Option<unstuck_core::plan::Plan>,
        view: &mut View<'_>,
    ) -> Result<Ending, Error> {
        let verb = if plan.is_some() { "run" } else { "resume" };
        let mut patience = Patience::new(self.follow);
        // Answers that wait to be taken up may end a build as soon as we sit.
        let (mut plan, mut builds) = match plan {
            Some(plan) => (Some(plan), Vec::new()),
            None => (None, open_builds(self.project, store).await?),
        };
        if plan.is_none() && builds.is_empty() {
            return Ok(Ending::NothingToDo);
        }
        loop {
            let seat = place.insert(Seat::take(self.project, store, verb).await?);
            self.serve_from(seat, store, aside, view).await?;
            let followed = async {
                match plan.take() {
                    Some(plan) => {
                        self.crew.make_way(store).await?;
                        builds.push(self.crew.begin(seat.post(), plan).await?);
                    }
                    None => self.crew.let_go_on(seat, store, &builds).await?,
                }
                let _performing =
                    self.crew.perform(seat.post(), store, &builds, Others::WaitedFor).await?;
                view.open(&builds).await?;
                follow::until_they_end(seat, store, self.project, &builds, view, &mut patience)
                    .await
            };
            match followed.await {
                // Whoever held the project is gone, and what we do goes on.
                Ok(Ending::HolderGone) => {}
                Err(error) if seat.is_left_by(&error) => {}
                Ok(over @ (Ending::Done | Ending::SomeNotDone)) => {
                    return self.send(seat, store, &builds, view, over).await;
                }
                ended => return ended,
            }
        }
    }

    /// Serves the project while we hold it. Beside another holder there is no need: that one does.
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
                // What is done here can be done without being shown.
                Err(error) => view.say(&format!("unstuck: nothing is served: {error}."))?,
            }
        }
        if let Some(aside) = aside {
            aside.seat(seat.post());
        }
        Ok(())
    }

    /// Says which branches did not reach their remote, with the command that sends them.
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
            let (name, seen) = (self.project.name(), (false, project::now()));
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

    /// Opens the pull requests that the settings ask for. What is in their way takes nothing back of
    /// what was done.
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

/// Leaves nothing running behind.
async fn leave(seat: Option<Seat>) -> Result<(), Error> {
    match seat {
        Some(seat) => seat.leave().await,
        None => Ok(()),
    }
}

/// This program as the guard of others, where it can be one.
fn guard() -> Result<Guard, Error> {
    project::own_guard()
}

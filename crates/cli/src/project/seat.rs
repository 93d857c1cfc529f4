//! Where we sit: we hold the project and decide, or somebody else does and we perform our part.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use unstuck_core::engine::{BuildState, Command, Recorded, Standing, State};
use unstuck_runner::control::{Client, ClientError, Refusal, Server, TokenKey};
use unstuck_runner::notify::Sender;
use unstuck_runner::{
    CommandError, Decider, Ended, Handle, Look, Looked, Notice, Runner, Scope, World,
};
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;

use super::channels::{GRACE, sender};
use super::folder::{Project, holder};
use super::patience::{Found, take_or_join};
use super::post::Post;
use crate::build::redactor;
use crate::error::Error;

/// Where we sit.
pub(crate) struct Seat {
    post: Post,
    notices: broadcast::Receiver<Notice>,
    /// What comes with holding the project.
    held: Option<Held>,
}

/// What comes with holding a project.
struct Held {
    running: JoinHandle<Ended>,
    /// Tells people who are elsewhere.
    sender: Option<Sender>,
    server: Server,
}

/// What is heard.
pub(crate) enum Heard {
    /// Something happened.
    Notice(Notice),
    /// Whoever held the project is gone.
    HolderGone,
}

impl Seat {
    /// Takes the project, or a place beside whoever has it.
    pub(crate) async fn take(
        project: &Project,
        store: &Arc<dyn Store>,
        verb: &str,
    ) -> Result<Self, Error> {
        match take_or_join(project, store, verb, || Self::join(project)).await? {
            Found::Ours(runner) => Self::hold(project, store, *runner, verb).await,
            Found::Theirs(seat) => Ok(seat),
        }
    }

    async fn hold(
        project: &Project,
        store: &Arc<dyn Store>,
        runner: Runner,
        verb: &str,
    ) -> Result<Self, Error> {
        let sender = sender(project, store).await?;
        let handle = runner.handle();
        let unusable = |place: String| move |source| Error::Folder { place, source };
        let (key, socket) = (project.token_key(), project.socket());
        let token_key = TokenKey::open(&key).map_err(unusable(key.display().to_string()))?;
        let (told, redactor) = (handle.clone(), redactor(project));
        let server = Server::start_redacting(&socket, told, token_key, holder(verb), redactor)
            .map_err(unusable(socket.display().to_string()))?;
        let notices = handle.watch();
        let running = tokio::spawn(runner.run());
        // What was answered while nobody was here counts before anything is looked at.
        handle.take_answers().await?;
        let held = Some(Held { running, sender, server });
        Ok(Self { post: Post::Holder(handle), notices, held })
    }

    async fn join(project: &Project) -> std::io::Result<Self> {
        let (client, _) = Client::connect(&project.socket(), None).await?;
        let notices = client.watch().await.map_err(std::io::Error::other)?;
        Ok(Self { post: Post::Guest(client), notices, held: None })
    }

    /// The way to whoever decides.
    pub(crate) const fn post(&self) -> &Post {
        &self.post
    }

    /// Has a command decided; returns when that is on disk.
    pub(crate) async fn command(&self, command: Command) -> Result<Vec<Recorded>, Error> {
        self.post.command(command).await
    }

    /// Looks something up in the state of the project.
    pub(crate) async fn look(&self, look: Look) -> Result<Looked, Error> {
        Ok(match &self.post {
            Post::Holder(handle) => handle.look(move |state| look.at(state)).await?,
            Post::Guest(client) => client.look(look).await?,
        })
    }

    /// Performs the effects of `scope` from now on, as soon as nobody else does.
    pub(crate) async fn attach(&self, scope: Scope, world: Arc<dyn World>) -> Result<(), Error> {
        self.post.attach(scope, world).await
    }

    /// The same without waiting: whether nobody else performs it.
    pub(crate) async fn try_attach(
        &self,
        scope: Scope,
        world: Arc<dyn World>,
    ) -> Result<bool, Error> {
        self.post.try_attach(scope, world).await
    }

    /// Whoever decides.
    pub(crate) fn decider(&self) -> Arc<dyn Decider> {
        self.post.decider()
    }

    /// How a build stands, and whether a task of it is at work. Both are of one moment: the holder
    /// has them in memory, before the tables do.
    pub(crate) async fn standing(
        &self,
        store: &Arc<dyn Store>,
        project: &str,
        row: &BuildRow,
    ) -> Result<(BuildState, bool), Error> {
        let id = row.id;
        let works = |standing| matches!(standing, Standing::Running | Standing::Reconciling);
        match &self.post {
            Post::Holder(handle) => {
                let look = move |state: &State| {
                    let build = state.build(id)?;
                    let at_work =
                        build.count(Standing::Running) + build.count(Standing::Reconciling) > 0;
                    Some((build.state, at_work))
                };
                Ok(handle.look(look).await?.unwrap_or((row.state, false)))
            }
            Post::Guest(_) => {
                let tasks = store.tasks(project, id).await?;
                Ok((row.state, tasks.iter().any(|task| works(task.moved.state.standing()))))
            }
        }
    }

    /// Whether we decide ourselves, and know before the disk does.
    pub(crate) const fn holder(&self) -> Option<&Handle> {
        match &self.post {
            Post::Holder(handle) => Some(handle),
            Post::Guest(_) => None,
        }
    }

    /// The next thing that is heard.
    pub(crate) async fn hear(&mut self) -> Result<Heard, Error> {
        let Self { post, notices, held } = self;
        let left = async {
            match held {
                // It ends by itself only when the store is lost.
                Some(held) => match (&mut held.running).await {
                    Ok(Err(error)) => Err(error.into()),
                    _ => Err(CommandError::Ended.into()),
                },
                None => {
                    post.gone().await;
                    Ok(Heard::HolderGone)
                }
            }
        };
        tokio::select! {
            biased;
            notice = notices.recv() => Ok(Heard::Notice(notice.unwrap_or(Notice::Gap))),
            left = left => left,
        }
    }

    /// What is heard from here on, for somebody beside whoever hears it all.
    pub(crate) async fn watch(&self) -> Result<broadcast::Receiver<Notice>, Error> {
        Ok(match &self.post {
            Post::Holder(handle) => handle.watch(),
            Post::Guest(client) => client.watch().await?,
        })
    }

    /// Comes back when whoever held the project beside us is gone.
    pub(crate) async fn left(&self) {
        self.post.gone().await;
    }

    /// Whether an error means that whoever held the project beside us is ending or gone.
    pub(crate) const fn is_left_by(&self, error: &Error) -> bool {
        let gone = matches!(
            error,
            Error::Refused(ClientError::Gone | ClientError::Refused { why: Refusal::Ended, .. })
        );
        gone && matches!(self.post, Post::Guest(_))
    }

    /// Gets up properly: what we have begun is ended, everything is on disk, and the project is
    /// free.
    pub(crate) async fn leave(self) -> Result<(), Error> {
        self.post.leave().await;
        if let Some(Held { running, sender, server }) = self.held {
            let ended = running.await.map_err(|_| CommandError::Ended)?;
            // Others need not wait for what is told meanwhile.
            drop(server);
            if let Some(sender) = sender {
                sender.finish(GRACE).await;
            }
            ended?;
        }
        Ok(())
    }
}

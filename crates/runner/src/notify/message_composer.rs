//! The message about an event, composed with data from the store.

use unstuck_core::engine::{BuildId, BuildState, MutationId, QuestionId, TaskId};
use unstuck_core::fault::{Code, Work};
use unstuck_core::tell::{News, NewsKind, Notification};
use unstuck_store::tables::{BuildRow, QuestionStatus};
use unstuck_store::{Store, StoreError};

use super::waiting_messages::NextMessage;

/// The project that the messages are about.
#[derive(Clone, Copy)]
pub(super) struct MessageComposer<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) project: &'a str,
}

type ComposeResult = Result<Option<Notification>, StoreError>;

impl MessageComposer<'_> {
    /// Returns the message; `None` if there is nothing to tell any more.
    pub(super) async fn compose_message(&self, next: &NextMessage) -> ComposeResult {
        match next {
            NextMessage::More(number, last) => {
                Ok(Some(Notification::more_waiting(self.project, last, *number)))
            }
            NextMessage::One(news) => self.compose_news(news).await,
        }
    }

    async fn compose_news(&self, news: &News) -> ComposeResult {
        match news.what {
            NewsKind::Asked(question) => self.compose_question(news, question).await,
            NewsKind::TaskFailed(task, code) => self.compose_task_failed(news, task, code).await,
            NewsKind::BuildFailed(build, code) => {
                let message = Notification::build_failed(self.project, news, code);
                Ok(Some(message.with_build(Some(build))))
            }
            NewsKind::BuildWaits(build) => self.compose_build_waits(news, build).await,
            NewsKind::BuildPaused(build) => self.compose_build_paused(news, build).await,
            NewsKind::BuildCompleted(build) => self.compose_build_completed(news, build).await,
            NewsKind::Acted(mutation) => self.compose_action(news, mutation).await,
        }
    }

    /// Returns the message about a question, unless it was answered meanwhile.
    async fn compose_question(&self, news: &News, id: QuestionId) -> ComposeResult {
        let row = self.store.load_question(self.project, id).await?;
        let open = row.filter(|row| row.status == QuestionStatus::Pending);
        Ok(open.map(|row| {
            Notification::question_asked(self.project, news, id, row.code, &row.text)
                .with_build(row.build)
        }))
    }

    async fn compose_task_failed(&self, news: &News, id: TaskId, code: Code) -> ComposeResult {
        let row = self.store.load_task(self.project, id).await?;
        let work = row.as_ref().map_or(Work::Task, |row| row.spec.work());
        if work == Work::Job && self.has_failed_before(news, id, code).await? {
            return Ok(None);
        }
        let title = row.as_ref().map_or("", |row| row.spec.display_name());
        let message = Notification::task_failed(self.project, news, title, work, code);
        Ok(Some(message.with_build(row.map(|row| row.build))))
    }

    /// Returns whether a job failed the same way in its previous run, because that is reported only
    /// once. A task runs again only when the operator wants it to.
    async fn has_failed_before(
        &self,
        news: &News,
        id: TaskId,
        code: Code,
    ) -> Result<bool, StoreError> {
        let runs = self.store.load_task_runs(self.project, id).await?;
        let mut ended =
            runs.iter().rev().filter(|run| run.ended_at.is_some_and(|at| at <= news.at));
        let before = ended.nth(1);
        Ok(before.is_some_and(|run| run.fault.as_ref().is_some_and(|f| f.code() == code)))
    }

    /// Returns the message about a waiting build, unless it waits because of a question, which has
    /// a message of its own.
    async fn compose_build_waits(&self, news: &News, id: BuildId) -> ComposeResult {
        let row = self.load_build(id).await?;
        if row.is_none_or(|row| row.state != BuildState::Waiting) {
            return Ok(None);
        }
        let open = self.store.load_questions(self.project, Some(QuestionStatus::Pending)).await?;
        if open.iter().any(|question| question.created_at == news.at) {
            return Ok(None);
        }
        Ok(Some(Notification::build_waits(self.project, news).with_build(Some(id))))
    }

    async fn compose_build_paused(&self, news: &News, id: BuildId) -> ComposeResult {
        let row = self.load_build(id).await?;
        let paused = row.filter(|row| matches!(row.state, BuildState::Paused { .. }));
        Ok(paused.map(|_| Notification::build_paused(self.project, news).with_build(Some(id))))
    }

    async fn compose_build_completed(&self, news: &News, id: BuildId) -> ComposeResult {
        let row = self.load_build(id).await?;
        if row.is_none() {
            tracing::warn!(build = %id, "a completed build is not in the store");
        }
        let tally = row.as_ref().map(BuildRow::tally).unwrap_or_default();
        Ok(Some(Notification::build_completed(self.project, news, tally).with_build(Some(id))))
    }

    async fn compose_action(&self, news: &News, id: MutationId) -> ComposeResult {
        let Some(row) = self.store.load_mutation(self.project, id).await? else { return Ok(None) };
        let task = self.store.load_task(self.project, row.task).await?;
        let title = task.as_ref().map_or("", |task| task.spec.display_name());
        let message = Notification::work_shipped(self.project, news, row.spec.kind, title);
        Ok(message.map(|message| message.with_build(task.map(|task| task.build))))
    }

    async fn load_build(&self, id: BuildId) -> Result<Option<BuildRow>, StoreError> {
        Ok(self.store.load_builds(self.project).await?.into_iter().find(|row| row.id == id))
    }
}

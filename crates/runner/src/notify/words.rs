//! The message about an event, composed with data from the store.

use unstuck_core::engine::{BuildId, BuildState, MutationId, QuestionId, TaskId};
use unstuck_core::fault::{Code, Work};
use unstuck_core::tell::{Happened, Message, News, Tally};
use unstuck_store::tables::{BuildRow, QuestionStatus, TaskRow};
use unstuck_store::{Store, StoreError};

use super::waiting::Next;

/// The project that the messages are about.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) project: &'a str,
}

type Told = Result<Option<Message>, StoreError>;

impl Words<'_> {
    /// Returns the message; `None` if there is nothing to tell any more.
    pub(super) async fn of(&self, next: &Next) -> Told {
        match next {
            Next::More(number, last) => Ok(Some(Message::more(self.project, last, *number))),
            Next::One(news) => self.one(news).await,
        }
    }

    async fn one(&self, news: &News) -> Told {
        match news.what {
            Happened::Asked(question) => self.asked(news, question).await,
            Happened::TaskFailed(task, code) => self.task_failed(news, task, code).await,
            Happened::BuildFailed(build, code) => {
                let message = Message::build_failed(self.project, news, code);
                Ok(Some(message.about(Some(build))))
            }
            Happened::BuildWaits(build) => self.build_waits(news, build).await,
            Happened::BuildPaused(build) => self.build_paused(news, build).await,
            Happened::BuildCompleted(build) => self.build_completed(news, build).await,
            Happened::Acted(mutation) => self.acted(news, mutation).await,
        }
    }

    /// Returns the message about a question, unless it was answered meanwhile.
    async fn asked(&self, news: &News, id: QuestionId) -> Told {
        let row = self.store.question(self.project, id).await?;
        let open = row.filter(|row| row.status == QuestionStatus::Pending);
        Ok(open.map(|row| {
            Message::asked(self.project, news, id, row.code, &row.text).about(row.build)
        }))
    }

    async fn task_failed(&self, news: &News, id: TaskId, code: Code) -> Told {
        let row = self.store.task(self.project, id).await?;
        let work = row.as_ref().map_or(Work::Task, work);
        if work == Work::Job && self.failed_before(news, id, code).await? {
            return Ok(None);
        }
        let title = row.as_ref().map_or("", |row| row.spec.called());
        let message = Message::task_failed(self.project, news, title, work, code);
        Ok(Some(message.about(row.map(|row| row.build))))
    }

    /// Returns whether a job failed the same way in its previous run, because that is reported only
    /// once. A task runs again only when the operator wants it to.
    async fn failed_before(&self, news: &News, id: TaskId, code: Code) -> Result<bool, StoreError> {
        let runs = self.store.runs(self.project, id).await?;
        let mut ended =
            runs.iter().rev().filter(|run| run.ended_at.is_some_and(|at| at <= news.at));
        let before = ended.nth(1);
        Ok(before.is_some_and(|run| run.fault.as_ref().is_some_and(|f| f.code() == code)))
    }

    /// Returns the message about a waiting build, unless it waits because of a question, which has
    /// a message of its own.
    async fn build_waits(&self, news: &News, id: BuildId) -> Told {
        let row = self.build(id).await?;
        let Some(row) = row.filter(|row| row.state == BuildState::Waiting) else { return Ok(None) };
        let open = self.store.questions(self.project, Some(QuestionStatus::Pending)).await?;
        if open.iter().any(|question| question.created_at == news.at) {
            return Ok(None);
        }
        Ok(Some(Message::build_waits(self.project, news, tally(&row)).about(Some(id))))
    }

    async fn build_paused(&self, news: &News, id: BuildId) -> Told {
        let row = self.build(id).await?;
        let paused = row.filter(|row| matches!(row.state, BuildState::Paused { .. }));
        Ok(paused.map(|_| Message::build_paused(self.project, news).about(Some(id))))
    }

    async fn build_completed(&self, news: &News, id: BuildId) -> Told {
        let tally = self.build(id).await?.as_ref().map(tally).unwrap_or_default();
        Ok(Some(Message::build_completed(self.project, news, tally).about(Some(id))))
    }

    async fn acted(&self, news: &News, id: MutationId) -> Told {
        let Some(row) = self.store.mutation(self.project, id).await? else { return Ok(None) };
        let task = self.store.task(self.project, row.task).await?;
        let title = task.as_ref().map_or("", |task| task.spec.called());
        let message = Message::shipped(self.project, news, row.spec.kind, title);
        Ok(message.map(|message| message.about(task.map(|task| task.build))))
    }

    async fn build(&self, id: BuildId) -> Result<Option<BuildRow>, StoreError> {
        Ok(self.store.builds(self.project).await?.into_iter().find(|row| row.id == id))
    }
}

fn work(row: &TaskRow) -> Work {
    if row.spec.job.is_some() { Work::Job } else { Work::Task }
}

const fn tally(row: &BuildRow) -> Tally {
    Tally {
        done: row.done,
        not_done: row.not_done,
        waiting: row.parked,
        questions: row.open_questions,
    }
}

//! Questions and the answers to them.

use std::sync::Arc;

use unstuck_core::engine::{Command, QuestionId};
use unstuck_core::question::Decision;
use unstuck_store::tables::QuestionStatus;
use unstuck_store::{Answer, AnswerError};

use crate::store::stage::{Stage, answer, task};
use crate::store::{Checked, PROJECT, Place, holds, same};

/// Number of concurrent answers.
const MANY: usize = 8;

/// A question is read back as it was asked, across a crash, and as it was answered.
pub async fn questions_come_back_as_they_were_asked(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a"), task("b")]).await?;
    let id = stage.refused("a").await?;
    let asked = stage.store.question(PROJECT, id).await?;
    let row = asked.clone().ok_or("the question has a row")?;
    same("it is open", &row.status, &QuestionStatus::Pending)?;
    let ends = (row.decision, row.guidance.as_ref(), row.answered_by.as_ref(), row.resolved_at);
    same("nothing is decided", &ends, &(None, None, None, None))?;
    same("the one attempt is listed", &row.text.attempts.len(), &1)?;
    same("it names its task", &row.tasks, &vec![stage.id("a")?])?;
    same("its error is apart from its words", &row.raw_error.as_str(), &"403 from api-7f3")?;
    holds("its words do not show it", !row.text.problem.contains("api-7f3"))?;
    stage = stage.die(place).await?;
    same("a death changes nothing of it", &stage.store.question(PROJECT, id).await?, &asked)?;
    // Another task joins, and the text and tasks of the question follow.
    stage.must(Command::Recover { task: None, clean: false }).await?;
    let revision = stage.store.revision()?;
    same("it is joined, not asked again", &stage.refused("b").await?, &id)?;
    holds("a decision is a change", stage.store.revision()? != revision)?;
    let joined = stage.store.question(PROJECT, id).await?.ok_or("it is still there")?;
    same("both wait for it", &joined.tasks.len(), &2)?;

    same("it waits for a person", &stage.store.unanswered(PROJECT).await?, &1)?;
    let revision = stage.store.revision()?;
    same("reading is no change", &stage.store.revision()?, &revision)?;
    stage.store.answer(PROJECT, answer(id, Decision::ProvideCredentials, "anna")).await?;
    holds("an answer is a change", stage.store.revision()? != revision)?;
    same("no answer is owed any more", &stage.store.unanswered(PROJECT).await?, &0)?;
    same("it waits for its answer to be taken", &open(&stage).await?, &vec![id])?;
    stage = stage.die(place).await?;
    let given = stage.store.answers(PROJECT).await?;
    same("which every reader sees", &given.iter().map(|a| a.question).collect(), &vec![id])?;
    same("the answer is taken up by the next one", &stage.take_answers().await?, &1)?;
    let row = stage.store.question(PROJECT, id).await?.ok_or("it is still there")?;
    same("it is resolved", &row.status, &QuestionStatus::Resolved)?;
    same("and asks for nothing", &stage.store.unanswered(PROJECT).await?, &0)?;
    same("no answer waits any more", &stage.store.answers(PROJECT).await?, &Vec::new())?;
    same("as decided", &row.decision, &Some(Decision::ProvideCredentials))?;
    same("with guidance", &row.guidance, &Some(Arc::from("mind the gap")))?;
    same("by whom", &row.answered_by, &Some(Arc::from("anna")))?;
    same("when", &row.resolved_at, &Some(stage.now))?;
    same("none is open", &open(&stage).await?, &Vec::new())
}

/// Invalid answers are refused and leave nothing behind.
pub async fn wrong_answers_are_refused(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    let id = stage.refused("a").await?;
    let store = Arc::clone(&stage.store);
    let absent = QuestionId(99);
    let give =
        async |question, decision| store.answer(PROJECT, answer(question, decision, "anna")).await;
    let refused = give(absent, Decision::SkipFeature).await;
    same("an unknown question", &refused, &Err(AnswerError::NoQuestion(absent)))?;
    let refused = give(id, Decision::AllowOnce).await;
    let wanted = AnswerError::NotAnOption { question: id, decision: Decision::AllowOnce };
    same("a choice that is not offered", &refused, &Err(wanted))?;
    let elsewhere = answer(id, Decision::SkipFeature, "anna");
    let refused = store.answer("unknown", elsewhere).await;
    same("an unknown project", &refused, &Err(AnswerError::NoQuestion(id)))?;
    same("nothing was taken down", &stage.journal.answers().await?, &Vec::new())?;

    stage.must(Command::Skip { task: stage.id("a")? }).await?;
    let refused = give(id, Decision::SkipFeature).await;
    same("it is not needed any more", &refused, &Err(AnswerError::Withdrawn(id)))?;
    same("nothing was taken down", &stage.journal.answers().await?, &Vec::new())
}

/// Of many concurrent answers one wins, and the others are refused as late.
pub async fn one_of_many_answers_wins(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    let id = stage.refused("a").await?;
    let give = |number: usize| {
        let store = Arc::clone(&stage.store);
        let by = format!("person {number}");
        tokio::spawn(async move {
            let given = answer(id, Decision::ProvideCredentials, &by);
            store.answer(PROJECT, given).await.map(|()| by)
        })
    };
    let all: Vec<_> = (0..MANY).map(give).collect();
    let mut winners = Vec::new();
    for one in all {
        match one.await? {
            Ok(by) => winners.push(Arc::<str>::from(by)),
            Err(refused) => same("the others came second", &refused, &AnswerError::Answered(id))?,
        }
    }
    let given: Vec<Answer> = stage.journal.answers().await?;
    let given: Vec<Arc<str>> = given.into_iter().map(|answer| answer.by).collect();
    same("one won", &winners.len(), &1)?;
    same("and it is the one that was taken down", &given, &winners)
}

/// Answers are taken up in the order they were given, once.
pub async fn answers_are_taken_once(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a"), task("b")]).await?;
    let first = stage.refused("a").await?;
    stage.settle_otherwise("b").await?;
    let asked = open(&stage).await?;
    let second = asked.iter().copied().find(|id| *id != first).ok_or("there are two")?;
    for id in [second, first] {
        let row = stage.store.question(PROJECT, id).await?.ok_or("it has a row")?;
        let decision = row.text.recommended.ok_or("one is recommended")?;
        stage.store.answer(PROJECT, answer(id, decision, "anna")).await?;
    }
    let waiting = stage.journal.answers().await?;
    let order: Vec<QuestionId> = waiting.iter().map(|answer| answer.question).collect();
    same("in the order they were given", &order, &vec![second, first])?;
    same("both are taken", &stage.take_answers().await?, &2)?;
    stage = stage.die(place).await?;
    same("and not again", &stage.take_answers().await?, &0)?;
    let late = stage.store.answer(PROJECT, answer(first, Decision::SkipFeature, "otto")).await;
    same("a late one comes second", &late, &Err(AnswerError::Answered(first)))
}

async fn open(stage: &Stage) -> Checked<Vec<QuestionId>> {
    let rows = stage.store.questions(PROJECT, Some(QuestionStatus::Pending)).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

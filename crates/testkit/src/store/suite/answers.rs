//! Questions and the answers to them.

use std::sync::Arc;

use unstuck_core::engine::{Command, QuestionId};
use unstuck_core::question::Decision;
use unstuck_store::tables::QuestionStatus;
use unstuck_store::{Answer, AnswerError};

use crate::store::fixture::{StoreFixture, make_answer, make_task};
use crate::store::{PROJECT, StoreOpener, SuiteResult, check_equal, check_holds};

/// Number of concurrent answers.
const MANY: usize = 8;

/// A question is read back as it was asked, across a crash, and as it was answered.
pub async fn questions_come_back_as_they_were_asked(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a"), make_task("b")]).await?;
    let id = stage.fail_authentication("a").await?;
    let asked = stage.store.load_question(PROJECT, id).await?;
    let row = asked.clone().ok_or("the question has a row")?;
    check_equal("it is open", &row.status, &QuestionStatus::Pending)?;
    let ends = (row.decision, row.guidance.as_ref(), row.answered_by.as_ref(), row.resolved_at);
    check_equal("nothing is decided", &ends, &(None, None, None, None))?;
    check_equal("the one attempt is listed", &row.text.attempts.len(), &1)?;
    check_equal("it names its task", &row.tasks, &vec![stage.task_id("a")?])?;
    check_equal("its error is apart from its words", &row.raw_error.as_str(), &"403 from api-7f3")?;
    check_holds("its words do not show it", !row.text.problem.contains("api-7f3"))?;
    stage = stage.crash_and_reopen(place).await?;
    check_equal(
        "a death changes nothing of it",
        &stage.store.load_question(PROJECT, id).await?,
        &asked,
    )?;
    // Another task joins, and the text and tasks of the question follow.
    stage.decide_durably(Command::Recover { task: None, clean: false }).await?;
    let revision = stage.store.read_revision()?;
    check_equal("it is joined, not asked again", &stage.fail_authentication("b").await?, &id)?;
    check_holds("a decision is a change", stage.store.read_revision()? != revision)?;
    let joined = stage.store.load_question(PROJECT, id).await?.ok_or("it is still there")?;
    check_equal("both wait for it", &joined.tasks.len(), &2)?;

    check_equal("it waits for a person", &stage.store.count_unanswered(PROJECT).await?, &1)?;
    let revision = stage.store.read_revision()?;
    check_equal("reading is no change", &stage.store.read_revision()?, &revision)?;
    stage
        .store
        .record_answer(PROJECT, make_answer(id, Decision::ProvideCredentials, "anna"))
        .await?;
    check_holds("an answer is a change", stage.store.read_revision()? != revision)?;
    check_equal("no answer is owed any more", &stage.store.count_unanswered(PROJECT).await?, &0)?;
    check_equal(
        "it waits for its answer to be taken",
        &load_open_questions(&stage).await?,
        &vec![id],
    )?;
    stage = stage.crash_and_reopen(place).await?;
    let given = stage.store.load_pending_answers(PROJECT).await?;
    check_equal("which every reader sees", &given.iter().map(|a| a.question).collect(), &vec![id])?;
    check_equal("the answer is taken up by the next one", &stage.take_answers().await?, &1)?;
    let row = stage.store.load_question(PROJECT, id).await?.ok_or("it is still there")?;
    check_equal("it is resolved", &row.status, &QuestionStatus::Resolved)?;
    check_equal("and asks for nothing", &stage.store.count_unanswered(PROJECT).await?, &0)?;
    check_equal(
        "no answer waits any more",
        &stage.store.load_pending_answers(PROJECT).await?,
        &Vec::new(),
    )?;
    check_equal("as decided", &row.decision, &Some(Decision::ProvideCredentials))?;
    check_equal("with guidance", &row.guidance, &Some(Arc::from("mind the gap")))?;
    check_equal("by whom", &row.answered_by, &Some(Arc::from("anna")))?;
    check_equal("when", &row.resolved_at, &Some(stage.now))?;
    check_equal("none is open", &load_open_questions(&stage).await?, &Vec::new())
}

/// Invalid answers are refused and leave nothing behind.
pub async fn wrong_answers_are_refused(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    let id = stage.fail_authentication("a").await?;
    let store = Arc::clone(&stage.store);
    let absent = QuestionId(99);
    let give = async |question, decision| {
        store.record_answer(PROJECT, make_answer(question, decision, "anna")).await
    };
    let refused = give(absent, Decision::SkipFeature).await;
    check_equal("an unknown question", &refused, &Err(AnswerError::NoQuestion(absent)))?;
    let refused = give(id, Decision::AllowOnce).await;
    let wanted = AnswerError::NotAnOption { question: id, decision: Decision::AllowOnce };
    check_equal("a choice that is not offered", &refused, &Err(wanted))?;
    let elsewhere = make_answer(id, Decision::SkipFeature, "anna");
    let refused = store.record_answer("unknown", elsewhere).await;
    check_equal("an unknown project", &refused, &Err(AnswerError::NoQuestion(id)))?;
    check_equal(
        "nothing was taken down",
        &stage.journal.load_pending_answers().await?,
        &Vec::new(),
    )?;

    stage.decide_durably(Command::Skip { task: stage.task_id("a")? }).await?;
    let refused = give(id, Decision::SkipFeature).await;
    check_equal("it is not needed any more", &refused, &Err(AnswerError::Withdrawn(id)))?;
    check_equal("nothing was taken down", &stage.journal.load_pending_answers().await?, &Vec::new())
}

/// Of many concurrent answers one wins, and the others are refused as late.
pub async fn one_of_many_answers_wins(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    let id = stage.fail_authentication("a").await?;
    let give = |number: usize| {
        let store = Arc::clone(&stage.store);
        let by = format!("person {number}");
        tokio::spawn(async move {
            let given = make_answer(id, Decision::ProvideCredentials, &by);
            store.record_answer(PROJECT, given).await.map(|()| by)
        })
    };
    let all: Vec<_> = (0..MANY).map(give).collect();
    let mut winners = Vec::new();
    for one in all {
        match one.await? {
            Ok(by) => winners.push(Arc::<str>::from(by)),
            Err(refused) => {
                check_equal("the others came second", &refused, &AnswerError::Answered(id))?;
            }
        }
    }
    let given: Vec<Answer> = stage.journal.load_pending_answers().await?;
    let given: Vec<Arc<str>> = given.into_iter().map(|answer| answer.by).collect();
    check_equal("one won", &winners.len(), &1)?;
    check_equal("and it is the one that was taken down", &given, &winners)
}

/// Answers are taken up in the order they were given, once.
pub async fn answers_are_taken_once(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a"), make_task("b")]).await?;
    let first = stage.fail_authentication("a").await?;
    stage.fail_permission("b").await?;
    let asked = load_open_questions(&stage).await?;
    let second = asked.iter().copied().find(|id| *id != first).ok_or("there are two")?;
    for id in [second, first] {
        let row = stage.store.load_question(PROJECT, id).await?.ok_or("it has a row")?;
        let decision = row.text.recommended.ok_or("one is recommended")?;
        stage.store.record_answer(PROJECT, make_answer(id, decision, "anna")).await?;
    }
    let waiting = stage.journal.load_pending_answers().await?;
    let order: Vec<QuestionId> = waiting.iter().map(|answer| answer.question).collect();
    check_equal("in the order they were given", &order, &vec![second, first])?;
    check_equal("both are taken", &stage.take_answers().await?, &2)?;
    stage = stage.crash_and_reopen(place).await?;
    check_equal("and not again", &stage.take_answers().await?, &0)?;
    let late =
        stage.store.record_answer(PROJECT, make_answer(first, Decision::SkipFeature, "otto")).await;
    check_equal("a late one comes second", &late, &Err(AnswerError::Answered(first)))
}

async fn load_open_questions(stage: &StoreFixture) -> SuiteResult<Vec<QuestionId>> {
    let rows = stage.store.load_questions(PROJECT, Some(QuestionStatus::Pending)).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

//! The SQLite tables of questions, and of people's answers until they are part of the journal.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;

use crate::error::AnswerError;
use crate::sqlite::value::{
    RowWrite, read_json, read_optional_time, read_shown, read_time, read_uint, read_word, to_json,
    to_sql_time, to_word, word_parameter,
};
use crate::store::{Answer, QuestionPage};
use crate::tables::{QuestionEnding, QuestionRow, QuestionStatus};

/// Upserts the row of a question that was asked, or whose text changed.
pub(crate) fn upsert_question(row: &QuestionRow) -> serde_json::Result<RowWrite> {
    Ok(RowWrite::new(
        "INSERT INTO questions (project, id, build, status, body)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (project, id) DO UPDATE SET build = excluded.build,
           status = excluded.status, body = excluded.body, decision = NULL,
           guidance = NULL, answered_by = NULL, resolved_at = NULL",
        [
            row.id.0.into(),
            row.build.map(|id| id.0).into(),
            to_word(&row.status)?.into(),
            to_json(row)?.into(),
        ],
    ))
}

/// Records the end of a question.
pub(crate) fn end_question(id: QuestionId, ended: &QuestionEnding) -> serde_json::Result<RowWrite> {
    Ok(RowWrite::new(
        "UPDATE questions SET status = ?3, decision = ?4, guidance = ?5, answered_by = ?6,
           resolved_at = ?7 WHERE project = ?1 AND id = ?2",
        [
            id.0.into(),
            to_word(&ended.status)?.into(),
            ended.decision.map(Decision::as_str).map(str::to_owned).into(),
            ended.guidance.as_deref().map(str::to_owned).into(),
            ended.by.as_deref().map(str::to_owned).into(),
            to_sql_time(ended.at).into(),
        ],
    ))
}

const QUESTION_COLUMNS: &str = "body, status, decision, guidance, answered_by, resolved_at";

/// Returns a page of questions.
pub(crate) fn load_question_page(
    conn: &Connection,
    project: i64,
    page: QuestionPage,
) -> rusqlite::Result<Vec<QuestionRow>> {
    let status = page.status.as_ref().map(word_parameter).transpose()?;
    let after = page.after.map(|id| id.0);
    let (beyond, order) = if page.newest_first { ("<", "DESC") } else { (">", "ASC") };
    let sql = format!(
        "SELECT {QUESTION_COLUMNS} FROM questions
         WHERE project = ?1 AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR id {beyond} ?3)
         ORDER BY id {order} LIMIT ?4"
    );
    let mut find = conn.prepare_cached(&sql)?;
    let found = find.query_map(params![project, status, after, page.limit], read_question)?;
    found.collect()
}

/// Returns the number of pending questions without an answer.
pub(crate) fn count_unanswered(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let pending = word_parameter(&QuestionStatus::Pending)?;
    let mut count = conn.prepare_cached(
        "SELECT count(*) FROM questions WHERE project = ?1 AND status = ?2 AND NOT EXISTS
           (SELECT 1 FROM answers WHERE project = ?1 AND question = questions.id AND taken = 0)",
    )?;
    count.query_row(params![project, pending], |row| read_uint(row, 0))
}

/// Returns a question.
pub(crate) fn load_question(
    conn: &Connection,
    project: i64,
    question: QuestionId,
) -> rusqlite::Result<Option<QuestionRow>> {
    let sql = format!("SELECT {QUESTION_COLUMNS} FROM questions WHERE project = ?1 AND id = ?2");
    let mut find = conn.prepare_cached(&sql)?;
    find.query_row(params![project, question.0], read_question).optional()
}

fn read_question(row: &Row<'_>) -> rusqlite::Result<QuestionRow> {
    let decision = match row.get_ref(2)? {
        ValueRef::Null => None,
        _ => Some(read_shown(row, 2)?),
    };
    Ok(QuestionRow {
        status: read_word(row, 1)?,
        decision,
        guidance: row.get(3)?,
        answered_by: row.get(4)?,
        resolved_at: read_optional_time(row, 5)?,
        ..read_json(row, 0)?
    })
}

/// Records an answer, or returns the reason for refusing it. The caller holds a write transaction, so that
/// two concurrent answers are ordered.
pub(crate) fn record_answer(
    conn: &Connection,
    project: i64,
    answer: &Answer,
) -> rusqlite::Result<Result<(), AnswerError>> {
    let id = answer.question;
    let Some(question) = load_question(conn, project, id)? else {
        return Ok(Err(AnswerError::NoQuestion(id)));
    };
    match question.status {
        QuestionStatus::Pending => {}
        QuestionStatus::Resolved | QuestionStatus::Skipped => {
            return Ok(Err(AnswerError::Answered(id)));
        }
        QuestionStatus::Withdrawn => return Ok(Err(AnswerError::Withdrawn(id))),
    }
    if is_answered(conn, project, id)? {
        return Ok(Err(AnswerError::Answered(id)));
    }
    if !question.offers_decision(answer.decision) {
        let decision = answer.decision;
        return Ok(Err(AnswerError::NotAnOption { question: id, decision }));
    }
    let mut insert = conn.prepare_cached(
        "INSERT INTO answers (project, question, decision, guidance, by, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    insert.execute(params![
        project,
        id.0,
        answer.decision.as_str(),
        answer.guidance,
        answer.by,
        to_sql_time(answer.at)
    ])?;
    Ok(Ok(()))
}

fn is_answered(conn: &Connection, project: i64, question: QuestionId) -> rusqlite::Result<bool> {
    let mut find =
        conn.prepare_cached("SELECT 1 FROM answers WHERE project = ?1 AND question = ?2")?;
    find.exists(params![project, question.0])
}

/// Returns the answers that were not taken up yet, in the order they were given.
pub(crate) fn load_pending_answers(
    conn: &Connection,
    project: i64,
) -> rusqlite::Result<Vec<Answer>> {
    let mut find = conn.prepare_cached(
        "SELECT question, decision, guidance, by, at FROM answers
         WHERE project = ?1 AND taken = 0 ORDER BY id",
    )?;
    let found = find.query_map([project], read_answer)?;
    found.collect()
}

/// Marks an answer as part of the journal.
pub(crate) fn mark_answer_taken(question: QuestionId) -> RowWrite {
    let sql = "UPDATE answers SET taken = 1 WHERE project = ?1 AND question = ?2";
    RowWrite::new(sql, [question.0.into()])
}

fn read_answer(row: &Row<'_>) -> rusqlite::Result<Answer> {
    Ok(Answer {
        question: QuestionId(row.get(0)?),
        decision: read_shown(row, 1)?,
        guidance: row.get(2)?,
        by: row.get(3)?,
        at: read_time(row, 4)?,
    })
}

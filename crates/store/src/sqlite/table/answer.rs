//! The SQLite table of people's answers, until they are part of the journal.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use unstuck_core::engine::QuestionId;

use super::question;
use crate::sqlite::value::{read_shown, read_time, to_sql_time};
use crate::store::{Answer, AnswerError};
use crate::tables::QuestionStatus;

/// Records an answer, or returns the reason for refusing it. The caller holds a write transaction, so that
/// two concurrent answers are ordered.
pub(crate) fn record_answer(
    conn: &Connection,
    project: i64,
    answer: &Answer,
) -> rusqlite::Result<Result<(), AnswerError>> {
    let id = answer.question;
    let Some(question) = question::load_one(conn, project, id)? else {
        return Ok(Err(AnswerError::NoQuestion(id)));
    };
    match question.status {
        QuestionStatus::Pending => {}
        QuestionStatus::Resolved | QuestionStatus::Skipped => {
            return Ok(Err(AnswerError::Answered(id)));
        }
        QuestionStatus::Withdrawn => return Ok(Err(AnswerError::Withdrawn(id))),
    }
    if is_given(conn, project, id)? {
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

fn is_given(conn: &Connection, project: i64, question: QuestionId) -> rusqlite::Result<bool> {
    let mut find =
        conn.prepare_cached("SELECT 1 FROM answers WHERE project = ?1 AND question = ?2")?;
    find.exists(params![project, question.0])
}

/// Returns the answers that were not taken up yet, in the order they were given.
pub(crate) fn load_pending(conn: &Connection, project: i64) -> rusqlite::Result<Vec<Answer>> {
    let mut find = conn.prepare_cached(
        "SELECT question, decision, guidance, by, at FROM answers
         WHERE project = ?1 AND taken = 0 ORDER BY id",
    )?;
    let found = find.query_map([project], read_row)?;
    found.collect()
}

/// Marks an answer as part of the journal.
pub(crate) fn mark_taken(
    conn: &Connection,
    project: i64,
    question: QuestionId,
) -> rusqlite::Result<()> {
    let mut update =
        conn.prepare_cached("UPDATE answers SET taken = 1 WHERE project = ?1 AND question = ?2")?;
    update.execute(params![project, question.0])?;
    Ok(())
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<Answer> {
    let guidance: Option<Arc<str>> = row.get(2)?;
    let question = QuestionId(row.get(0)?);
    let decision = read_shown(row, 1)?;
    Ok(Answer { question, decision, guidance, by: row.get(3)?, at: read_time(row, 4)? })
}

//! The SQLite table of questions.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use unstuck_core::engine::QuestionId;
use unstuck_core::time::Time;

use crate::sqlite::value::{
    read_json, read_optional_uint, read_shown, read_uint, read_word, to_json, to_sql_time, to_word,
};
use crate::store::QuestionPage;
use crate::tables::{QuestionChange, QuestionEnding, QuestionRow, QuestionStatus};

/// A change of a question, ready to be written.
#[derive(Debug)]
pub(crate) struct QuestionUpsert {
    id: u32,
    asked: Option<QuestionRowUpsert>,
    ended: Option<QuestionEndUpdate>,
}

#[derive(Debug)]
struct QuestionRowUpsert {
    build: Option<u32>,
    status: String,
    body: String,
}

#[derive(Debug)]
struct QuestionEndUpdate {
    status: String,
    decision: Option<&'static str>,
    guidance: Option<Arc<str>>,
    by: Option<Arc<str>>,
    at: i64,
}

impl QuestionUpsert {
    pub(crate) fn from_change(change: &QuestionChange) -> serde_json::Result<Self> {
        let asked = change.asked.as_deref().map(QuestionRowUpsert::from_row).transpose()?;
        let ended = change.ended.as_ref().map(QuestionEndUpdate::from_ending).transpose()?;
        Ok(Self { id: change.id.0, asked, ended })
    }

    pub(crate) fn upsert_row(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        if let Some(asked) = &self.asked {
            asked.upsert_row(conn, project, self.id)?;
        }
        if let Some(ended) = &self.ended {
            ended.update_row(conn, project, self.id)?;
        }
        Ok(())
    }
}

impl QuestionRowUpsert {
    fn from_row(row: &QuestionRow) -> serde_json::Result<Self> {
        let build = row.build.map(|id| id.0);
        Ok(Self { build, status: to_word(&row.status)?, body: to_json(row)? })
    }

    fn upsert_row(&self, conn: &Connection, project: i64, id: u32) -> rusqlite::Result<()> {
        let mut upsert = conn.prepare_cached(
            "INSERT INTO questions (project, id, build, status, body)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (project, id) DO UPDATE SET build = excluded.build,
               status = excluded.status, body = excluded.body, decision = NULL,
               guidance = NULL, answered_by = NULL, resolved_at = NULL",
        )?;
        upsert.execute(params![project, id, self.build, self.status, self.body])?;
        Ok(())
    }
}

impl QuestionEndUpdate {
    fn from_ending(ended: &QuestionEnding) -> serde_json::Result<Self> {
        Ok(Self {
            status: to_word(&ended.status)?,
            decision: ended.decision.map(unstuck_core::question::Decision::as_str),
            guidance: ended.guidance.clone(),
            by: ended.by.clone(),
            at: to_sql_time(ended.at),
        })
    }

    fn update_row(&self, conn: &Connection, project: i64, id: u32) -> rusqlite::Result<()> {
        let mut update = conn.prepare_cached(
            "UPDATE questions SET status = ?3, decision = ?4, guidance = ?5, answered_by = ?6,
               resolved_at = ?7 WHERE project = ?1 AND id = ?2",
        )?;
        let guidance = &self.guidance;
        let by = &self.by;
        update.execute(params![project, id, self.status, self.decision, guidance, by, self.at])?;
        Ok(())
    }
}

const COLUMNS: &str = "body, status, decision, guidance, answered_by, resolved_at";

/// Returns a page of questions.
pub(crate) fn load_page(
    conn: &Connection,
    project: i64,
    page: QuestionPage,
) -> rusqlite::Result<Vec<QuestionRow>> {
    let status = page.status.and_then(|status| to_word(&status).ok());
    let after = page.after.map(|id| id.0);
    let (beyond, order) = if page.newest_first { ("<", "DESC") } else { (">", "ASC") };
    let sql = format!(
        "SELECT {COLUMNS} FROM questions
         WHERE project = ?1 AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR id {beyond} ?3)
         ORDER BY id {order} LIMIT ?4"
    );
    let mut find = conn.prepare_cached(&sql)?;
    let found = find.query_map(params![project, status, after, page.limit], read_row)?;
    found.collect()
}

/// Returns the number of pending questions without an answer.
pub(crate) fn count_unanswered(conn: &Connection, project: i64) -> rusqlite::Result<u64> {
    let pending = to_word(&QuestionStatus::Pending).ok();
    let mut count = conn.prepare_cached(
        "SELECT count(*) FROM questions WHERE project = ?1 AND status = ?2 AND NOT EXISTS
           (SELECT 1 FROM answers WHERE project = ?1 AND question = questions.id AND taken = 0)",
    )?;
    count.query_row(params![project, pending], |row| read_uint(row, 0))
}

/// Returns a question.
pub(crate) fn load_one(
    conn: &Connection,
    project: i64,
    question: QuestionId,
) -> rusqlite::Result<Option<QuestionRow>> {
    let sql = format!("SELECT {COLUMNS} FROM questions WHERE project = ?1 AND id = ?2");
    let mut find = conn.prepare_cached(&sql)?;
    find.query_row(params![project, question.0], read_row).optional()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<QuestionRow> {
    let decision = match row.get_ref(2)? {
        rusqlite::types::ValueRef::Null => None,
        _ => Some(read_shown(row, 2)?),
    };
    Ok(QuestionRow {
        status: read_word(row, 1)?,
        decision,
        guidance: row.get(3)?,
        answered_by: row.get(4)?,
        resolved_at: read_optional_uint(row, 5)?.map(Time::from_millis),
        ..read_json(row, 0)?
    })
}

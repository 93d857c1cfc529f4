//! Conversion between values of the engine and of SQLite, and rows ready to be written.

use std::iter;
use std::str::FromStr;

use rusqlite::types::{Type, Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use unstuck_core::policy::Amount;
use unstuck_core::time::Time;

/// A statement with the values of a row, made on the thread that appends and executed on the writer's.
#[derive(Debug)]
pub(crate) struct RowWrite {
    sql: &'static str,
    values: Vec<Value>,
}

impl RowWrite {
    /// Creates a statement from its SQL and the values of its parameters from `?2` on; `?1` is the project.
    pub(crate) fn new<const N: usize>(sql: &'static str, values: [Value; N]) -> Self {
        Self { sql, values: values.into() }
    }

    /// Executes the statement for a project.
    pub(crate) fn execute(&self, conn: &Connection, project: i64) -> rusqlite::Result<()> {
        let project = Value::from(project);
        let values = iter::once(&project).chain(&self.values);
        conn.prepare_cached(self.sql)?.execute(params_from_iter(values)).map(drop)
    }
}

/// Converts a number. SQLite's are signed; the values here never reach the limit.
pub(super) fn to_sql_int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a point in time.
pub(super) fn to_sql_time(at: Time) -> i64 {
    to_sql_int(at.as_millis())
}

/// Reads a number written by [`to_sql_int`].
pub(super) fn read_uint(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

/// Reads an optional number.
pub(super) fn read_optional_uint(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<u64>> {
    let number: Option<i64> = row.get(at)?;
    let read = |number| {
        u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
    };
    number.map(read).transpose()
}

/// Reads a point in time written by [`to_sql_time`].
pub(super) fn read_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Time> {
    read_uint(row, at).map(Time::from_millis)
}

/// Reads an optional point in time.
pub(super) fn read_optional_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Time>> {
    Ok(read_optional_uint(row, at)?.map(Time::from_millis))
}

/// Reads an amount from three columns.
pub(super) fn read_amount(row: &Row<'_>, at: usize) -> rusqlite::Result<Amount> {
    let money_micros = read_uint(row, at)?;
    let tokens = read_uint(row, at + 1)?;
    Ok(Amount { money_micros, tokens, time_ms: read_uint(row, at + 2)? })
}

/// Serializes a value as JSON.
pub(super) fn to_json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value)
}

/// Reads a value written by [`to_json`].
pub(super) fn read_json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str()?;
    serde_json::from_str(text).map_err(|error| conversion_error(at, error))
}

/// Reads an optional value written by [`to_json`].
pub(super) fn read_optional_json<T: DeserializeOwned>(
    row: &Row<'_>,
    at: usize,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        _ => read_json(row, at).map(Some),
    }
}

/// Serializes a value that JSON writes as a string, without the quotes.
pub(super) fn to_word(value: &impl Serialize) -> serde_json::Result<String> {
    let quoted = to_json(value)?;
    Ok(quoted.trim_matches('"').to_owned())
}

/// Converts a value that JSON writes as a string to a parameter of a query.
pub(super) fn word_parameter(value: &impl Serialize) -> rusqlite::Result<String> {
    to_word(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Reads a value written by [`to_word`].
pub(super) fn read_word<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    serde_json::from_value(text.into()).map_err(|error| conversion_error(at, error))
}

/// Parses a value written in its display form.
pub(super) fn read_shown<T>(row: &Row<'_>, at: usize) -> rusqlite::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get_ref(at)?.as_str()?.parse().map_err(|error| conversion_error(at, error))
}

fn conversion_error(
    at: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(error))
}

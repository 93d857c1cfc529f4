//! Which project and which thing a request means.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Shared;
use super::body::Asks;
use crate::auth::Caller;
use crate::problem::Problem;
use crate::site::{Room, Site};

/// Most rows of a list that come at once.
pub(crate) const LIMIT_MAX: u32 = 200;
/// So many come where nobody says.
const LIMIT: u32 = 50;
/// How many names are enough to choose from.
const NAMES_MAX: usize = 5;

/// Which project is meant.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InProject {
    /// The project. Not needed where there is only one.
    #[serde(default)]
    pub(crate) project: Option<String>,
}

/// A request about one project, which is named or the only one.
pub(crate) struct At {
    pub(crate) site: Shared,
    pub(crate) caller: Caller,
    pub(crate) room: Arc<Room>,
    pub(crate) headers: HeaderMap,
}

impl FromRequestParts<Shared> for At {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, site: &Shared) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, site).await?;
        let Asks(InProject { project }) = Asks::from_request_parts(parts, site).await?;
        let room = room(site, &caller, project.as_deref())?;
        Ok(Self { site: Arc::clone(site), caller, room, headers: parts.headers.clone() })
    }
}

/// A part of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Listed<T> {
    /// The rows.
    pub(crate) items: Vec<T>,
    /// Give this as `after` to get the next ones; absent where these were the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// How many rows are wanted.
pub(crate) fn limit(wanted: Option<u32>) -> Result<u32, Problem> {
    match wanted {
        None => Ok(LIMIT),
        Some(wanted @ 1..=LIMIT_MAX) => Ok(wanted),
        Some(_) => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("`limit` is between 1 and {LIMIT_MAX}"),
        )),
    }
}

/// The one project that is meant.
pub(crate) fn room(
    site: &Site,
    caller: &Caller,
    named: Option<&str>,
) -> Result<Arc<Room>, Problem> {
    if let Some(name) = named {
        let room = site.room(caller, name);
        return room.cloned().ok_or_else(|| Problem::unknown("project", name));
    }
    let mut seen = site.seen_by(caller);
    match (seen.next(), seen.next()) {
        (Some(only), None) => Ok(Arc::clone(only)),
        (None, _) => Err(Problem::new(StatusCode::NOT_FOUND, "there is no project here")),
        (Some(_), Some(_)) => {
            let known: Vec<&str> =
                site.seen_by(caller).take(NAMES_MAX).map(|room| &*room.name).collect();
            let detail = "there are several projects here, and the request does not say which";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
                .hint(format!("add `?project=NAME`: {}", known.join(", "))))
        }
    }
}

/// The projects that are meant: the named one, or all that somebody may see.
pub(crate) fn rooms(
    site: &Site,
    caller: &Caller,
    named: Option<&str>,
) -> Result<Vec<Arc<Room>>, Problem> {
    match named {
        Some(name) => Ok(vec![room(site, caller, Some(name))?]),
        None => Ok(site.seen_by(caller).cloned().collect()),
    }
}

/// The number of a thing: `q3` or `3`.
pub(crate) fn number<T: FromStr>(what: &str, letter: char, text: &str) -> Result<T, Problem> {
    let digits = text.strip_prefix(letter).unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| plain);
    number.ok_or_else(|| Problem::unknown(what, shortened(text)))
}

/// A name that somebody sent, short enough to be said again.
fn shortened(text: &str) -> String {
    text.chars().take(60).filter(|char| !char.is_control()).collect()
}

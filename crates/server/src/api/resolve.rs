//! Resolves the project and the resource that a request names, and paginates lists.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::request::ApiQueryParams;
use crate::auth::Caller;
use crate::problem::Problem;
use crate::server_state::{HostedProject, ServerState, SharedServerState};

/// Maximum number of rows of a page.
pub(crate) const LIMIT_MAX: u32 = 200;
/// Default number of rows of a page.
const LIMIT_DEFAULT: u32 = 50;
/// Maximum number of project names in a hint.
const NAMES_MAX: usize = 5;

/// The project of a request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiProjectQuery {
    /// The project. Not needed if there is only one.
    #[serde(default)]
    pub(crate) project: Option<String>,
}

/// A request about one project, which is named or the only one.
pub(crate) struct ApiProjectRequest<Q = ApiProjectQuery> {
    pub(crate) site: SharedServerState,
    pub(crate) caller: Caller,
    pub(crate) project: Arc<HostedProject>,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Q,
}

/// Query parameters that may name a project.
pub(crate) trait NamesProject: DeserializeOwned {
    fn project_name(&self) -> Option<&str>;
}

impl NamesProject for ApiProjectQuery {
    fn project_name(&self) -> Option<&str> {
        self.project.as_deref()
    }
}

impl NamesProject for ApiListQuery {
    fn project_name(&self) -> Option<&str> {
        self.project.as_deref()
    }
}

impl<Q: NamesProject> FromRequestParts<SharedServerState> for ApiProjectRequest<Q> {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        site: &SharedServerState,
    ) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, site).await?;
        let ApiQueryParams(asks) = ApiQueryParams::<Q>::from_request_parts(parts, site).await?;
        let hosted = find_project(site, &caller, asks.project_name())?;
        Ok(Self {
            site: Arc::clone(site),
            caller,
            project: hosted,
            headers: parts.headers.clone(),
            query: asks,
        })
    }
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Listed<T> {
    /// The rows.
    pub(crate) items: Vec<T>,
    /// The value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// An item with its project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct InRoom<T> {
    /// The project.
    pub(crate) project: String,
    #[serde(flatten)]
    pub(crate) row: T,
}

/// The page of a list that is wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApiListQuery {
    /// The project. Not needed if there is only one; without it, a list covers all projects.
    pub(crate) project: Option<String>,
    /// The `next` of the previous page.
    pub(crate) after: Option<String>,
    /// Maximum number of rows, up to 200; 50 by default.
    pub(crate) limit: Option<u32>,
}

impl ApiListQuery {
    /// Returns the page of all `items`, each of which has a unique name.
    pub(crate) fn take_page<T>(
        &self,
        items: Vec<T>,
        name: impl Fn(&T) -> String,
    ) -> Result<Listed<T>, Problem> {
        let limit = check_limit(self.limit)? as usize;
        let start = match &self.after {
            None => 0,
            Some(after) => match items.iter().position(|item| name(item) == *after) {
                Some(last) => last + 1,
                None => return Err(invalid_start_error()),
            },
        };
        let more = items.len() - start > limit;
        let items: Vec<T> = items.into_iter().skip(start).take(limit).collect();
        let next = items.last().filter(|_| more).map(name);
        Ok(Listed { items, next })
    }
}

/// Returns the problem for an `after` that no page gave as `next`.
pub(crate) fn invalid_start_error() -> Problem {
    let detail = "`after` is what the list before gave as `next`";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
}

pub(crate) fn check_limit(wanted: Option<u32>) -> Result<u32, Problem> {
    match wanted {
        None => Ok(LIMIT_DEFAULT),
        Some(wanted @ 1..=LIMIT_MAX) => Ok(wanted),
        Some(_) => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("`limit` is between 1 and {LIMIT_MAX}"),
        )),
    }
}

/// Returns the one project that a request means.
pub(crate) fn find_project(
    site: &ServerState,
    caller: &Caller,
    named: Option<&str>,
) -> Result<Arc<HostedProject>, Problem> {
    if let Some(name) = named {
        let hosted = site.find_project(caller, name);
        return hosted.cloned().ok_or_else(|| Problem::not_found("project", name));
    }
    let mut seen = site.visible_projects(caller);
    match (seen.next(), seen.next()) {
        (Some(only), None) => Ok(Arc::clone(only)),
        (None, _) => Err(Problem::new(StatusCode::NOT_FOUND, "there is no project here")),
        (Some(_), Some(_)) => {
            let known: Vec<&str> =
                site.visible_projects(caller).take(NAMES_MAX).map(|hosted| &*hosted.name).collect();
            let detail = "there are several projects here, and the request does not say which";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
                .with_hint(format!("add `?project=NAME`: {}", known.join(", "))))
        }
    }
}

/// Returns the named project, or all that the caller may see.
pub(crate) fn find_projects(
    site: &ServerState,
    caller: &Caller,
    named: Option<&str>,
) -> Result<Vec<Arc<HostedProject>>, Problem> {
    match named {
        Some(name) => Ok(vec![find_project(site, caller, Some(name))?]),
        None => Ok(site.visible_projects(caller).cloned().collect()),
    }
}

/// Parses the number of a resource: `q3` or `3`.
pub(crate) fn parse_number<T: FromStr>(what: &str, letter: char, text: &str) -> Result<T, Problem> {
    let digits = text.strip_prefix(letter).unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| plain);
    number.ok_or_else(|| Problem::not_found(what, shorten_text(text)))
}

/// Shortens a name from a request, for a message.
fn shorten_text(text: &str) -> String {
    text.chars().take(60).filter(|char| !char.is_control()).collect()
}

//! Problems: every error that occurred, resolved or not.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use schemars::JsonSchema;
use serde::Serialize;
use unstuck_core::fault::Code;
use unstuck_core::signature::Signature;
use unstuck_core::time::Time;
use unstuck_store::tables::{QuestionStatus, SignatureRow};

use super::docs::{ApiOperation, ApiRouter};
use super::request::ApiQueryParams;
use super::resolve::{self, ApiListQuery, InRoom, Listed};
use super::respond_with_etag;
use crate::auth::Caller;
use crate::problem::Problem;
use crate::server_state::{HostedProject, SharedServerState};

/// Maximum number of builds, the newest first, whose checks are compared with flaky ones.
const BUILDS_MAX: usize = 50;

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    api.add_operation(
        ApiOperation::get(
            "/api/v1/problems",
            "listProblems",
            "Errors that were met, the latest first",
        )
        .with_query::<ApiListQuery>()
        .with_response::<Listed<InRoom<Met>>>(200, "Some of them."),
        get(list_problems),
    )
}

/// An error that occurred.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Met {
    /// The signature that recognizes it when it recurs.
    pub(crate) signature: Signature,
    /// The error code.
    pub(crate) code: Code,
    /// The command of the check, if the error is a check that failed and passed when it was run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flaky: Option<Arc<str>>,
    /// The current standing.
    pub(crate) stands: Stands,
    /// Number of failures that count against its attempts.
    pub(crate) count: u32,
    /// Number of failures in all.
    pub(crate) total: u64,
    /// The time of the first occurrence.
    pub(crate) first_seen: Time,
    /// The time of the last occurrence.
    pub(crate) last_seen: Time,
}

/// The standing of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stands {
    /// The operator is asked about it.
    Open,
    /// The supervisor is working on it.
    Trying,
    /// The error is resolved.
    Recovered,
}

/// Returns the errors of a project, the latest first.
pub(crate) async fn load_problems(hosted: &HostedProject) -> Result<Vec<Met>, Problem> {
    let asked = hosted.store.load_questions(&hosted.name, Some(QuestionStatus::Pending)).await?;
    let asked: HashSet<&str> = asked.iter().map(|row| row.signature.as_str()).collect();
    let rows = hosted.store.load_signatures(&hosted.name).await?;
    let mut flaky = load_flaky_checks(hosted, &rows).await?;
    Ok(rows
        .into_iter()
        .map(|row| Met {
            stands: match row.count {
                _ if asked.contains(row.signature.key(&hosted.name).as_str()) => Stands::Open,
                0 => Stands::Recovered,
                _ => Stands::Trying,
            },
            flaky: flaky.remove(&row.signature),
            code: row.signature.code,
            signature: row.signature,
            count: row.count,
            total: row.total,
            first_seen: row.first_seen,
            last_seen: row.last_seen,
        })
        .collect())
}

/// Returns the commands of the flaky checks among the errors. A signature does not name its command: the checks
/// of the project's tasks, the newest first, are compared with it.
async fn load_flaky_checks(
    hosted: &HostedProject,
    rows: &[SignatureRow],
) -> Result<HashMap<Signature, Arc<str>>, Problem> {
    // A flaky check is never charged.
    let possible = |row: &&SignatureRow| row.count == 0 && is_check_code(row.signature.code);
    let mut left: HashSet<Signature> =
        rows.iter().filter(possible).map(|row| row.signature).collect();
    let mut found = HashMap::new();
    if left.is_empty() {
        return Ok(found);
    }
    for build in hosted.store.load_builds(&hosted.name).await?.into_iter().take(BUILDS_MAX) {
        for task in hosted.store.load_build_tasks(&hosted.name, build.id).await? {
            for checked in &task.moved.checked {
                for check in &checked.checks {
                    let signature = check.flaky_signature(checked.failure_code());
                    if left.remove(&signature) {
                        found.insert(signature, Arc::clone(&check.command));
                    }
                }
            }
        }
        if left.is_empty() {
            break;
        }
    }
    Ok(found)
}

const fn is_check_code(code: Code) -> bool {
    matches!(code, Code::ValidationPreCommit | Code::ValidationPrePush | Code::ValidationPrePr)
}

async fn list_problems(
    State(site): State<SharedServerState>,
    caller: Caller,
    headers: HeaderMap,
    ApiQueryParams(part): ApiQueryParams<ApiListQuery>,
) -> Result<Response, Problem> {
    let mut items = Vec::new();
    for hosted in resolve::find_projects(&site, &caller, part.project.as_deref())? {
        let met = load_problems(&hosted).await?.into_iter();
        items.extend(met.map(|row| InRoom { project: hosted.name.to_string(), row }));
    }
    items.sort_by_key(|item| std::cmp::Reverse(item.row.last_seen));
    let listed =
        part.take_page(items, |item| format!("{}/{}", item.project, item.row.signature))?;
    Ok(respond_with_etag(&headers, &listed))
}

//! Reports of a runtime about its work: a failure, or success.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::post;
use schemars::JsonSchema;
use serde::Deserialize;
use unstuck_core::attempt::Approach;
use unstuck_core::engine::{Command, Told};

use super::directed::Directed;
use super::failure::{Failure, did};
use super::record::{Found, SessionRecord};
use crate::api::body::{Body, MaybeBody};
use crate::api::docs::{Api, Op};
use crate::api::request_key;
use crate::api::which::{At, InProject};
use crate::desk::Refused;
use crate::problem::Problem;
use crate::site::Room;

pub(super) fn routes(api: Api) -> Api {
    let gone = "There is no such session.";
    let unsettled = "An action was sent, and what came of it was not told.";
    api.op(
        Op::post(
            "/api/v1/sessions/{session}/failures",
            "reportFailure",
            "The work failed: what is to be done now?",
        )
        .header(request_key::NAME, true, request_key::SAYS)
        .query::<InProject>()
        .body::<Failure>()
        .gives::<Directed>(200, "What to do now.")
        .problem(StatusCode::NOT_FOUND, gone)
        .problem(StatusCode::CONFLICT, unsettled)
        .problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "It does not say what failed, or the key was sent with something else.",
        ),
        post(failed),
    )
    .op(
        Op::post("/api/v1/sessions/{session}/success", "reportSuccess", "The goal is reached")
            .query::<InProject>()
            .body::<Success>()
            .gives::<SessionRecord>(200, "The session, which is over.")
            .problem(StatusCode::NOT_FOUND, gone)
            .problem(StatusCode::CONFLICT, "It is not its turn, or an action is not settled."),
        post(succeeded),
    )
}

/// A report of success.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SessionSuccess")]
struct Success {
    /// The work that was done, in a line.
    summary: Option<String>,
}

async fn failed(
    at: At,
    Path(session): Path<String>,
    Body(failure): Body<Failure>,
) -> Result<Json<Directed>, Problem> {
    let request = request_key::required(&at.headers, "failure", &failure)?;
    let Found { task } = Found::named(&at.room, &session).await?;
    let redacted = |text: &str| at.room.desk.redacted(text);
    let fault = Arc::new(failure.fault(redacted)?);
    let approach = Some(Arc::new(failure.approach(redacted)));
    // A report about a session that is over costs nothing; the engine may no longer have the
    // session.
    if !task.moved.state.has_ended() {
        let told = Told::Failed { request, fault, approach };
        report(&at.room, &session, Command::Report { task: task.id, told }).await?;
    }
    Directed::read(&at.room, &task).await.map(Json)
}

async fn succeeded(
    at: At,
    Path(session): Path<String>,
    MaybeBody(success): MaybeBody<Success>,
) -> Result<Json<SessionRecord>, Problem> {
    let Found { task } = Found::named(&at.room, &session).await?;
    let summary = success.summary.as_deref().unwrap_or_default();
    let approach =
        Approach { summary: did(&at.room.desk.redacted(summary)), ..Approach::default() };
    if !task.moved.state.has_ended() {
        let told = Told::Done { approach: Arc::new(approach) };
        report(&at.room, &session, Command::Report { task: task.id, told }).await?;
    }
    let record = Found::named(&at.room, &session).await?.record(&at.room).await?;
    record.done().map(Json)
}

async fn report(room: &Room, session: &str, command: Command) -> Result<(), Problem> {
    match room.desk.command(command).await {
        Ok(_) => Ok(()),
        Err(refused @ Refused::NotNow(_)) => {
            let hint = format!(
                "say first what became of it: `PATCH /api/v1/sessions/{session}/mutations/KEY`"
            );
            Err(Problem::from(refused).hint(hint))
        }
        Err(refused) => Err(refused.into()),
    }
}

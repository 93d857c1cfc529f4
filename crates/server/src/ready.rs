//! The readiness check: each project's needs are met, and so are those of the next request.
//!
//! The response is public, so it names no project; the log does.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use rustix::process::{Resource, getrlimit};

use crate::api::SharedServerState;
use crate::desk::ReadinessError;
use crate::site::HostedProject;

/// Minimum number of free descriptors, for files, agents and further requests.
const DESCRIPTORS_LEFT_MIN: u64 = 32;
/// The folder that lists the descriptors of this process.
const DESCRIPTORS: &str = "/dev/fd";

/// Responds that the server is ready, or with the first obstacle.
pub(crate) async fn report_readiness(State(site): State<SharedServerState>) -> Response {
    if site.stop.is_cancelled() {
        return not_ready_response(&"it is ending");
    }
    if count_free_descriptors() < DESCRIPTORS_LEFT_MIN {
        tracing::warn!("there are hardly any file descriptors left");
        return not_ready_response(&"it has hardly any file descriptors left");
    }
    for room in site.all_projects() {
        if let Err(why) = check_project(room).await {
            return not_ready_response(&why);
        }
    }
    "ready\n".into_response()
}

async fn check_project(room: &HostedProject) -> Result<(), ReadinessError> {
    if let Err(error) = room.store.check_usable(&room.name).await {
        tracing::warn!(project = %room.name, %error, "a store cannot be used");
        return Err(ReadinessError::Store);
    }
    let ready = room.host.check_ready().await;
    ready.inspect_err(|why| tracing::warn!(project = %room.name, %why, "not ready"))
}

fn not_ready_response(why: &dyn std::fmt::Display) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response()
}

/// Returns the number of descriptors that this process may still open. A system that does not tell
/// counts as unlimited.
fn count_free_descriptors() -> u64 {
    let Some(most) = getrlimit(Resource::Nofile).current else { return u64::MAX };
    match std::fs::read_dir(DESCRIPTORS) {
        Ok(open) => most.saturating_sub(open.count() as u64),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => u64::MAX,
        // Not even the folder can be opened.
        Err(_) => 0,
    }
}

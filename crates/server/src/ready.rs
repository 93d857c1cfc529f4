//! Whether the server can do what it is there for: what each project needs is there, and so is what
//! the next request needs.
//!
//! The answer is open to everybody, so it names no project; the log does.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use rustix::process::{Resource, getrlimit};

use crate::api::Shared;
use crate::desk::NotReady;
use crate::site::Room;

/// Descriptors that are left for files, agents and whoever asks next.
const DESCRIPTORS_LEFT_MIN: u64 = 32;
/// The descriptors of this process, as a folder.
const DESCRIPTORS: &str = "/dev/fd";

/// Says that it is ready, or the first thing that is in the way.
pub(crate) async fn ready(State(site): State<Shared>) -> Response {
    if site.stop.is_cancelled() {
        return not_ready(&"it is ending");
    }
    if descriptors_left() < DESCRIPTORS_LEFT_MIN {
        tracing::warn!("there are hardly any file descriptors left");
        return not_ready(&"it has hardly any file descriptors left");
    }
    for room in site.rooms() {
        if let Err(why) = check(room).await {
            return not_ready(&why);
        }
    }
    "ready\n".into_response()
}

async fn check(room: &Room) -> Result<(), NotReady> {
    if let Err(error) = room.store.usable(&room.name).await {
        tracing::warn!(project = %room.name, %error, "a store cannot be used");
        return Err(NotReady::Store);
    }
    let ready = room.desk.ready().await;
    ready.inspect_err(|why| tracing::warn!(project = %room.name, %why, "not ready"))
}

fn not_ready(why: &dyn std::fmt::Display) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response()
}

/// How many more descriptors this process may open. A system that does not tell sets no limit here.
fn descriptors_left() -> u64 {
    let Some(most) = getrlimit(Resource::Nofile).current else { return u64::MAX };
    match std::fs::read_dir(DESCRIPTORS) {
        Ok(open) => most.saturating_sub(open.count() as u64),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => u64::MAX,
        // Not even the folder can be opened.
        Err(_) => 0,
    }
}

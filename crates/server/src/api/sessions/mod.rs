//! Sessions for other runtimes: they do the work, and report its outcome here.
//!
//! A session is a build with one task. Every report becomes a command of the engine; the response
//! is read from the state after it. Nothing is decided here.

mod directed;
mod failure;
mod intents;
mod open;
mod outcomes;
mod record;
mod report;

use super::docs::ApiRouter;

pub(super) fn add_routes(api: ApiRouter) -> ApiRouter {
    let api = open::add_routes(api);
    let api = report::add_routes(api);
    let api = intents::add_routes(api);
    outcomes::add_routes(api)
}

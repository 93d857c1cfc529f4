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

use super::docs::Api;

pub(super) fn routes(api: Api) -> Api {
    let api = open::routes(api);
    let api = report::routes(api);
    let api = intents::routes(api);
    outcomes::routes(api)
}

//! Sessions for other runtimes: they do the work, and tell here what comes of it.
//!
//! A session is a build with one task. Everything that is told becomes a command of the engine; what
//! comes back is read from where things stand then. Nothing is decided here.

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

//! An exchange with a model's service: one request, its stream, its deadlines, and failures as
//! faults. No request is retried here.

mod certificates;
mod exchange;
mod head;
mod problem;
mod service;

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;

use super::Credential;
use super::prices::Prices;
use crate::agent::Usage;
use crate::model::MessagePart;

pub(super) use exchange::replay_stream;
pub(crate) use head::{ResponseHead, find_root_cause, read_response};
pub(super) use problem::{ProblemClass, ProviderProblem};
pub use service::Proxies;
pub(crate) use service::build_client;
pub(super) use service::{ModelService, Vendor};

/// The settings for calling a model.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The name of the model.
    pub model: String,
    /// The base URL, if it is not the vendor's own.
    pub base_url: Option<String>,
    /// The proxies for reaching the service.
    pub proxies: Proxies,
    /// The key; a self-hosted service may need none.
    pub credential: Option<Credential>,
    /// The variable of the key, for the message to the operator if the key is missing or wrong.
    pub variable: Option<String>,
    /// The time limits of a turn.
    pub deadlines: TurnDeadlines,
    /// The prices of models.
    pub prices: Prices,
}

/// The time limits of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnDeadlines {
    /// Time until the connection is established.
    pub connect: Duration,
    /// Time from the request to the beginning of the response.
    pub first_byte: Duration,
    /// Time between two chunks of the response.
    pub idle: Duration,
    /// Time for the whole turn.
    pub total: Duration,
}

impl Default for TurnDeadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            // Some models think for minutes before their first output.
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            total: Duration::from_mins(30),
        }
    }
}

/// The parser of a protocol's responses. Does no I/O.
pub(super) trait StreamParser: Default {
    /// Classifies an error response.
    fn classify_refusal(head: &ResponseHead, body: &[u8]) -> ProviderProblem;

    /// Handles the data of an event, and returns whether it was the last.
    fn handle_event(&mut self, data: &[u8]) -> Result<bool, ProviderProblem>;

    /// Returns the parts of the turn, once the stream has ended.
    fn finish_turn(&mut self) -> Result<Vec<MessagePart>, ProviderProblem>;

    /// Returns the usage so far, if the service reported it.
    fn reported_usage(&self) -> Option<Usage>;
}

/// Text that borrows from the input where possible.
#[derive(Deserialize)]
pub(super) struct StreamText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Parses the data of an event.
pub(super) fn parse_event<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, ProviderProblem> {
    serde_json::from_slice(data)
        .map_err(|error| ProviderProblem::not_understood(&format!("an event is no JSON: {error}")))
}

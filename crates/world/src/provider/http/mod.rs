//! An exchange with a model's service: one request, its stream, its deadlines, and failures as
//! faults. No request is retried here.

mod exchange;
mod head;
mod problem;
mod proxies;
mod service;

use std::time::Duration;

use super::Credential;
use super::prices::Prices;
use crate::agent::Usage;
use crate::model::Part;

pub(super) use exchange::{body, replay};
pub(crate) use head::Head;
pub(super) use problem::{Problem, Trouble};
pub use proxies::Proxies;
pub(crate) use service::client;
pub(super) use service::{Service, Vendor};

/// The settings for calling a model.
#[derive(Clone, Debug)]
pub struct Settings {
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
    pub deadlines: Deadlines,
    /// The prices of models.
    pub prices: Prices,
}

/// The time limits of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Time until the connection is established.
    pub connect: Duration,
    /// Time from the request to the beginning of the response.
    pub first_byte: Duration,
    /// Time between two chunks of the response.
    pub idle: Duration,
    /// Time for the whole turn.
    pub total: Duration,
}

impl Default for Deadlines {
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
pub(super) trait Reading {
    /// Classifies an error response.
    fn refused(head: &Head, body: &[u8]) -> Problem;

    /// Handles the data of an event, and returns whether it was the last.
    fn event(&mut self, data: &[u8]) -> Result<bool, Problem>;

    /// Returns the parts of the turn, once the stream has ended.
    fn finish(&mut self) -> Result<Vec<Part>, Problem>;

    /// Returns the usage so far, if the service reported it.
    fn usage(&self) -> Option<Usage>;
}

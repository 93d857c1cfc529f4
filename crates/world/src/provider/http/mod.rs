//! One exchange with a model's service: one request, its stream, its deadlines, and what went
//! wrong as a fault. Nothing is tried a second time here.

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

/// How a model is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model.
    pub model: String,
    /// The address, where it is not the vendor's own.
    pub base_url: Option<String>,
    /// What stands between us and it.
    pub proxies: Proxies,
    /// The key; a service of one's own may need none.
    pub credential: Option<Credential>,
    /// Where the key is looked for, for whoever is to put it there.
    pub variable: Option<String>,
    /// How long a turn may take.
    pub deadlines: Deadlines,
    /// What it costs.
    pub prices: Prices,
}

/// How long a turn may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Until there is a connection.
    pub connect: Duration,
    /// From the request to the beginning of the answer.
    pub first_byte: Duration,
    /// From one sign of life in the answer to the next.
    pub idle: Duration,
    /// In all.
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            // Some think for minutes before they say a word.
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            total: Duration::from_mins(30),
        }
    }
}

/// How a protocol's answers are understood. Pure: bytes in, meaning out.
pub(super) trait Reading {
    /// What an answer that is no success means.
    fn refused(head: &Head, body: &[u8]) -> Problem;

    /// Takes in the data of one event; whether it was the last.
    fn event(&mut self, data: &[u8]) -> Result<bool, Problem>;

    /// What the model said, once the stream has ended.
    fn finish(&mut self) -> Result<Vec<Part>, Problem>;

    /// What has been used so far, where the service said.
    fn usage(&self) -> Option<Usage>;
}

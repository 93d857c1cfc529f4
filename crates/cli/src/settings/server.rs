//! The settings of the server.

use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The inbox, the pages and the API: `unstuck serve`, and `unstuck run` while it lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerSettings {
    /// Where it listens. A server of several projects takes this from the first of them.
    #[schemars(with = "String")]
    pub(crate) bind: SocketAddr,
    /// Addresses under which it is reached from elsewhere, each with its `https://`.
    pub(crate) public: Vec<String>,
    /// All requests come from a proxy that says whom it got them from.
    pub(crate) behind_proxy: bool,
    /// `unstuck run` and `unstuck resume` serve their project while they last.
    pub(crate) during_run: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            bind: (Ipv4Addr::LOCALHOST, 7424).into(),
            public: Vec::new(),
            behind_proxy: false,
            during_run: true,
        }
    }
}

//! The proxies from the operator's environment.

use reqwest::{ClientBuilder, NoProxy, Proxy};
use unstuck_core::fault::{Config, Fault};

/// Hosts of this machine, which are never reached through a proxy.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// The proxies for reaching a service; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The proxy for `http`.
    pub http: Option<String>,
    /// The proxy for `https`.
    pub https: Option<String>,
    /// Hosts that are reached without a proxy, in the form of `NO_PROXY`.
    pub not_for: Option<String>,
}

impl Proxies {
    /// Configures the client with these proxies and no others.
    pub(super) fn apply_to(
        &self,
        client: ClientBuilder,
        source: &str,
    ) -> Result<ClientBuilder, Fault> {
        let mut client = client.no_proxy();
        let not_for = self.not_for.as_deref().unwrap_or_default();
        let not_for = NoProxy::from_string(&format!("{THIS_MACHINE},{not_for}"));
        if let Some(address) = &self.http {
            client =
                client.proxy(check_proxy(Proxy::http(address), source)?.no_proxy(not_for.clone()));
        }
        if let Some(address) = &self.https {
            client = client.proxy(check_proxy(Proxy::https(address), source)?.no_proxy(not_for));
        }
        Ok(client)
    }
}

/// Maps an invalid proxy to a fault. The address may contain a password, so it is not repeated.
fn check_proxy(proxy: reqwest::Result<Proxy>, source: &str) -> Result<Proxy, Fault> {
    proxy.map_err(|_| {
        let field = Some("HTTPS_PROXY".to_owned());
        let message = "the address of the proxy cannot be read";
        Fault::config_invalid(source, message, Config { field, ..Config::default() })
    })
}

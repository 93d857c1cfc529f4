//! A service at its address, with everything that a call needs, or the fault that prevents calls;
//! and the proxies from the operator's environment through which it is reached.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Url};
use unstuck_core::fault::{Auth, Config, Fault, Provider};

use super::super::prices::Prices;
use super::certificates::missing_certificates_fault;
use super::{ModelSettings, TurnDeadlines};
use crate::agent::Usage;
use crate::redact::Redactor;

/// The properties in which services differ before the first request.
pub(in crate::provider) struct Vendor {
    pub(in crate::provider) name: &'static str,
    /// The vendor's own base URL.
    pub(in crate::provider) base_url: &'static str,
    /// The path that is appended to the base URL.
    pub(in crate::provider) path: &'static str,
    /// The header for the key, and the prefix of its value.
    pub(in crate::provider) key: (&'static str, &'static str),
    pub(in crate::provider) headers: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub(in crate::provider) struct ModelService {
    pub(super) provider: Provider,
    pub(super) variable: Option<String>,
    pub(super) deadlines: TurnDeadlines,
    pub(super) redactor: Redactor,
    prices: Prices,
    ready: Result<ServiceClient, Fault>,
}

#[derive(Debug)]
pub(super) struct ServiceClient {
    pub(super) client: Client,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
}

impl ModelService {
    pub(in crate::provider) fn new(settings: ModelSettings, vendor: &Vendor) -> Self {
        let name = vendor.name.to_owned();
        let ready = ServiceClient::new(&settings, vendor);
        let secret = settings.credential.as_ref().map(super::Credential::expose);
        Self {
            redactor: Redactor::new(secret),
            provider: Provider { name, model: Some(settings.model) },
            variable: settings.variable,
            deadlines: settings.deadlines,
            prices: settings.prices,
            ready,
        }
    }

    pub(in crate::provider) fn check_ready(&self) -> Result<(), Fault> {
        self.require_client().map(|_| ())
    }

    pub(super) fn require_client(&self) -> Result<&ServiceClient, Fault> {
        self.ready.as_ref().map_err(Clone::clone)
    }

    /// Returns the usage with its cost, if the price is known.
    pub(super) fn price_usage(&self, usage: Usage) -> Usage {
        Usage { money_micros: self.prices.find_cost(self.model(), &usage), ..usage }
    }

    pub(in crate::provider) fn model(&self) -> &str {
        self.provider.model.as_deref().unwrap_or_default()
    }
}

impl ServiceClient {
    fn new(settings: &ModelSettings, vendor: &Vendor) -> Result<Self, Fault> {
        let own = settings.base_url.is_none();
        if own && settings.credential.is_none() {
            return Err(missing_key_fault(settings, vendor));
        }
        let base_url = settings.base_url.as_deref().unwrap_or(vendor.base_url);
        let url = build_url(base_url, vendor)?;
        Ok(Self {
            client: build_client_through(
                &settings.proxies, settings.deadlines.connect, vendor.name,
            )?,
            url,
            headers: build_headers(settings, vendor)?,
        })
    }
}

fn missing_key_fault(settings: &ModelSettings, vendor: &Vendor) -> Fault {
    let variable = settings.variable.clone();
    let message = match &variable {
        Some(variable) => {
            format!("no key: {variable} is not set; `export {variable}=…` sets it for this shell")
        }
        None => "no key is set".to_owned(),
    };
    let auth = Auth { account: vendor.name.to_owned(), variable, ..Auth::default() };
    Fault::auth_missing(vendor.name, message, auth)
}

fn build_url(base_url: &str, vendor: &Vendor) -> Result<Url, Fault> {
    let wrong = |why: &str| {
        let message = format!("the address of the model's service {why}");
        let field = Some("base_url".to_owned());
        Fault::config_invalid(vendor.name, message, Config { field, ..Config::default() })
    };
    let joined = format!("{}{}", base_url.trim_end_matches('/'), vendor.path);
    let url = Url::parse(&joined).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is neither http nor https"));
    }
    // It would be recorded together with the URL.
    if url.password().is_some() || !url.username().is_empty() {
        return Err(wrong("has a password in it; the key belongs into its own setting"));
    }
    Ok(url)
}

fn build_headers(settings: &ModelSettings, vendor: &Vendor) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in vendor.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(credential) = &settings.credential {
        let (name, before) = vendor.key;
        let value = HeaderValue::try_from(format!("{before}{}", credential.expose()));
        let mut value = value.map_err(|_| {
            let variable = settings.variable.clone();
            let auth = Auth { account: vendor.name.to_owned(), variable, ..Auth::default() };
            Fault::auth_invalid(vendor.name, "the key has letters that no key has", auth)
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

/// Creates a client that neither retries nor follows redirects, and uses no proxy.
pub(crate) fn build_client(connect: Duration, source: &str) -> Result<Client, Fault> {
    build_client_through(&Proxies::default(), connect, source)
}

fn build_client_through(
    proxies: &Proxies,
    connect: Duration,
    source: &str,
) -> Result<Client, Fault> {
    // An error means that the program has already chosen a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .user_agent(concat!("unstuck/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        // A request is sent exactly once, and a key is sent only to its own destination.
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none());
    // Everything else that a client is made of is constant or was checked before.
    let client = proxies.apply_to(client, source)?.build();
    client.map_err(|error| missing_certificates_fault(source, error))
}

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
    fn apply_to(&self, client: ClientBuilder, source: &str) -> Result<ClientBuilder, Fault> {
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

//! The variables by which programs learn of a proxy.

/// The port of the proxy inside a run's own network namespace. Below the range from which tests get
/// their ports.
pub const PROXY_PORT: u16 = 13_128;

/// What is reached without the proxy: what listens inside the namespace itself.
const NOT_PROXIED: &str = "localhost,127.0.0.1,::1";

/// The variables that send programs through the proxy at `url`, in both spellings.
pub fn proxy_variables(url: &str) -> Vec<(&'static str, String)> {
    let proxied =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let direct = ["NO_PROXY", "no_proxy"];
    let proxied = proxied.map(|name| (name, url.to_owned()));
    let direct = direct.map(|name| (name, NOT_PROXIED.to_owned()));
    // Node's own client looks at the others only when it is told to.
    proxied.into_iter().chain(direct).chain([("NODE_USE_ENV_PROXY", "1".to_owned())]).collect()
}

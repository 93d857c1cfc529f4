//! Names in an output: the host a program talked to, and the environment variable it required.
//!
//! Only diagnostic lines are searched, so that an address in a remark is not taken for the service that
//! refused. A name is a fact beside the code; no rule and no signature depends on it.

use crate::signature::{self, Diagnosis};

/// Maximum lengths of a host and of a variable name.
const HOST_BYTES_MAX: usize = 253;
const VARIABLE_BYTES_MAX: usize = 64;

/// Suffixes of variables that hold a credential.
const CREDENTIALS: [&str; 7] =
    ["_TOKEN", "_KEY", "_SECRET", "_PASSWORD", "_PASS", "_PAT", "_CREDENTIALS"];

/// The names found in an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputNames {
    /// The host.
    pub host: Option<String>,
    /// The environment variable that should hold a credential.
    pub variable: Option<String>,
}

/// Extracts the names from the output of a command that failed.
pub fn extract_names(output: &[u8]) -> OutputNames {
    let plain = signature::clean_output(output);
    let diagnosis = Diagnosis::from_plain_text(&plain);
    let mut named = OutputNames::default();
    for line in diagnosis.lines() {
        let text = String::from_utf8_lossy(line.text);
        for word in
            text.split(|sign: char| sign.is_whitespace() || "'\"`<>()[]{},;=".contains(sign))
        {
            named.host = named.host.or_else(|| parse_host(word));
            named.variable = named.variable.or_else(|| parse_variable(word));
        }
    }
    named
}

/// Parses the host of `https://ada@api.example.com:443/charges`, or of `git@example.com:` as ssh writes it.
fn parse_host(word: &str) -> Option<String> {
    let authority = match word.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?', '#']).next()?,
        None => word.strip_prefix("git@").map(|_| word)?,
    };
    let host = authority.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
    let plain = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let labels: Vec<&str> = host.split('.').collect();
    // The last label of a numeric address is a number.
    let is_name = labels.last()?.bytes().all(|b| b.is_ascii_alphabetic());
    let fits = labels.len() > 1 && host.len() <= HOST_BYTES_MAX;
    (fits && is_name && labels.iter().all(|label| plain(label))).then_some(host)
}

/// Parses the variable of `$API_TOKEN` or `API_TOKEN:`.
fn parse_variable(word: &str) -> Option<String> {
    let name = word.trim_matches(['$', ':', '.', '!', '?']);
    let written = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let fits = name.len() <= VARIABLE_BYTES_MAX && name.bytes().all(written);
    let holds = CREDENTIALS.iter().any(|end| name.strip_suffix(end).is_some_and(|s| !s.is_empty()));
    (fits && holds).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_and_the_variable_are_found_where_they_are_named() {
        let cases = [
            (
                "fatal: Authentication failed for 'https://ada:x@github.com/ada/shop.git/'",
                Some("github.com"),
                None,
            ),
            ("git@git.example.org: Permission denied (publickey).", Some("git.example.org"), None),
            (
                "error: 401 Unauthorized from https://api.stripe.com:443/v1",
                Some("api.stripe.com"),
                None,
            ),
            ("KeyError: 'SHOP_API_TOKEN'", None, Some("SHOP_API_TOKEN")),
            ("error: STRIPE_API_KEY is not set", None, Some("STRIPE_API_KEY")),
            ("error: login failed for ada@example.org", None, None),
            ("error: 401 from http://127.0.0.1:8080/ and http://localhost/", None, None),
            ("error: _KEY is no name, MAX_SIZE is none", None, None),
            ("error: https://-", None, None),
            ("", None, None),
        ];
        for (output, host, variable) in cases {
            let found = extract_names(output.as_bytes());
            assert_eq!(
                (found.host.as_deref(), found.variable.as_deref()),
                (host, variable),
                "{output}"
            );
        }
    }
}

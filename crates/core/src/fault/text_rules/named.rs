//! Names in an output: the host a program talked to, the environment variable it required, and an expired
//! certificate.
//!
//! Only diagnostic lines are searched, so that an address in a remark is not taken for the service that
//! refused. A name is a fact beside the code; no rule and no signature depends on it.

use crate::fault::ExpiredCertificate;
use crate::signature::{self, Diagnosis};

/// Maximum lengths of a host and of a variable name.
const HOST_BYTES_MAX: usize = 253;
const VARIABLE_BYTES_MAX: usize = 64;

/// Suffixes of variables that hold a credential.
const CREDENTIALS: [&str; 7] =
    ["_TOKEN", "_KEY", "_SECRET", "_PASSWORD", "_PASS", "_PAT", "_CREDENTIALS"];

/// Commands that log in, as tools name them when they ask for it.
const LOGINS: [&str; 46] = [
    "aws configure",
    "aws sso login",
    "az login",
    "bw login",
    "cargo login",
    "claude login",
    "codex login",
    "databricks auth login",
    "docker login",
    "doctl auth init",
    "doppler login",
    "eas login",
    "expo login",
    "firebase login",
    "fly auth login",
    "flyctl auth login",
    "gcloud auth application-default login",
    "gcloud auth login",
    "gh auth login",
    "glab auth login",
    "hcloud context create",
    "helm registry login",
    "heroku login",
    "hf auth login",
    "huggingface-cli login",
    "infisical login",
    "kaggle config",
    "netlify login",
    "npm adduser",
    "npm login",
    "oc login",
    "op signin",
    "podman login",
    "pulumi login",
    "railway login",
    "render login",
    "sentry-cli login",
    "snyk auth",
    "stripe login",
    "supabase login",
    "terraform login",
    "vault login",
    "vercel login",
    "wandb login",
    "wrangler login",
    "yarn npm login",
];

/// The names found in an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputNames {
    /// The host.
    pub host: Option<String>,
    /// The environment variable that should hold a credential.
    pub variable: Option<String>,
    /// The command that logs in.
    pub login: Option<&'static str>,
}

/// Extracts the names from the output of a command that failed.
pub fn extract_names(output: &[u8]) -> OutputNames {
    let plain = signature::clean_output(output);
    let diagnosis = Diagnosis::from_plain_text(&plain);
    let login = String::from_utf8_lossy(&plain).lines().find_map(find_login);
    let mut named = OutputNames { login, ..OutputNames::default() };
    for line in diagnosis.lines() {
        let text = String::from_utf8_lossy(line.text);
        for word in
            text.split(|sign: char| sign.is_whitespace() || "'\"`<>()[]{},;=".contains(sign))
        {
            named.host = named.host.or_else(|| parse_host(word));
            named.variable = named.variable.or_else(|| parse_variable(word));
        }
        named.host = named.host.or_else(|| parse_refusing_host(&text));
    }
    named
}

/// Returns the command with which a line asks for a login. An assertion about such a line asks for nothing.
fn find_login(line: &str) -> Option<&'static str> {
    let is_about_words = ["assert", "expected", "FAIL"].iter().any(|word| line.contains(word));
    let is_part = |c: char| c.is_alphanumeric() || c == '-';
    let mut asked = LOGINS.into_iter().filter(|_| !is_about_words);
    asked.find(|login| {
        line.match_indices(login).any(|(at, _)| {
            !line[..at].ends_with(is_part) && !line[at + login.len()..].starts_with(is_part)
        })
    })
}

/// Returns the address that a program could not reach, with its port if it is named: `db.example.com:5432`.
pub fn find_unreached_address(output: &[u8]) -> Option<String> {
    let plain = signature::clean_output(output);
    let diagnosis = Diagnosis::from_plain_text(&plain);
    let aside = diagnosis.aside_diagnosis();
    let lines = diagnosis.lines().iter().chain(aside.iter().flat_map(Diagnosis::lines));
    lines.map(|line| String::from_utf8_lossy(line.text)).find_map(|line| parse_unreached(&line))
}

/// Parses the address in a line about a connection: of an URL, or behind the words that announce one.
fn parse_unreached(line: &str) -> Option<String> {
    const BEFORE: [&str; 7] =
        ["host", "lookup", "tcp", "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT"];
    let words: Vec<&str> = line
        .split(|sign: char| sign.is_whitespace() || "'\"`<>(){},;=".contains(sign))
        .map(|word| word.trim_end_matches([':', '.', '!', '?']))
        .filter(|word| !word.is_empty())
        .collect();
    if let Some(address) = words.iter().find_map(|word| parse_authority(word)) {
        return Some(address);
    }
    let announced = |at: usize| {
        let connects = || words[at] == "to" && at > 0 && words[at - 1].starts_with("connect");
        BEFORE.contains(&words[at]) || connects()
    };
    let at = (1..words.len()).find(|at| announced(at - 1) && is_address(words[*at]))?;
    let host = words[at];
    let port = words.get(at + 1).filter(|word| **word == "port").and_then(|_| words.get(at + 2));
    let port = port.filter(|port| port.bytes().all(|b| b.is_ascii_digit()) && !host.contains(':'));
    Some(port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// Parses the host and port of an URL.
fn parse_authority(word: &str) -> Option<String> {
    let (_, rest) = word.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    is_address(authority).then(|| authority.to_owned())
}

/// Returns whether a word is a host name with a dot, `localhost` or a numeric address, perhaps with a port.
fn is_address(word: &str) -> bool {
    let (host, port) = word.rsplit_once(':').unwrap_or((word, ""));
    let plain = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let named = host == "localhost" || host.contains('.') && host.split('.').all(plain);
    named && word.len() <= HOST_BYTES_MAX && port.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the certificate that an output calls expired, and the host of `command` or of that line.
pub fn find_expired_certificate(
    output: &[u8],
    command: &str,
) -> Option<(ExpiredCertificate, Option<String>)> {
    let plain = signature::clean_output(output);
    let text = String::from_utf8_lossy(&plain);
    let line = text.lines().find(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("cert") && line.contains("expired") && !line.contains("client certificate")
    })?;
    let time = [" is after ", "expired at ", "xpired on "].iter().find_map(|mark| {
        let (_, rest) = line.split_once(mark)?;
        let end = rest.find([',', ')', ';']).unwrap_or(rest.len());
        let time = rest[..end].trim().trim_end_matches('.');
        time.starts_with(|sign: char| sign.is_ascii_digit()).then(|| time.to_owned())
    });
    let words = |text: &str| {
        let mut words =
            text.split(|sign: char| sign.is_whitespace() || "'\"`<>()[]{},;=".contains(sign));
        words.find_map(parse_host)
    };
    Some((ExpiredCertificate { at: time }, words(command).or_else(|| words(line))))
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

/// Parses the host of `ada@web.example.com: Permission denied`, as ssh writes it, of `Host key for HOST`, or of
/// `server at "HOST"`, as database clients do.
fn parse_refusing_host(line: &str) -> Option<String> {
    let of_login = || {
        let (login, _) = line.split_once(": Permission denied")?;
        login.rsplit(' ').next()?.split_once('@').map(|(_, host)| host)
    };
    let announced = |sign: &str| {
        let (_, rest) = line.split_once(sign)?;
        rest.split(|sign: char| sign.is_whitespace() || "\"',".contains(sign)).next()
    };
    let host =
        of_login().or_else(|| announced("server at \"")).or_else(|| announced("ost key for "));
    parse_host(&format!("ssh://{}", host?))
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
    fn the_address_that_was_not_reached_is_found() {
        let cases = [
            (
                "npm error FetchError: request to http://127.0.0.1:9/left-pad failed, reason: \
                 connect ECONNREFUSED 127.0.0.1:9",
                Some("127.0.0.1:9"),
            ),
            (
                "npm error network request to https://registry.npmjs.org/x failed, reason: \
                 getaddrinfo ENOTFOUND registry.npmjs.org",
                Some("registry.npmjs.org"),
            ),
            ("curl: (6) Could not resolve host: api.shop.example", Some("api.shop.example")),
            (
                "curl: (7) Failed to connect to api.shop.example port 443 after 2 ms: Connection \
                 refused",
                Some("api.shop.example:443"),
            ),
            (
                "fatal: unable to access 'https://ada:x@git.example.com/a.git/': Could not resolve \
                 host: git.example.com",
                Some("git.example.com"),
            ),
            ("dial tcp: lookup db.internal.example: no such host", Some("db.internal.example")),
            ("Error: connect ETIMEDOUT 10.0.0.7:5432", Some("10.0.0.7:5432")),
            ("curl: (7) Failed to connect to the server", None),
            ("error: connection refused", None),
        ];
        for (output, address) in cases {
            assert_eq!(find_unreached_address(output.as_bytes()).as_deref(), address, "{output}");
        }
    }

    #[test]
    fn an_expired_certificate_is_found_with_its_host_and_time() {
        let cases = [
            (
                "curl: (60) SSL certificate problem: certificate has expired\n\
                 More details here: https://curl.se/docs/sslcerts.html",
                "curl -fsS https://shop.example.com/orders",
                Some((Some("shop.example.com"), None)),
            ),
            (
                "curl: (60) SSL certificate problem: certificate has expired",
                "./sync.sh",
                Some((None, None)),
            ),
            (
                "Get \"https://registry.example.com/v2/\": tls: failed to verify certificate: x509: \
                 certificate has expired or is not yet valid: current time 2026-11-02T10:14:51Z is \
                 after 2026-10-31T10:14:51Z",
                "docker pull x",
                Some((Some("registry.example.com"), Some("2026-10-31T10:14:51Z"))),
            ),
            ("error: the client certificate has expired", "x", None),
            ("curl: (60) SSL certificate problem: self-signed certificate", "x", None),
        ];
        for (output, command, wanted) in cases {
            let found = find_expired_certificate(output.as_bytes(), command);
            let found = found.as_ref().map(|(of, host)| (host.as_deref(), of.at.as_deref()));
            assert_eq!(found, wanted, "{output}");
        }
    }

    // B15: a tool that asks for a login says nothing about the work; an assertion does.
    #[test]
    fn the_login_that_a_tool_asks_for_is_found() {
        let cases = [
            ("npm error code E401\nnpm error   npm login\n", Some("npm login")),
            ("To get started, please run:  gh auth login", Some("gh auth login")),
            (
                "Unable to locate credentials. You can configure credentials by running \"aws configure\".",
                Some("aws configure"),
            ),
            ("error: please run `oc login`", Some("oc login")),
            ("error: please run `doc login-page`", None),
            ("AssertionError: expected 'run npm login'", None),
            ("401 Unauthorized: invalid credentials", None),
        ];
        for (output, login) in cases {
            assert_eq!(extract_names(output.as_bytes()).login, login, "{output}");
        }
    }

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
            (
                "deploy@web1.shop.example: Permission denied (publickey).",
                Some("web1.shop.example"),
                None,
            ),
            (
                "psql: error: connection to server at \"db.shop.example\" (10.0.0.5), port 5432 \
                 failed: FATAL:  password authentication failed for user \"reporter\"",
                Some("db.shop.example"),
                None,
            ),
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

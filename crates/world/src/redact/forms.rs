//! The forms that a secret value takes in text.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::VALUE_BYTES_MIN;

/// The characters that a URL has to escape.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SecretForm {
    pub(super) text: String,
    pub(super) base64: bool,
}

/// Returns all forms of all secrets, without duplicates.
pub(super) fn list_forms<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Vec<SecretForm> {
    let mut forms = BTreeSet::new();
    for secret in secrets {
        // A secret of several lines is shown line by line as often as whole.
        for value in [secret].into_iter().chain(secret.lines()).map(str::trim) {
            if value.len() >= VALUE_BYTES_MIN {
                forms.extend(
                    list_plain_forms(value)
                        .into_iter()
                        .map(|text| SecretForm { text, base64: false }),
                );
                forms
                    .extend(list_base64_forms(value).map(|text| SecretForm { text, base64: true }));
            }
        }
    }
    // The replacement text itself is excluded, or redaction would never end.
    forms.retain(|form| form.text.len() >= VALUE_BYTES_MIN && !"[redacted]".contains(&form.text));
    forms.into_iter().collect()
}

fn list_plain_forms(value: &str) -> Vec<String> {
    let address = utf8_percent_encode(value, ESCAPED).to_string();
    let form = address.replace("%20", "+");
    let json = serde_json::to_string(value).unwrap_or_default();
    let json = json.trim_start_matches('"');
    let json = json.strip_suffix('"').unwrap_or(json);
    vec![
        value.to_owned(),
        lowercase_escapes(&address),
        lowercase_escapes(&form),
        address,
        form,
        json.replace('/', "\\/"),
        json.to_owned(),
    ]
}

/// Converts `%2F` to `%2f`.
fn lowercase_escapes(address: &str) -> String {
    let mut lowered = String::with_capacity(address.len());
    let mut rest = address;
    while let Some(at) = rest.find('%') {
        let end = (at + 3).min(rest.len());
        lowered.push_str(&rest[..at]);
        lowered.push_str(&rest[at..end].to_ascii_lowercase());
        rest = &rest[end..];
    }
    lowered.push_str(rest);
    lowered
}

/// Returns the base64 forms of a value, for each of its three positions within a group of
/// characters. Leaves out characters that it shares with its neighbors.
fn list_base64_forms(value: &str) -> impl Iterator<Item = String> {
    (0..3_usize).flat_map(move |offset| {
        let mut bytes = vec![0; offset];
        bytes.extend_from_slice(value.as_bytes());
        let shared = [0, 2, 3][offset];
        let whole = bytes.len() * 8 / 6;
        [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)]
            .map(|text| text.get(shared..whole).unwrap_or_default().to_owned())
    })
}

/// Returns whether a byte is a base64 character, in either alphabet.
pub(super) const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

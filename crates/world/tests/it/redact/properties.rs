//! What holds for every text and every secret.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use unstuck_world::redact::Redactor;

/// Text with much in it that looks like the beginning of a secret.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("sk-".to_owned()),
        Just("ghp_0123456789".to_owned()),
        Just("eyJ".to_owned()),
        Just("password=".to_owned()),
        Just("\"token\": \"".to_owned()),
        Just("Authorization: ".to_owned()),
        Just("https://user:".to_owned()),
        Just("@host".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("[redacted]".to_owned()),
        Just("\n".to_owned()),
        Just(" ".to_owned()),
        "[a-zA-Z0-9]{1,24}",
        "[ -~]{0,8}",
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn in_pieces(redactor: &Redactor, text: &[u8], size: usize) -> Vec<u8> {
    let mut stream = redactor.start_stream();
    let mut clean: Vec<u8> = text.chunks(size).flat_map(|piece| stream.push(piece)).collect();
    clean.extend(stream.finish());
    clean
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_second_time_changes_nothing(text in text(), secret in "[a-zA-Z0-9]{8,20}") {
        let redactor = Redactor::new([secret.as_str()]);
        let text = text.replace("host", &secret);
        let once = redactor.redact_text(&text).into_owned();
        prop_assert_eq!(redactor.redact_text(&once), once.as_str());
    }

    #[test]
    fn pieces_give_the_same_as_the_whole(text in text(), size in 1_usize..40) {
        let redactor = Redactor::default();
        let whole = redactor.redact_bytes(text.as_bytes()).into_owned();
        prop_assert_eq!(in_pieces(&redactor, text.as_bytes(), size), whole);
    }

    // TX16, B9
    #[test]
    fn a_planted_secret_never_survives(
        before in text(),
        after in text(),
        secret in "[ -~]{9,40}",
        size in 1_usize..40,
    ) {
        let secret = secret.trim();
        prop_assume!(secret.len() >= 8 && !"[redacted]".contains(secret));
        let redactor = Redactor::new([secret]);
        let json = serde_json::to_string(secret).unwrap();
        let json = &json[1..json.len() - 1];
        let forms = [
            secret.to_owned(),
            json.to_owned(),
            utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string().replace("%2D", "-")
                .replace("%2E", ".").replace("%5F", "_").replace("%7E", "~"),
            STANDARD.encode(secret),
            URL_SAFE.encode(secret),
            STANDARD.encode(format!("user:{secret}")),
            STANDARD.encode(format!("u:{secret}\n")),
        ];
        for form in forms {
            // What survives by chance was there before.
            prop_assume!(!before.contains(secret) && !after.contains(secret));
            let text = format!("{before}{form}{after}");
            let clean = String::from_utf8(in_pieces(&redactor, text.as_bytes(), size)).unwrap();
            prop_assert!(!clean.contains(&form), "{form} in {clean}");
            prop_assert!(!clean.contains(secret), "{secret} in {clean}");
        }
    }

    #[test]
    fn what_has_no_anchor_is_not_touched(text in "[b-dB-D \n]{0,200}") {
        prop_assert_eq!(Redactor::default().redact_text(&text), text.as_str());
    }
}

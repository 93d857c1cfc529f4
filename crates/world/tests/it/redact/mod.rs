//! Redaction: what is taken out, what is left, and that nothing planted survives.

mod properties;

use std::borrow::Cow;

use unstuck_world::redact::Redactor;

fn redact(text: &str) -> String {
    let clean = Redactor::default().redact_text(text).into_owned();
    assert_eq!(Redactor::default().redact_text(&clean), clean, "a second time changes {text:?}");
    clean
}

// TX16, B9: shapes that are secret wherever they come from.
#[test]
fn known_shapes_are_taken_out() {
    let cases = [
        ("key sk-ant-api03-AbCdEfGhIjKlMnOpQrSt end", "key [redacted:api-key] end"),
        ("sk-proj-AbCdEfGhIjKlMnOpQrSt", "[redacted:api-key]"),
        ("sk_live_0123456789abcdef", "[redacted:stripe]"),
        ("(ghp_0123456789abcdefghijABCDEFGHIJ012345)", "([redacted:github])"),
        ("github_pat_11ABCDEFG0123456789_abcdef", "[redacted:github]"),
        ("glpat-abcdefghij0123456789", "[redacted:gitlab]"),
        ("ust_0123456789abcdefghijABCDEFGHIJ0123456789_-x", "[redacted:unstuck]"),
        ("xoxb-1234567890-abcdefghij", "[redacted:slack]"),
        (
            "https://hooks.slack.com/services/T000/B000/abcdefghijklmnop1234",
            "https://hooks.slack.com/services/[redacted:slack]",
        ),
        ("id AKIAIOSFODNN7EXAMPLE", "id [redacted:aws]"),
        ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "[redacted:google]"),
        (
            "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl.",
            "jwt [redacted:jwt]",
        ),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: [redacted:header]"),
        (
            "curl -H 'authorization: token abc12345' x",
            "curl -H 'authorization: [redacted:header]' x",
        ),
        (r#"{"Authorization":"Bearer abcdefgh"}"#, r#"{"Authorization":"[redacted:header]"}"#),
        ("sent Bearer abcdefghijklmnop0123", "sent Bearer [redacted:bearer]"),
        ("Set-Cookie: session=abcdef; Path=/", "Set-Cookie: [redacted:header]"),
        ("postgres://app:s3cr3t@db:5432/x", "postgres://app:[redacted:address]@db:5432/x"),
        ("https://u:p@ss@host/", "https://u:[redacted:address]@host/"),
        ("PGPASSWORD=hunter psql", "PGPASSWORD=[redacted:value] psql"),
        ("--password=abcd --x", "--password=[redacted:value] --x"),
        ("DB_PWD=hunter22", "DB_PWD=[redacted:value]"),
        ("pay --password swordfish-08 --x", "pay --password [redacted:value] --x"),
        ("pay --api-key 'k9f8e7d6' x", "pay --api-key '[redacted:value]' x"),
        ("curl -u ada:Kd82xyz https://x.test", "curl -u ada:[redacted:value] https://x.test"),
        ("mysqldump -u root -pKd82xyz shop", "mysqldump -u root -p[redacted:value] shop"),
        (r#""password": "correct horse""#, r#""password": "[redacted:value]""#),
        (r#"{\"password\": \"correct\"}"#, r#"{\"password\": \"[redacted:value]\"}"#),
        ("GITHUB_TOKEN=abc123def", "GITHUB_TOKEN=[redacted:value]"),
        ("api_key: 9f8e7d6c5b4a", "api_key: [redacted:value]"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7", "AWS_SECRET_ACCESS_KEY=[redacted:value]"),
        ("?access_token=abc123&x=1", "?access_token=[redacted:value]&x=1"),
    ];
    for (text, clean) in cases {
        assert_eq!(redact(text), clean, "{text}");
    }
}

#[test]
fn what_is_no_secret_stays_and_is_not_copied() {
    let cases = [
        "the task-runner-is-not-a-key-of-any-kind-at-all",
        "risk-free, desk-bound",
        "token: u64,",
        "let token = parser.next_token();",
        "max_tokens=4096",
        "tokens: 1234567890",
        "password: String,",
        "password=$PASSWORD",
        "PWD=/home/ada/shop1",
        "OLDPWD=/home/ada/shop1",
        "docker run -u 1000:1000 -v a:b x",
        "docker run -u node:node x",
        "mysql -u root -p shop",
        "--password must be given, or --token of the account",
        "--token-file /run/token1",
        "pwd: '~/shop1'",
        "password=${{ secrets.PASSWORD }}",
        "secret = get_secret(name1)",
        "http://127.0.0.1:8080/path",
        "user@example.com:22",
        "https://example.com/@scope/pkg",
        "eyJust a word",
        "AKIA is a prefix",
        "-----BEGIN CERTIFICATE-----",
        "the cookie jar is empty",
        "grüße und tokens",
        "",
    ];
    for text in cases {
        assert!(
            matches!(Redactor::default().redact_text(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}

#[test]
fn a_private_key_goes_whole_and_nothing_after_it() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA\n\
               abcd+/==\n-----END RSA PRIVATE KEY-----\nafter";
    assert_eq!(redact(key), "[redacted:private-key]\nafter");
    let diff =
        "+-----BEGIN PRIVATE KEY-----\n+MIIEpAIBAAKCAQEA\n+-----END PRIVATE KEY-----\n+after";
    assert_eq!(redact(diff), "+[redacted:private-key]\n+after");
    let json = r#""-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n""#;
    assert_eq!(redact(json), r#""[redacted:private-key]\n""#);
    let line = "-----BEGIN PRIVATE KEY-----MIIE-----END PRIVATE KEY-----\nafter";
    assert_eq!(redact(line), "[redacted:private-key]\nafter");
    // The text only speaks of a key.
    let spoken = "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {\n    found()\n}";
    assert_eq!(redact(spoken), "if text.contains(\"[redacted:private-key]\") {\n    found()\n}");
    let unfinished = "-----BEGIN PRIVATE KEY-----\nthis is no key";
    assert_eq!(redact(unfinished), "[redacted:private-key]\nthis is no key");
}

// TX16, B9: values that are known to be secret.
#[test]
fn known_values_are_taken_out_in_every_form() {
    let secret = "pa$$ w/rd\"ü-1";
    let redactor = Redactor::new([secret, "short", "redacted"]);
    let json = serde_json::to_string(secret).unwrap();
    for text in [
        secret.to_owned(),
        format!("x{secret}y"),
        json,
        "pa%24%24%20w%2Frd%22%C3%BC-1".to_owned(),
        "pa%24%24%20w%2frd%22%c3%bc-1".to_owned(),
        "pa%24%24+w%2Frd%22%C3%BC-1".to_owned(),
    ] {
        let clean = redactor.redact_text(&text).into_owned();
        assert!(clean.contains("[redacted]"), "{text}: {clean}");
        assert!(
            !clean.contains("rd\"") && !clean.contains("rd%22") && !clean.contains("rd\\\""),
            "{clean}"
        );
        assert_eq!(redactor.redact_text(&clean), clean);
    }
    // Too short to tell from a word, and the word of a replacement.
    assert_eq!(redactor.redact_text("short redacted"), "short redacted");
    assert!(!format!("{redactor:?}").contains("w/rd"));
}

#[test]
fn the_lines_of_a_secret_are_secret_too() {
    let redactor = Redactor::new(["first-line-1\nsecond-line-2\n"]);
    assert_eq!(redactor.redact_text("a second-line-2 b"), "a [redacted] b");
    assert_eq!(redactor.redact_text("first-line-1\nsecond-line-2"), "[redacted]\n[redacted]");
}

#[test]
fn what_overlaps_goes_as_one() {
    let redactor = Redactor::new(["abc,def123"]);
    assert_eq!(redactor.redact_text("password=abc,def123 x"), "password=[redacted] x");
}

#[test]
fn a_line_without_an_end_does_not_wait_for_ever() {
    let redactor = Redactor::new(["canary-0123"]);
    let mut stream = redactor.start_stream();
    let piece = [b"x".repeat(40_000), b" canary-0123 ".to_vec()].concat();
    let mut clean = Vec::new();
    for _ in 0..5 {
        clean.extend(stream.push(&piece));
    }
    assert!(clean.len() > 100_000, "{}", clean.len());
    clean.extend(stream.finish());
    let text = String::from_utf8(clean).unwrap();
    assert_eq!(text.matches("[redacted]").count(), 5);
    assert!(!text.contains("canary"));
}

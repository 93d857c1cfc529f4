//! What the text rules must say, as tables.

use unstuck_core::fault::text_rules::{RuleSet, classify_output, classify_with, rule_name};
use unstuck_core::fault::{Class, Code};
use unstuck_core::signature::{
    HEAD_BYTES_MAX, LINE_BYTES_MAX, Signature, TAIL_BYTES_MAX, masked_lines,
};

fn class_of(text: &str) -> Class {
    classify_output(text.as_bytes()).code.row().class
}

fn cases(phrase: &str) -> [String; 4] {
    let mut first = phrase.to_owned();
    first[..1].make_ascii_uppercase();
    [
        phrase.to_owned(),
        phrase.to_uppercase(),
        first.clone(),
        format!("deploy step ended: {first} (while uploading)"),
    ]
}

// T0.2
#[test]
fn never_retry_phrases_in_any_case() {
    for phrase in [
        "permission denied", "authentication failed", "unauthorized", "forbidden",
        "invalid credentials", "rate limit exceeded", "subscription", "invalid subscription",
        "access denied",
    ] {
        for text in cases(phrase) {
            assert_eq!(class_of(&text), Class::NeverRetry, "{text}");
        }
    }
}

// T0.3
#[test]
fn environment_phrases_in_any_case() {
    for phrase in [
        "connection refused", "network timeout", "timeout", "name resolution failed", "disk full",
        "no space left", "package registry", "registry down", "temporary failure",
        "service unavailable",
    ] {
        for text in cases(phrase) {
            assert_eq!(class_of(&text), Class::EnvError, "{text}");
        }
    }
}

// T0.4
#[test]
fn ordinary_failures_of_code_are_code_errors() {
    for text in [
        "",
        "   \n\n",
        "SyntaxError: invalid syntax",
        "TypeError: 'int' object is not callable",
        "NameError: name 'x' is not defined",
        "ModuleNotFoundError: No module named 'yaml'",
        "KeyError: 'price'",
        "ValueError: invalid literal for int()",
        "AssertionError",
        "AssertionError: timeout should be 30",
        "something odd happened",
        "ü-Fehler: ñandú 漢字",
    ] {
        let reading = classify_output(text.as_bytes());
        assert_eq!(reading.code, Code::LogicError, "{text:?} by {}", reading.rule);
    }
}

// T0.3, B3: words inside identifiers, quotes, paths and test names decide nothing.
#[test]
fn words_that_are_no_diagnosis_change_nothing() {
    for text in [
        "app.js:3\nsetTimeout(() => {\n^\n\nSyntaxError: Unexpected end of input\n    at wrapSafe (node:internal/modules/cjs/loader:1378:20)",
        "src/main.ts(3,1): error TS2304: Cannot find name 'setTimeout'.",
        "FAILED tests/test_api.py::test_rate_limit_401 - AssertionError: assert 1 == 2",
        "test auth::unauthorized_401_timeout ... FAILED\n\nfailures:\n    auth::unauthorized_401_timeout\n",
        "--- FAIL: TestConnectionRefused (0.00s)\n    client_test.go:9: got 1",
        "src/rate_limit/timeout.rs:3:5: error: expected `;`, found `}`",
        "error[E0425]: cannot find value `timeout` in this scope\n --> src/a.rs:1:1",
        "NameError: name 'permission_denied' is not defined",
    ] {
        let reading = classify_output(text.as_bytes());
        assert_eq!(reading.code, Code::LogicError, "{text:?} by {}", reading.rule);
    }
}

// T0.5
#[test]
fn what_needs_a_person_wins_over_what_passes() {
    assert_eq!(class_of("error: unauthorized after connection timeout"), Class::NeverRetry);
    assert_eq!(class_of("timeout\nlogin: access denied"), Class::NeverRetry);
    assert_eq!(
        classify_output(b"HTTP 429: forbidden, too many requests").code,
        Code::ToolRateLimit
    );
}

// T0.6
#[test]
fn the_type_name_counts() {
    for (text, code) in [
        ("PermissionError: /srv/data", Code::ToolAccessDenied),
        ("requests.exceptions.ReadTimeout: x", Code::EnvTimeout),
        ("com.acme.RateLimitException: slow", Code::ToolRateLimit),
        ("ConnectionRefusedError", Code::EnvConnection),
        ("botocore.exceptions.NoCredentialsError: x", Code::AuthMissing),
        ("System.UnauthorizedAccessException: x", Code::ToolAccessDenied),
    ] {
        assert_eq!(classify_output(text.as_bytes()).code, code, "{text}");
    }
}

#[test]
fn codes_from_text() {
    for (text, code) in [
        ("The requested URL returned error: 401", Code::AuthInvalid),
        ("The requested URL returned error: 403", Code::ToolAccessDenied),
        ("fatal: could not read Username for 'https://x.example'", Code::AuthMissing),
        ("error: the token has expired", Code::AuthExpired),
        ("API rate limit exceeded", Code::ToolQuota),
        ("HTTP/1.1 429 Too Many Requests", Code::ToolRateLimit),
        ("error: request was throttled", Code::ToolRateLimit),
        ("CONFLICT (content): Merge conflict in a.rs", Code::GitConflict),
        ("fatal: Unable to create '/r/.git/index.lock': File exists.", Code::GitLocked),
        ("bash: frob: command not found", Code::ToolMissing),
        ("error: unknown option '--frob'", Code::ToolConfig),
        ("Segmentation fault (core dumped)", Code::ToolCrash),
        ("OSError: [Errno 28] No space left on device", Code::EnvDiskFull),
        ("npm error code E503", Code::EnvRegistry),
        ("Error: Could not find your API key", Code::AuthMissing),
        (
            "Incorrect API key provided. You can find your API key at https://x.example",
            Code::AuthInvalid,
        ),
    ] {
        let reading = classify_output(text.as_bytes());
        assert_eq!(reading.code, code, "{text} by {}", reading.rule);
    }
}

#[test]
fn validation_output_knows_only_the_environment() {
    let verdict = |text: &str| {
        classify_with(text.as_bytes(), RuleSet::ValidationOutput).map(|(code, _)| code)
    };
    assert_eq!(verdict("error: 401 Unauthorized"), None);
    assert_eq!(verdict("permission denied"), None);
    assert_eq!(verdict("error[E0425]: cannot find value `x` in this scope"), None);
    assert_eq!(verdict("curl: (7) Failed to connect to x port 80"), Some(Code::EnvConnection));
    assert_eq!(verdict("write error: No space left on device"), Some(Code::EnvDiskFull));
    assert_eq!(classify_with(b"hello", RuleSet::Everything), None);
}

// B3: a check that talks about an outage is red; a tool that meets one is not.
#[test]
fn a_check_is_red_unless_a_tool_says_what_it_could_not_reach() {
    let verdict = |text: &str| {
        classify_with(text.as_bytes(), RuleSet::ValidationOutput).map(|(code, _)| code)
    };
    for red in [
        "expected 200 got 500",
        "FAIL: expected 200 got 500",
        "AssertionError: 503 != 200",
        "Error: expect(received).toBe(expected) Expected: 200 Received: 429",
        "health check returned 503",
        "orders: 503 Service Unavailable",
        "http://localhost:8080/orders returned 503 Service Unavailable",
        "Error: Request failed with status code 503",
        "RuntimeError: rate limit exceeded",
        "./run.sh: line 4: 12345 Segmentation fault      ./build/tests",
        "curl: (7) Failed to connect to db port 5432\n=== short test summary info ===\nFAILED t.py::test_db",
    ] {
        assert_eq!(verdict(red), None, "{red}");
    }
    for (text, code) in [
        ("curl: (22) The requested URL returned error: 503", Code::EnvUnavailable),
        (
            "fatal: unable to access 'https://x.example/': Could not resolve host: x.example",
            Code::EnvDns,
        ),
        ("ssh: connect to host x.example port 22: Connection refused", Code::EnvConnection),
        ("/usr/bin/ld: final link failed: No space left on device", Code::EnvDiskFull),
        ("14 passed in 0.31s\ncurl: (28) Operation timed out", Code::EnvTimeout),
    ] {
        assert_eq!(verdict(text), Some(code), "{text}");
    }
}

// A lock is a lock, whichever program holds it; only git's own is for Unstuck to clear.
#[test]
fn only_a_lock_of_git_is_a_lock_of_git() {
    for text in [
        "fatal: Unable to create '/r/.git/index.lock': File exists.",
        "error: could not lock config file .git/config: File exists",
        "error: cannot lock ref 'refs/heads/main': Unable to create '/r/.git/refs/heads/main.lock': File exists.",
    ] {
        assert_eq!(classify_output(text.as_bytes()).code, Code::GitLocked, "{text}");
    }
    for text in [
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (apt-get)",
        "Error: Error acquiring the state lock",
        "    Blocking waiting for file lock on package cache",
        "Error: in prepare, database is locked (5)",
        "sqlite3.OperationalError: database is locked",
        "npm error Could not acquire lock on the cache",
        "> Timeout waiting to lock journal cache (/home/a/.gradle/caches/journal-1).",
    ] {
        assert_eq!(classify_output(text.as_bytes()).code, Code::EnvUnavailable, "{text}");
    }
    let denied =
        "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)";
    assert_eq!(classify_output(denied.as_bytes()).code, Code::ToolAccessDenied);
}

#[test]
fn a_push_that_a_server_refuses_is_no_error_of_the_code() {
    for reason in [
        "protected branch hook declined",
        "pre-receive hook declined",
        "hook declined",
        "push declined due to repository rule violations",
    ] {
        let text = format!(
            "To git.example.com:a/b.git\n ! [remote rejected] main -> main ({reason})\nerror: failed to push some refs to 'git.example.com:a/b.git'"
        );
        assert_eq!(classify_output(text.as_bytes()).code, Code::ToolAccessDenied, "{text}");
    }
    let behind =
        " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'x'";
    assert_eq!(classify_output(behind.as_bytes()).code, Code::GitConflict);
}

#[test]
fn a_line_that_diagnoses_is_told_from_one_that_does_not() {
    assert!(!classify_output(b"").diagnostic);
    assert!(!classify_output(b"3 lines compared\n").diagnostic);
    assert!(classify_output(b"fatal: bad object\n").diagnostic);
    assert!(classify_output(b"diff: a.txt: No such file or directory\n").diagnostic);
}

#[test]
fn every_rule_is_known_by_its_id_and_others_are_retired() {
    for text in
        ["permission denied", "", "x", "HTTP 503", "SyntaxError: x", "panic: runtime error: x"]
    {
        let rule = classify_output(text.as_bytes()).rule;
        assert_eq!(rule_name(rule), rule);
    }
    assert_eq!(rule_name("no-such-rule"), "retired");
}

// T0.8: the same input gives the same reading, whatever was read before.
#[test]
fn reading_has_no_memory() {
    let first = classify_output(b"error: connection refused");
    for text in ["", "x", "HTTP 429"] {
        classify_output(text.as_bytes());
    }
    assert_eq!(classify_output(b"error: connection refused"), first);
}

// TX1
#[test]
fn what_varies_without_meaning_does_not_change_the_signature() {
    let same = [
        "/home/a/x/run.py:31: error: Name \"foo\" is not defined  [name-defined]",
        "lib/other.py:4: error: Name \"foo\" is not defined  [name-defined]",
        "2026-11-15T03:32:29.0764564Z lib/other.py:4: error: Name \"foo\" is not defined  [name-defined]",
        "\u{1b}[31mlib/other.py:4: error: Name \"foo\" is not defined  [name-defined]\u{1b}[0m",
    ];
    assert_same(&same);
    assert_same(&[
        "worker 4711: request 123e4567-e89b-12d3-a456-426614174000 to 10.0.0.7:49152 failed: Connection refused",
        "worker 12: request 99999999-e89b-12d3-a456-426614170000 to 10.9.0.1:61001 failed: Connection refused",
    ]);
    assert_same(&[
        "[ERROR] 2026-01-01 cannot open '/tmp/a1/cfg/app.yaml' (pid 77)",
        "[ERROR] 2026-12-31 cannot open '/srv/b/app.yaml' (pid 4242)",
    ]);
}

fn assert_same(texts: &[&str]) {
    let first = classify_output(texts[0].as_bytes()).signature;
    for text in texts {
        assert_eq!(
            classify_output(text.as_bytes()).signature,
            first,
            "{text}: {}",
            masked_lines(text.as_bytes())
        );
    }
}

// T0.7
#[test]
fn what_identifies_changes_the_signature() {
    let pairs = [
        ("error: cannot open 'a.yaml'", "error: cannot open 'b.yaml'"),
        ("error: returned status 403", "error: returned status 404"),
        (
            "error: connect to db.x.example port 5432 failed",
            "error: connect to db.x.example port 5433 failed",
        ),
        ("error: connect to a.example failed", "error: connect to b.example failed"),
        ("ValueError: x", "TypeError: x"),
        ("Error: exited with code 1", "Error: exited with code 2"),
        ("FAILED t.py::test_a - x", "FAILED t.py::test_b - x"),
        ("a.c:1:1: error: undefined 'x'", "a.c:1:1: error: undefined 'y'"),
    ];
    for (one, other) in pairs {
        assert_ne!(
            classify_output(one.as_bytes()).signature,
            classify_output(other.as_bytes()).signature,
            "{one} | {other}"
        );
    }
    let key = |project: &str, code, place: &str, text: &str| {
        Signature::from_output(code, place, text, None).key(project)
    };
    let base = key("shop", Code::LogicError, "job", "error: x");
    assert_eq!(base, key("shop", Code::LogicError, "job", "error: x"));
    assert_ne!(base, key("blog", Code::LogicError, "job", "error: x"));
    assert_ne!(base, key("shop", Code::ToolConfig, "job", "error: x"));
    assert_ne!(base, key("shop", Code::LogicError, "other", "error: x"));
    assert!(base.starts_with("shop:LOGIC_ERROR:"), "{base}");
}

#[test]
fn silence_is_known_by_its_exit_status() {
    let silent = |exit| Signature::from_output(Code::LogicError, "job", " \n", exit);
    assert_eq!(silent(Some(3)), silent(Some(3)));
    assert_ne!(silent(Some(3)), silent(Some(4)));
    assert_ne!(silent(Some(3)), silent(None));
}

#[test]
fn only_head_and_tail_of_a_huge_output_are_read() {
    let filler = "all is well here\n".repeat((HEAD_BYTES_MAX + TAIL_BYTES_MAX) / 10);
    let text = format!("{filler}error: hidden in the middle\n{filler}");
    assert!(!classify_output(text.as_bytes()).diagnostic);
    let text = format!("{filler}{filler}error: disk full\n");
    assert_eq!(classify_output(text.as_bytes()).code, Code::EnvDiskFull);
    let text = format!("error: disk full\n{filler}{filler}");
    assert_eq!(classify_output(text.as_bytes()).code, Code::EnvDiskFull);
}

#[test]
fn hostile_output_is_harmless() {
    let mut binary = Vec::new();
    for at in 0_u32..300_000 {
        binary.extend_from_slice(&at.wrapping_mul(2_654_435_761).to_le_bytes());
    }
    let many = |part: &str| part.repeat(400_000).into_bytes();
    for output in [
        binary,
        vec![0; 1_000_000],
        vec![0xff; 1_000_000],
        vec![b'a'; 100_000_000],
        many("\u{1b}["),
        many("\u{1b}]8;;"),
        many("((((["),
        many("'"),
        many("{'a', "),
        many("error: "),
        many("a:1:"),
        many("‘’"),
        many("\r"),
        b"error: \xff\xfe 'unclosed".to_vec(),
        [b"error: ".as_slice(), &vec![b'9'; LINE_BYTES_MAX * 3]].concat(),
    ] {
        let reading = classify_output(&output);
        assert!(!masked_lines(&output).is_empty() || !reading.diagnostic);
    }
}

#[test]
fn no_rule_yields_a_code_about_unstuck_itself() {
    for code in Code::ALL {
        for text in [code.as_str().to_owned(), format!("error: {code}"), format!("{code}: failed")]
        {
            let found = classify_output(text.as_bytes()).code;
            assert!(!matches!(
                found,
                Code::InternalError | Code::InternalStore | Code::PreconditionMissing
            ));
        }
    }
}

/// Two outputs of one error, and one of another.
const NAMED: &[[&str; 3]] = &[
    // The name is marked in the source.
    [
        "Error: Undefined variable.\n   ,\n12 | a { color: $total; }\n   |            ^^^^^^\n   '\n  a.scss 12:12  root stylesheet",
        "Error: Undefined variable.\n  ,\n3 | b { top: $total; }\n  |          ^^^^^^\n  '\n  b.scss 3:10  root stylesheet",
        "Error: Undefined variable.\n  ,\n3 | b { top: $offset; }\n  |          ^^^^^^^\n  '\n  b.scss 3:10  root stylesheet",
    ],
    // The names stand below a count.
    [
        "m.ValidationError: 1 validation error for Order\ntotal\n  Field required [type=missing, input_value={}, input_type=dict]",
        "m.ValidationError: 1 validation error for Order\ntotal\n  Field required [type=missing, input_value={'a': 7}, input_type=dict]",
        "m.ValidationError: 1 validation error for Order\noffset\n  Field required [type=missing, input_value={}, input_type=dict]",
    ],
    // The name stands below a message without one.
    [
        "a.rkt:13:9: collection not found\n  for module path: acme/x\n  collection: \"acme\"\n  location...:\n   a.rkt:13:9",
        "b.rkt:2:1: collection not found\n  for module path: acme/x\n  collection: \"acme\"\n  location...:\n   b.rkt:2:1",
        "b.rkt:2:1: collection not found\n  for module path: other/x\n  collection: \"other\"\n  location...:\n   b.rkt:2:1",
    ],
    // The message follows a line that only says that it failed.
    [
        "rake aborted!\nledger total is closed\n/srv/a/Rakefile:12:in `block in <top (required)>'",
        "rake aborted!\nledger total is closed\n/home/u/Rakefile:3:in `block in <top (required)>'",
        "rake aborted!\nledger offset is closed\n/home/u/Rakefile:3:in `block in <top (required)>'",
    ],
    // A denial beside a failure that names nothing.
    [
        "Unknown option: total\nError on command line; for help try 'x -h'",
        "Unknown option: total\nError on command line; for help try 'x -h'",
        "Unknown option: offset\nError on command line; for help try 'x -h'",
    ],
    // Warnings are blamed.
    [
        "Warning: Task \"deploy\" not found. Use --force to continue.\n\nAborted due to warnings.",
        "Loading tasks...\nWarning: Task \"deploy\" not found. Use --force to continue.\n\nAborted due to warnings.",
        "Warning: Task \"publish\" not found. Use --force to continue.\n\nAborted due to warnings.",
    ],
    // The other place of what is defined twice varies.
    [
        "b.c:(.text+0x0): multiple definition of `total'; /tmp/a-8ed841.o:a.c:(.text+0x0): first defined here\nclang: error: linker command failed with exit code 1",
        "c.c:(.text+0x7): multiple definition of `total'; /tmp/d-11ed84.o:d.c:(.text+0x0): first defined here\nclang: error: linker command failed with exit code 1",
        "b.c:(.text+0x0): multiple definition of `offset'; /tmp/a-8ed841.o:a.c:(.text+0x0): first defined here\nclang: error: linker command failed with exit code 1",
    ],
    // A file beside a line number is the place.
    [
        "Error: main.gv: syntax error in line 12 near ';'",
        "Error: orders.gv: syntax error in line 3 near ';'",
        "Error: orders.gv: syntax error in line 3 near '->'",
    ],
    // A script names itself as the program.
    [
        "deploy.py: error: the following arguments are required: --total",
        "sync.py: error: the following arguments are required: --total",
        "sync.py: error: the following arguments are required: --offset",
    ],
    // A panel is drawn around the message.
    [
        "Usage: a.py [OPTIONS] TOTAL\n\u{256d}\u{2500} Error \u{2500}\u{2500}\u{2500}\u{256e}\n\u{2502} Missing argument 'TOTAL'. \u{2502}\n\u{2570}\u{2500}\u{2500}\u{256f}",
        "Usage: b.py [OPTIONS] TOTAL\n\u{256d}\u{2500} Error \u{2500}\u{2500}\u{2500}\u{256e}\n\u{2502} Missing argument 'TOTAL'.   \u{2502}\n\u{2570}\u{2500}\u{2500}\u{256f}",
        "Usage: b.py [OPTIONS] QTY\n\u{256d}\u{2500} Error \u{2500}\u{2500}\u{2500}\u{256e}\n\u{2502} Missing argument 'QTY'.   \u{2502}\n\u{2570}\u{2500}\u{2500}\u{256f}",
    ],
];

// TX1
#[test]
fn the_name_is_found_wherever_it_stands() {
    for [one, same, other] in NAMED {
        let signature = |text: &str| classify_output(text.as_bytes()).signature;
        assert_eq!(signature(one), signature(same), "{}", masked_lines(one.as_bytes()));
        assert_ne!(signature(one), signature(other), "{}", masked_lines(one.as_bytes()));
    }
}

#[test]
fn settings_and_code_are_told_apart_by_structure() {
    for (text, code) in [
        (
            "can't read \"total\": no such variable\n    while executing\n\"puts $total\"\n    (file \"a.tcl\" line 12)",
            Code::LogicError,
        ),
        (
            "\nError: unbound variable: total\n\n\tCall history:\n\n\t<eval>\t  (+ 1 total)\t<--",
            Code::LogicError,
        ),
        ("orders.xml:12: parser error : Entity 'total' not defined", Code::LogicError),
        ("pom.xml:12: parser error : Entity 'total' not defined", Code::ToolConfig),
        (
            "An error has occurred: InvalidConfigError: \n=====> .a.yaml is not a file",
            Code::ToolConfig,
        ),
        ("Config value 'plugins': The \"total\" plugin is not installed", Code::ToolConfig),
        ("ERROR:  Couldn't find a file matching 'a.gemspec'", Code::ToolConfig),
        ("ERROR:  relation \"orders\" does not exist", Code::LogicError),
    ] {
        assert_eq!(classify_output(text.as_bytes()).code, code, "{text}");
    }
}

#[test]
fn an_outage_of_any_registry_is_one() {
    for text in [
        "ERROR:  Could not find a valid gem 'billing' (>= 0), here is why:\n          Unable to download data from http://10.0.0.7:41877/ - bad response Bad Gateway 502 (http://10.0.0.7:41877/specs.4.8.gz)",
        "error: failed to fetch the index of `corp`: status 503 Service Unavailable",
        "Could not download the package list: HTTP status 500",
    ] {
        assert_eq!(classify_output(text.as_bytes()).code, Code::EnvRegistry, "{text}");
    }
    for text in [
        "httpx.HTTPStatusError: Server error '503 Service Unavailable' for url 'http://10.0.0.7/v1'",
        "Error: Request failed with status code 503",
    ] {
        assert_eq!(classify_output(text.as_bytes()).code, Code::EnvUnavailable, "{text}");
    }
}

#[test]
fn what_is_framed_numbered_quoted_or_logged_is_heard() {
    for (text, code) in [
        (
            "2026-11-02T10:14:51Z ERROR shop::sync: error trying to connect: tcp connect error",
            Code::EnvConnection,
        ),
        (
            "error\n\nCaused by:\n    0: the pipeline failed\n    1: could not find frob, is it installed?",
            Code::ToolMissing,
        ),
        ("Error: {\"title\":\"no\",\"status\":403}", Code::ToolAccessDenied),
        ("Error: index responded with 503", Code::EnvRegistry),
        (
            "frob: Got error: \"Can't connect to the server on this host\" when trying",
            Code::EnvConnection,
        ),
        (
            "\u{256d}\u{2500} error \u{2500}\u{256e}\n\u{2502} Theme 1234 doesn't exist \u{2502}\n\u{2570}\u{2500}\u{256f}",
            Code::ToolConfig,
        ),
        ("999999: No such process", Code::ToolConfig),
        ("[error] -- Not Found Error: /home/ada/shop/Shop.scala:12:4", Code::LogicError),
        ("wrapper: execvp frobnicate: No such file or directory", Code::ToolMissing),
        ("Error: error running frob_mon, is the cluster running?", Code::EnvConnection),
        (
            "frob: fields are numbered from 1\nTry 'frob --help' for more information.",
            Code::ToolConfig,
        ),
        ("==7== Invalid read of size 4\n==7==    at 0x109153: main (l.c:2)", Code::LogicError),
        ("   Error  (E501) Line too long", Code::LogicError),
        ("X Error\n  You must be logged in to do this. Run 'frob auth login'.", Code::AuthMissing),
    ] {
        let reading = classify_output(text.as_bytes());
        assert_eq!(reading.code, code, "{text}: {}", reading.rule);
    }
}

#[test]
fn used_up_credit_says_more_than_the_status_beside_it() {
    for (said, code) in [
        ("Error code: 429 - {'error': {'type': 'insufficient_quota'}}", Code::ToolQuota),
        ("HTTP 429: Your credit balance is too low to access the API.", Code::ToolQuota),
        ("status 429: billing_hard_limit_reached", Code::ToolQuota),
        ("Error code: 429 - You exceeded your current quota", Code::ToolRateLimit),
        ("Error code: 429 - {'error': {'type': 'rate_limit_exceeded'}}", Code::ToolRateLimit),
    ] {
        assert_eq!(classify_output(said.as_bytes()).code, code, "{said}");
    }
}

#[test]
fn what_a_browser_says_of_the_network_passes_and_a_test_of_pages_is_red() {
    for (said, code) in [
        ("page.goto: net::ERR_NAME_NOT_RESOLVED at https://shop.example/", Code::EnvDns),
        ("Error: net::ERR_CONNECTION_RESET at https://shop.example/", Code::EnvConnection),
        ("Message: unknown error: net::ERR_INTERNET_DISCONNECTED", Code::EnvConnection),
        ("Error: net::ERR_CONNECTION_TIMED_OUT at https://shop.example", Code::EnvTimeout),
        ("net::ERR_EMPTY_RESPONSE at https://shop.example", Code::EnvConnection),
    ] {
        assert_eq!(classify_output(said.as_bytes()).code, code, "{said}");
    }
    let report = "Running 1 test using 1 worker\n\n  \
        1) [chromium] \u{203a} shop.spec.ts:3:5 \u{203a} has a title\n\n    \
        Error: page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000/\n    Call log:\n      \
        - navigating to \"http://localhost:3000/\", waiting until \"load\"\n\n  1 failed\n    \
        [chromium] \u{203a} shop.spec.ts:3:5 \u{203a} has a title\n";
    assert_eq!(classify_with(report.as_bytes(), RuleSet::ValidationOutput), None);
}

//! `unstuck token`: who may use the server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Ran, command, finish, unstuck};

/// A user with a folder of their own.
struct User(tempfile::TempDir);

impl User {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn unstuck(&self, args: &[&str]) -> Ran {
        finish(command(args).env("XDG_STATE_HOME", self.0.path()).env("USER", "ada"))
    }

    fn json(&self, args: &[&str]) -> Value {
        let ran = self.unstuck(args);
        assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{ran}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("unstuck/server")
    }

    /// The output, without the parts that differ each time.
    fn shown(&self, ran: &Ran) -> String {
        let text = ran.to_string().replace(&self.0.path().display().to_string(), "(folder)");
        let plain = |word: &str| {
            if word.starts_with("ust_") { "(token)".to_owned() } else { word.to_owned() }
        };
        let line = |line: &str| line.split(' ').map(plain).collect::<Vec<_>>().join(" ");
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn help_of_token() {
    insta::assert_snapshot!("help_of_token", unstuck(&["token", "--help"]));
    insta::assert_snapshot!("help_of_token_make", unstuck(&["token", "make", "--help"]));
}

#[test]
fn a_token_is_shown_once_and_only_to_its_maker() {
    let user = User::new();
    let made = user.unstuck(&["token", "make", "--name", "phone", "--project", "shop"]);
    // A script can take standard output as it is.
    let token = made.stdout.trim_end();
    assert_eq!((made.exit, token.len()), (0, 47), "{made}");
    assert!(token.starts_with("ust_"), "{made}");
    insta::assert_snapshot!("made", user.shown(&made));

    let list = user.unstuck(&["token"]);
    insta::assert_snapshot!("listed", user.shown(&list));
    assert_eq!(user.unstuck(&["token", "list"]).stdout, list.stdout);
    for shown in [&list.stdout, &user.unstuck(&["token", "--json"]).stdout] {
        assert!(!shown.contains("ust_"), "{shown}");
    }
    assert_eq!(mode(&user.folder()), 0o700);
    for file in ["tokens.json", "token", "lock"] {
        assert_eq!(mode(&user.folder().join(file)), 0o600, "{file}");
    }
    assert!(!fs::read_to_string(user.folder().join("tokens.json")).unwrap().contains(token));
}

#[test]
fn role_reach_and_end_are_as_they_were_wanted() {
    let user = User::new();
    let plain = user.json(&["token", "make", "--name", "phone", "--json"]);
    assert_eq!(plain["role"], "answerer");
    assert_eq!((&plain["projects"], &plain["expires_at"]), (&Value::Null, &Value::Null));
    assert_eq!((&plain["id"], &plain["here"]), (&"k2".into(), &false.into()));
    let args =
        "token make --name ci --role operator --project shop --project bank --expires 30d --json";
    let made = user.json(&args.split(' ').collect::<Vec<_>>());
    assert_eq!(made["role"], "operator");
    assert_eq!(made["projects"], serde_json::json!(["bank", "shop"]));
    let span = made["expires_at"].as_u64().unwrap() - made["created_at"].as_u64().unwrap();
    assert_eq!(span, 30 * 24 * 60 * 60 * 1_000);
    assert_eq!(made["expired"], false);
    assert!(made["token"].as_str().unwrap().starts_with("ust_"));

    let list = user.json(&["token", "list", "--json"]);
    let names: Vec<_> = list.as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["ada", "phone", "ci"]);
    // The first one is the user's own, and may do everything.
    assert_eq!((&list[0]["role"], &list[0]["here"]), (&"operator".into(), &true.into()));
}

#[test]
fn one_that_is_made_anew_or_taken_back_is_not_let_in() {
    let user = User::new();
    let kept = || fs::read_to_string(user.folder().join("tokens.json")).unwrap();
    user.json(&["token", "make", "--name", "phone", "--json"]);
    let before = kept();
    let first = fs::read_to_string(user.folder().join("token")).unwrap();

    // No person is at the keyboard who could be asked.
    let asked = user.unstuck(&["token", "revoke", "k2"]);
    insta::assert_snapshot!("asked", user.shown(&asked));
    assert_eq!(user.unstuck(&["token", "rotate", "k2"]).exit, 2);
    assert_eq!(kept(), before);

    let rotated = user.unstuck(&["token", "rotate", "1", "--yes"]).exits(0);
    assert_ne!(rotated.stdout, first);
    assert_eq!(fs::read_to_string(user.folder().join("token")).unwrap(), rotated.stdout);

    let revoked = user.unstuck(&["token", "revoke", "k2", "-y"]);
    insta::assert_snapshot!("revoked", user.shown(&revoked));
    let gone = user.json(&["token", "revoke", "k1", "-y", "--json"]);
    assert_eq!((&gone["id"], &gone["name"]), (&"k1".into(), &"ada".into()));
    assert!(!user.folder().join("token").exists());
    let none = user.unstuck(&["token"]);
    assert_eq!(none.stdout, "There are no tokens. `unstuck token make --name NAME` makes one.\n");
}

#[test]
fn where_nothing_was_made_nothing_is_written() {
    let user = User::new();
    assert_eq!(user.unstuck(&["token"]).exit, 0);
    assert_eq!(user.json(&["token", "--json"]), serde_json::json!([]));
    assert!(!user.folder().exists());
}

#[test]
fn mistakes_are_told_with_the_next_step() {
    let user = User::new();
    let told = [
        &["token", "revoke", "k9", "-y"][..],
        &["token", "rotate", "nine"],
        &["token", "make"],
        &["token", "make", "--name", " "],
        &["token", "make", "--name", "x", "--role", "root"],
        &["token", "make", "--name", "x", "--expires", "0"],
        &["token", "make", "--name", "x", "--project", ""],
    ];
    let told: Vec<String> = told.iter().map(|args| user.shown(&user.unstuck(args))).collect();
    insta::assert_snapshot!("mistakes", told.join("\n\n"));
}

#[test]
fn a_file_that_cannot_be_used_is_named_and_left_alone() {
    let user = User::new();
    user.json(&["token", "make", "--name", "phone", "--json"]);
    let file = user.folder().join("tokens.json");
    let told = |text: &str| {
        fs::write(&file, text).unwrap();
        let ran = user.unstuck(&["token", "make", "--name", "x"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        user.shown(&ran)
    };
    let damaged = told("{\"version\": 1,\n  oops");
    let newer = told("{\"version\": 2}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let open = told("{}");
    insta::assert_snapshot!("unusable", [damaged, newer, open].join("\n\n"));
    let json = user.unstuck(&["token", "--json"]);
    let error: Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!(
        (&error["error"]["code"], &error["error"]["exit"]),
        (&"CONFIG_INVALID".into(), &78.into())
    );
}

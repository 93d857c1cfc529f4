use std::os::unix::fs::PermissionsExt as _;

use unstuck_core::time::Span;

use super::*;

const NOW: Time = Time::from_millis(1_000_000);

fn folder() -> (tempfile::TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("state").join("server");
    (outer, folder)
}

fn wish(name: &str) -> NewToken {
    let reach = ProjectVisibility::Only(["shop".into()].into());
    NewToken { name: name.to_owned(), role: AccessRole::Answerer, reach, expires_at: None }
}

fn names(tokens: &AccessTokenStore) -> Vec<(String, String)> {
    let entries = tokens.list_entries().unwrap().into_iter();
    entries.map(|entry| (entry.id.to_string(), entry.name)).collect()
}

fn named(id: &str, name: &str) -> (String, String) {
    (id.to_owned(), name.to_owned())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn the_first_start_makes_one_that_may_do_everything_and_gives_it_out_once() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    assert_eq!(tokens.list_entries().unwrap(), []);
    assert_eq!(tokens.local_token_id(NOW).unwrap(), None);

    let token = tokens.ensure_first_token("ada", NOW).unwrap().unwrap();
    let entry = tokens.find_by_token(&token, NOW).unwrap().unwrap();
    assert_eq!((entry.role, entry.reach.clone()), (AccessRole::Operator, ProjectVisibility::All));
    assert_eq!((entry.name.as_str(), entry.created_at), ("ada", NOW));
    assert_eq!(tokens.local_token_id(NOW).unwrap(), Some(entry.id));
    assert_eq!(tokens.read_local_token().unwrap().unwrap().as_str(), token.as_str());

    assert!(tokens.ensure_first_token("bob", NOW).unwrap().is_none());
    assert!(AccessTokenStore::in_folder(&folder).ensure_first_token("bob", NOW).unwrap().is_none());
    assert_eq!(names(&tokens), [named("k1", "ada")]);
}

#[test]
fn nothing_is_open_to_others_and_no_token_is_in_the_file() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    let first = tokens.ensure_first_token("ada", NOW).unwrap().unwrap();
    let (_, token) = tokens.create_token(wish("phone"), NOW).unwrap();
    assert_eq!(mode(&folder), 0o700);
    for file in [TOKENS_FILE, LOCAL_TOKEN_FILE, LOCK_FILE] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    let text = fs::read_to_string(folder.join(TOKENS_FILE)).unwrap();
    for token in [first, token] {
        assert!(!text.contains(token.as_str()));
        assert!(!text.contains(&token.as_str()[4..]));
    }
}

#[test]
fn a_folder_that_was_open_is_closed() {
    let (_outer, folder) = folder();
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    AccessTokenStore::in_folder(&folder).ensure_first_token("ada", NOW).unwrap();
    assert_eq!(mode(&folder), 0o700);
}

#[test]
fn one_that_is_made_counts_at_once_in_a_server_that_runs() {
    let (_outer, folder) = folder();
    let server = AccessTokenStore::in_folder(&folder);
    let program = AccessTokenStore::in_folder(&folder);
    server.ensure_first_token("ada", NOW).unwrap();
    let (entry, token) = program.create_token(wish(" phone "), NOW).unwrap();
    assert_eq!(server.find_by_token(&token, NOW).unwrap(), Some(entry.clone()));
    assert_eq!((entry.id, entry.name.as_str()), (TokenId(2), "phone"));

    let (again, new) = program.rotate_token(entry.id, NOW + Span::from_secs(5)).unwrap();
    assert_eq!(again.id, entry.id);
    assert_eq!(again.created_at, NOW + Span::from_secs(5));
    assert_eq!(server.find_by_token(&token, NOW).unwrap(), None);
    assert_eq!(server.find_by_token(&new, NOW).unwrap(), Some(again));

    program.revoke_token(entry.id).unwrap();
    assert_eq!(server.find_by_token(&new, NOW).unwrap(), None);
    assert_eq!(names(&server), [named("k1", "ada")]);
}

#[test]
fn a_number_is_given_once() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    tokens.ensure_first_token("ada", NOW).unwrap();
    tokens.create_token(wish("one"), NOW).unwrap();
    tokens.revoke_token(TokenId(2)).unwrap();
    assert_eq!(tokens.create_token(wish("two"), NOW).unwrap().0.id, TokenId(3));
}

#[test]
fn a_session_knows_whether_its_token_is_still_the_same() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    let (entry, _) = tokens.create_token(wish("phone"), NOW).unwrap();
    let print = tokens.find_fingerprint(entry.id, NOW).unwrap().unwrap();
    assert_eq!(tokens.find_unchanged(entry.id, &print, NOW).unwrap(), Some(entry.clone()));
    assert_eq!(tokens.find_unchanged(TokenId(9), &print, NOW).unwrap(), None);
    tokens.rotate_token(entry.id, NOW).unwrap();
    assert_eq!(tokens.find_unchanged(entry.id, &print, NOW).unwrap(), None);
}

#[test]
fn an_expired_one_gives_no_access_but_is_still_listed() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    let end = NOW + Span::from_secs(1);
    let wish = NewToken { expires_at: Some(end), ..wish("phone") };
    let (entry, token) = tokens.create_token(wish, NOW).unwrap();
    let print = tokens.find_fingerprint(entry.id, NOW).unwrap().unwrap();
    assert!(tokens.find_by_token(&token, NOW).unwrap().is_some());
    assert_eq!(tokens.find_by_token(&token, end).unwrap(), None);
    assert_eq!(tokens.find_unchanged(entry.id, &print, end).unwrap(), None);
    assert_eq!(tokens.find_fingerprint(entry.id, end).unwrap(), None);
    assert_eq!(tokens.list_entries().unwrap(), [entry]);
}

#[test]
fn the_one_that_lies_here_follows_what_becomes_of_it() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    tokens.ensure_first_token("ada", NOW).unwrap();
    let (_, new) = tokens.rotate_token(TokenId(1), NOW).unwrap();
    assert_eq!(tokens.read_local_token().unwrap().unwrap().as_str(), new.as_str());
    tokens.revoke_token(TokenId(1)).unwrap();
    assert!(tokens.read_local_token().unwrap().is_none());
    assert_eq!(tokens.local_token_id(NOW).unwrap(), None);
    // The token was revoked on purpose: the next start does not make another.
    assert!(tokens.ensure_first_token("ada", NOW).unwrap().is_none());
}

#[test]
fn what_is_not_there_is_named() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    for error in [
        tokens.revoke_token(TokenId(9)).unwrap_err(),
        tokens.rotate_token(TokenId(9), NOW).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "there is no token k9");
        assert_eq!(error.hint(), "`unstuck token list` shows what there is");
    }
}

#[test]
fn a_name_that_could_not_be_recorded_is_refused() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    for name in ["", "  ", "a\nb", &"x".repeat(65)] {
        assert!(
            matches!(tokens.create_token(wish(name), NOW), Err(AccessError::UnfitName(_))),
            "{name}"
        );
    }
    assert!(!folder.exists());
}

/// An unusable file refuses all access and is not overwritten.
#[test]
fn a_file_that_cannot_be_used_is_left_as_it_is_and_gives_no_access() {
    let hash = "0".repeat(64);
    let entry = format!(
        r#"{{"id":"k1","name":"ada","role":"operator","reach":"all","created_at":0,"hash":"{hash}"}}"#
    );
    let cases = [
        (String::new(), "is damaged: EOF"),
        ("{\"version\":1,".to_owned(), "is damaged: EOF"),
        ("nonsense".to_owned(), "line 1 column"),
        (r#"{"version":1,"next":2}"#.to_owned(), "missing field `tokens`"),
        (r#"{"version":1,"next":2,"tokens":[],"limit":1}"#.to_owned(), "unknown field `limit`"),
        (r#"{"version":9,"limits":[]}"#.to_owned(), "newer Unstuck (version 9 of the file)"),
        (
            format!(r#"{{"version":1,"next":2,"tokens":[{entry},{entry}]}}"#),
            "token k1 is in it twice",
        ),
        (format!(r#"{{"version":1,"next":1,"tokens":[{entry}]}}"#), "never given out"),
        (
            format!(r#"{{"version":1,"next":2,"tokens":[{}]}}"#, entry.replace("operator", "root")),
            "unknown variant `root`",
        ),
        (
            format!(r#"{{"version":1,"next":2,"tokens":[{}]}}"#, entry.replace(&hash, "00")),
            "this is no hash",
        ),
        (" ".repeat(1024 * 1024 + 1), "larger than 1048576 bytes"),
    ];
    for (text, said) in cases {
        let (_outer, folder) = folder();
        let tokens = AccessTokenStore::in_folder(&folder);
        let token = tokens.ensure_first_token("ada", NOW).unwrap().unwrap();
        let file = folder.join(TOKENS_FILE);
        private::write_file(&file, text.as_bytes()).unwrap();
        let errors = [
            tokens.find_by_token(&token, NOW).unwrap_err(),
            tokens.ensure_first_token("ada", NOW).unwrap_err(),
            tokens.list_entries().unwrap_err(),
            tokens.create_token(wish("phone"), NOW).unwrap_err(),
            tokens.rotate_token(TokenId(1), NOW).unwrap_err(),
            tokens.revoke_token(TokenId(1)).unwrap_err(),
        ];
        for error in errors {
            let told = error.to_string();
            assert!(told.contains(said), "{told}");
            assert!(told.contains(&file.display().to_string()), "{told}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn a_file_that_others_may_read_is_not_used() {
    let (_outer, folder) = folder();
    let tokens = AccessTokenStore::in_folder(&folder);
    let token = tokens.ensure_first_token("ada", NOW).unwrap().unwrap();
    fs::set_permissions(folder.join(TOKENS_FILE), fs::Permissions::from_mode(0o640)).unwrap();
    let error = tokens.find_by_token(&token, NOW).unwrap_err();
    assert!(
        error.to_string().ends_with("tokens.json is open to other users (mode 0640)"),
        "{error}"
    );
    assert!(error.hint().starts_with("`chmod 600 "), "{}", error.hint());
    fs::set_permissions(folder.join(TOKENS_FILE), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(tokens.find_by_token(&token, NOW).unwrap().is_some());
}

#[test]
fn writers_that_come_at_the_same_time_take_turns() {
    let (_outer, folder) = folder();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                AccessTokenStore::in_folder(folder)
                    .create_token(wish(&format!("n{number}")), NOW)
                    .unwrap();
            });
        }
    });
    let tokens = AccessTokenStore::in_folder(&folder);
    let mut ids: Vec<u32> = tokens.list_entries().unwrap().iter().map(|entry| entry.id.0).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=8).collect::<Vec<u32>>());
    assert!(!folder.join("tokens.new").exists());
}

#[test]
fn there_is_an_end_to_how_many_there_may_be() {
    let mut book = AccessTokenFile::empty();
    for _ in 0..TOKENS_MAX {
        add_entry(&mut book, wish("x"), NOW).unwrap();
    }
    assert!(matches!(add_entry(&mut book, wish("x"), NOW), Err(AccessError::TooMany(TOKENS_MAX))));
}

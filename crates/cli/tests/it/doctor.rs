//! `unstuck doctor`: whether a run could begin.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use unstuck_core::engine::{BuildId, Command};
use unstuck_core::time::Span;
use unstuck_runner::{Clock as _, SystemClock};

use crate::place::Place;
use crate::program::{Ran, finish, unstuck};
use crate::shop::Shop;

/// Rows that say how this machine is.
const MACHINE: [&str; 4] = ["wall", "network", "disk", "clock"];

#[test]
fn help_of_doctor() {
    insta::assert_snapshot!(unstuck(&["doctor", "--help"]));
}

/// A project in which a run could begin.
fn ready() -> Place {
    let place = Place::repository(&[
        ("unstuck.toml", "[validate]\npre_commit = [\"sh run-tests\"]\n"),
        ("page.txt", "hello\n"),
        ("run-tests", "read page < page.txt\n"),
    ]);
    place.has_agent();
    place
}

/// The output, without the parts that differ from machine to machine.
fn page(place: &Place, ran: &Ran) -> String {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (mark, about) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match (mark, about) {
            ("✔", "git") => "✔ git         (version)\n".to_owned(),
            (_, about) if MACHINE.contains(&about) => format!("? {about:10}  (the machine)\n"),
            ("A", "run") => format!("{}.\n", line.split('.').next().unwrap_or_default()),
            _ => format!("{line}\n"),
        }
    };
    place.steady(&ran.to_string().lines().map(line).collect::<String>())
}

/// The findings about one subject.
fn about(report: &Value, about: &str) -> Vec<Value> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().filter(|finding| finding["about"] == about).cloned().collect()
}

/// The only thing that is in the way, and what a run would end with.
fn in_the_way(place: &Place) -> (Value, i64) {
    let report = place.json(&["doctor", "--json"]);
    let findings = report["findings"].as_array().unwrap();
    let bad: Vec<&Value> = findings.iter().filter(|found| found["verdict"] == "bad").collect();
    let [bad] = bad.as_slice() else { panic!("{report:#}") };
    assert_eq!(report["ready"], false);
    assert!(bad["todo"].as_str().is_some_and(|todo| !todo.is_empty()), "{bad}");
    ((*bad).clone(), report["exit"].as_i64().unwrap())
}

#[test]
fn where_a_run_could_begin_it_says_so_and_leaves_everything_as_it_was() {
    let place = ready();
    let before = place.files();
    let ran = place.unstuck(&["doctor"]).exits(0);
    insta::assert_snapshot!(page(&place, &ran));
    assert_eq!(place.files(), before);
    assert!(!place.path(".unstuck").exists());
    let report = place.json(&["doctor", "--json"]);
    assert_eq!((&report["ready"], &report["exit"]), (&true.into(), &0.into()));
}

#[test]
fn where_nothing_is_set_up_everything_that_is_missing_is_named_at_once() {
    let place = Place::with(&[]);
    let ran = place.unstuck(&["doctor"]).exits(78);
    insta::assert_snapshot!(page(&place, &ran));
}

#[test]
fn an_agent_without_a_login_is_a_matter_of_credentials() {
    let place = ready();
    fs::remove_file(place.home(".claude/.credentials.json")).unwrap();
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["about"], &bad["code"]), (&"agent".into(), &"AUTH_MISSING".into()));
    assert_eq!((exit, place.unstuck(&["doctor"]).exit), (77, 77));
}

#[test]
fn a_model_behind_an_api_needs_its_key_and_the_key_is_not_shown() {
    let place = ready();
    place.write("unstuck.toml", "[agent]\nprovider = \"anthropic-api\"\nmodel = \"some-model\"\n");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["code"], exit), (&"AUTH_MISSING".into(), 77));
    let with_key = |key: &str| finish(place.command(&["doctor"]).env("ANTHROPIC_API_KEY", key));
    let ran = with_key("canary-2b7c").exits(0);
    assert!(ran.stdout.contains("anthropic-api, some-model, with the key in ANTHROPIC_API_KEY"));
    assert!(ran.stdout.contains("ANTHROPIC_API_KEY, at api.anthropic.com"), "{ran}");
    assert!(!ran.to_string().contains("canary"), "{ran}");
    let mut elsewhere = place.command(&["doctor"]);
    elsewhere.env("ANTHROPIC_AUTH_TOKEN", "canary-2b7c");
    elsewhere.env("ANTHROPIC_BASE_URL", "https://gateway.example:8443/claude");
    let elsewhere = crate::program::ran(elsewhere.output().unwrap());
    let says =
        "with the key in ANTHROPIC_AUTH_TOKEN, at gateway.example as ANTHROPIC_BASE_URL says";
    assert!(elsewhere.stdout.contains(says), "{elsewhere}");
    let empty = with_key(" ").exits(77);
    assert!(empty.stdout.contains("! keys        ANTHROPIC_API_KEY is set but empty"), "{empty}");
}

#[test]
fn an_agent_that_is_not_installed_or_does_not_answer_is_told_apart() {
    let place = ready();
    place.program("claude", "exit 1");
    let report = place.json(&["doctor", "--json"]);
    assert_eq!(about(&report, "agent")[0]["verdict"], "warning", "{report:#}");
    place.without("claude");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["code"], exit), (&"PROVIDER_NOT_AVAILABLE".into(), 78));
    place.write("unstuck.toml", "[agent]\nprovider = \"codex-cli\"\n");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["code"], exit), (&"PROVIDER_NOT_AVAILABLE".into(), 78));
}

// T4.23
#[test]
fn everything_that_is_wrong_with_the_settings_is_told_with_its_code_and_place() {
    let place = ready();
    place.write("unstuck.toml", "[run]\njbos = 3\n[retrry]\n");
    let ran = place.unstuck(&["doctor"]).exits(78);
    insta::assert_snapshot!(page(&place, &ran));
    let cases = [
        ("[run\n", "CONFIG_PARSE_ERROR", "unstuck.toml:1:"),
        ("[agent]\nmodel = \"${NOT_SET}\"\n", "CONFIG_ENV_VAR_MISSING", "NOT_SET"),
        ("[agent]\nmodel = \"${NOT_SET}\"\n", "CONFIG_ENV_VAR_MISSING", "agent.model"),
        ("[run]\njobs = \"many\"\n", "CONFIG_INVALID", "unstuck.toml:2:"),
        ("[validate]\nprotect = [\"a[\"]\n", "CONFIG_INVALID", "validate.protect"),
        ("[scope]\nforbidden = [\"a[\"]\n", "CONFIG_INVALID", "a["),
        ("[agent]\nprovider = \"openai-api\"\n", "CONFIG_MISSING", "agent.model"),
    ];
    for (text, code, says) in cases {
        place.write("unstuck.toml", text);
        let (bad, exit) = in_the_way(&place);
        assert_eq!((&bad["code"], exit), (&code.into(), 78), "{text}");
        assert!(bad["says"].as_str().unwrap().contains(says), "{text}: {bad}");
    }
    let missing = place.json(&["doctor", "--json", "--config", "nowhere.toml"]);
    let settings = &about(&missing, "settings")[0];
    assert_eq!(settings["code"], "CONFIG_MISSING", "{missing:#}");
    assert!(settings["says"].as_str().unwrap().contains("nowhere.toml"), "{settings}");
}

#[test]
fn each_thing_that_git_lacks_is_named() {
    let place = ready();
    place.program("git", "echo 'git version 2.30.9'");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["says"], exit), (&"2.30.9 is too old".into(), 78));
    place.without("git");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["about"], &bad["code"]), (&"git".into(), &"PRECONDITION_MISSING".into()));
    assert_eq!(exit, 78);

    let empty = Place::with(&[]);
    empty.has_agent();
    empty.git(&["init", "-q"]);
    let (bad, exit) = in_the_way(&empty);
    assert_eq!((&bad["says"], exit), (&"it has no commit to start from".into(), 78));

    let whole = ready();
    whole.commit();
    let cut = Place::with(&[]);
    cut.has_agent();
    let from = format!("file://{}", whole.path("").display());
    cut.git(&["clone", "-q", "--depth", "1", &from, "."]);
    let (bad, exit) = in_the_way(&cut);
    assert_eq!((&bad["todo"], exit), (&"`git fetch --unshallow`".into(), 78));
}

#[test]
fn work_that_is_not_committed_is_in_the_way_only_of_agents_in_the_same_tree() {
    let place = ready();
    place.write("page.txt", "changed\n");
    let report = place.json(&["doctor", "--json"]);
    let tree = &about(&report, "tree")[0];
    assert_eq!((&tree["verdict"], &report["ready"]), (&"warning".into(), &true.into()));
    place.write("unstuck.toml", "[run]\nin_place = true\n");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["about"], exit), (&"tree".into(), 78));
}

// B34: what a check or setup cannot do without is named, and no run begins
#[test]
fn checks_that_cannot_run_are_in_the_way() {
    let place = ready();
    let settings = |text: &str| place.write("unstuck.toml", text);
    settings("[validate]\npre_commit = [\"CI=1 sh -c 'cargo test'\"]\n");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["about"], &bad["code"]), (&"checks".into(), &"TOOL_MISSING".into()));
    assert_eq!(bad["says"], "cargo is not on the path, and `CI=1 sh -c 'cargo test'` needs it");
    assert_eq!(exit, 78);
    settings("[run]\nsetup = [\"npm ci\"]\n[validate]\npre_commit = [\"sh run-tests\"]\n");
    assert_eq!(in_the_way(&place).0["says"], "npm is not on the path, and `npm ci` needs it");
    place.program("python3", "case $3 in sys.path) ;; pytest) exit 3;; esac");
    settings("[validate]\npre_commit = [\"python3 -m pytest\"]\n");
    let says = "python3 has no module pytest, and `python3 -m pytest` needs it";
    assert_eq!(in_the_way(&place).0["says"], says);
    // What setup may install, and what a task may write, is worth a look only.
    settings(
        "[run]\nsetup = [\"sh run-tests\"]\n[validate]\npre_commit = [\"cargo test\", \"sh new\"]\n",
    );
    let report = place.json(&["doctor", "--json"]);
    assert_eq!(report["exit"], 0, "{report:#}");
    let verdicts: Vec<Value> =
        about(&report, "checks").iter().map(|one| one["verdict"].clone()).collect();
    assert_eq!(verdicts, ["warning", "warning"]);
}

#[test]
fn a_person_that_git_does_not_know_and_nothing_to_check_are_worth_a_look() {
    let place = ready();
    place.git(&["config", "--unset", "user.name"]);
    place.write("unstuck.toml", "");
    let report = place.json(&["doctor", "--json"]);
    assert_eq!(report["exit"], 0, "{report:#}");
    assert_eq!(about(&report, "person")[0]["verdict"], "warning");
    assert_eq!(about(&report, "checks")[0]["verdict"], "warning");
}

// B34: a submodule that is not here, and files that only git-lfs has
#[test]
fn what_a_worktree_could_not_have_is_told() {
    let place = ready();
    place.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    place.write(
        ".gitmodules",
        "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.invalid/lib\n",
    );
    place.commit();
    let report = place.json(&["doctor", "--json"]);
    assert_eq!(report["exit"], 0, "{report:#}");
    let lib = &about(&report, "submodules")[0];
    assert_eq!(lib["todo"], "`git submodule update --init --recursive`");
    assert!(about(&report, "git-lfs")[0]["todo"].as_str().unwrap().contains("install git-lfs"));
}

#[test]
fn the_holder_of_the_project_is_named_and_not_disturbed() {
    let (shop, night) = Shop::after_a_night();
    // Something is written down by a clock that is ahead of this machine's.
    shop.clock.set(SystemClock.now() + Span::from_hours(5));
    shop.send(&night, Command::Pause { build: BuildId(0) });
    let report: Value = serde_json::from_str(&shop.unstuck(&["doctor", "--json"]).stdout).unwrap();
    let status = shop.json(&["status", "--json"]);
    shop.let_go(night);
    let says = ".unstuck/state.db, in use by `unstuck run` (process 4242)";
    assert_eq!(about(&report, "store")[0]["says"], says);
    assert_eq!(status["holder"]["pid"], 4242);
    let clock = &about(&report, "clock")[0];
    assert_eq!(clock["says"], "it is 4 h behind the last recorded time");
}

#[test]
fn a_store_that_is_damaged_or_open_to_others_is_told() {
    let place = ready();
    place.write(".unstuck/state.db", "");
    let folder = place.path(".unstuck");
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let report = place.json(&["doctor", "--json"]);
    assert_eq!(report["exit"], 0, "{report:#}");
    let store = about(&report, "store");
    assert_eq!(store[1]["todo"], "`chmod 700 .unstuck`", "{report:#}");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(about(&place.json(&["doctor", "--json"]), "store").len(), 1);

    place.write(".unstuck/state.db", "this is no database, however long one looks at it");
    let (bad, exit) = in_the_way(&place);
    assert_eq!((&bad["about"], exit), (&"store".into(), 78));
}

//! `unstuck report`: what a build came to, in all four forms.

use std::path::{Path, PathBuf};
use std::process::Command as Child;
use std::sync::Arc;

use serde_json::Value;
use unstuck_core::engine::{BuildId, Command, TaskState};
use unstuck_core::fault::{Config, Fault};
use unstuck_core::plan::{Plan, TaskSpec};

use crate::program::{Ran, command, finish, unstuck};
use crate::shop::{Shop, without_times};
use crate::terminal::seen;

/// A whole night of the demo in a folder: a real loop, a real store, a real repository.
pub(crate) struct Night {
    root: PathBuf,
    _folder: tempfile::TempDir,
}

impl Night {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn played() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A project is named after its folder, and this is what the demo calls its own.
        let root = folder.path().join("demo-7");
        let kept = root.join(".unstuck");
        std::fs::create_dir_all(&kept).unwrap();
        let night = Child::new(env!("CARGO_BIN_EXE_unstuck"))
            .args(["demo", "--auto", "--gently", "--night"])
            .arg(&kept)
            .env("TZ", "UTC")
            .output()
            .unwrap();
        assert!(night.status.success(), "{night:?}");
        Self { root, _folder: folder }
    }

    fn report(&self, args: &[&str]) -> Ran {
        finish(command(["report"]).args(args).arg("-C").arg(&self.root).env("TZ", "UTC"))
    }

    /// The commits of the build's branch with their subjects.
    fn commits(&self) -> Vec<(String, String)> {
        let git = Child::new("git")
            .current_dir(self.root.join(".unstuck/shop/repository"))
            .args(["log", "--format=%H %s", "main..unstuck/b0"])
            .output()
            .unwrap();
        let log = String::from_utf8(git.stdout).unwrap();
        log.lines().map(|line| line.split_once(' ').unwrap()).map(owned).collect()
    }

    /// A text with each commit named after its subject: their ids depend on when it was played.
    fn named(&self, text: &str) -> String {
        self.commits().iter().fold(text.to_owned(), |text, (id, subject)| {
            let name = format!("({subject})");
            text.replace(id, &name).replace(&id[..9], &name)
        })
    }
}

fn owned((a, b): (&str, &str)) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

/// The times of a build that is under way.
fn without_clock(text: &str) -> String {
    let long = |word: &str| {
        let digits = word.strip_suffix('s').and_then(|rest| rest.split_once('m'));
        digits.is_some_and(|(minutes, _)| matches!(minutes, "11" | "12" | "13"))
    };
    let line = |line: &str| {
        if line.starts_with("since ") {
            return "(times)\n".to_owned();
        }
        let line = match line.split_once(" · asked ") {
            Some((before, _)) => format!("{before} · asked (time)"),
            None => line.to_owned(),
        };
        let words = line.split(' ').map(|word| if long(word) { "(long)" } else { word });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    text.lines().map(line).collect()
}

// T2.5: what healed in a real night is in no public form of its report, and the question is.
#[test]
fn a_real_night_is_told_in_four_forms() {
    let night = Night::played();
    let markdown = night.report(&[]);
    assert_eq!((markdown.exit, markdown.stderr.as_str()), (0, ""));
    let text = night.named(&markdown.stdout);
    insta::assert_snapshot!("night_markdown", text);
    let hidden = ["VALIDATION_PRE_COMMIT", "PROVIDER_USAGE_LIMIT", "billing/prices.toml", "502"];
    for healed in hidden {
        assert!(!text.contains(healed), "{text}");
    }
    assert!(text.contains("refused the key or password"), "{text}");

    let all = night.named(&night.report(&["--all"]).stdout);
    assert!(hidden.iter().all(|healed| all.contains(healed)), "{all}");
    assert!(all.starts_with(&text), "it only adds to it");
    insta::assert_snapshot!("night_markdown_all", &all[text.len()..]);

    let html = night.named(&night.report(&["--html"]).stdout);
    insta::assert_snapshot!("night_html", html);
    let mut json: Value = serde_json::from_str(&night.report(&["--json"]).stdout).unwrap();
    let landed: Vec<&str> = json["shipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|done| done["landed"]["ids"][0].as_str().unwrap())
        .collect();
    let commits = night.commits();
    assert_eq!(landed.len(), commits.len());
    assert!(landed.iter().all(|id| commits.iter().any(|(known, _)| known == id)), "{landed:?}");
    json["made_at"] = "(now)".into();
    for done in json["shipped"].as_array_mut().unwrap() {
        done["landed"]["ids"][0] = "(commit)".into();
    }
    insta::assert_json_snapshot!("night_json", json);

    let root = night.root.display();
    let look = "stty rows 24 cols 72; TZ=UTC unstuck --no-color";
    if let Some(seen) = seen(&format!("{look} -C '{root}' report --all")) {
        assert!(seen.lines().all(|line| line.chars().count() <= 72), "{seen}");
        insta::assert_snapshot!("night_terminal", night.named(&seen));
    }
}

#[test]
fn a_file_becomes_what_its_name_says() {
    let shop = Shop::left_alone();
    let cases = [
        (vec![], "report.html", "<!doctype html>"),
        (vec![], "report.md", "# shop: build b0"),
        (vec![], "report.json", "{"),
        (vec!["--html"], "report", "<!doctype html>"),
        (vec!["--markdown"], "x.html", "# shop: build b0"),
    ];
    for (form, name, begins) in cases {
        let file = shop.root().join(name);
        let args = [&["report", "-o", path(&file)], &form[..]].concat();
        let ran = shop.unstuck(&args);
        assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{args:?}");
        assert_eq!(ran.stdout, format!("The report is in {}.\n", file.display()));
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(written.starts_with(begins), "{args:?}: {written}");
    }
    let nowhere = shop.unstuck(&["report", "-o", "/nowhere/report.md"]);
    assert_eq!((nowhere.exit, nowhere.stdout.as_str()), (78, ""));
}

#[test]
fn so_far_while_a_process_is_at_work() {
    let (shop, night) = Shop::after_a_night();
    let ran = shop.unstuck(&["report", "--all"]);
    shop.let_go(night);
    insta::assert_snapshot!(without_clock(&ran.to_string()));
}

#[test]
fn an_answer_that_waits_for_the_next_start_is_not_asked_for_again() {
    let shop = Shop::left_alone();
    shop.unstuck(&["inbox", "answer", "0", "skip_feature"]);
    let report = shop.unstuck(&["report", "b0"]).stdout;
    assert!(report.contains("You have answered; the next start takes it up."), "{report}");
    assert!(!report.contains("inbox answer 0 "), "{report}");
    assert!(report.contains("inbox answer 1 "), "{report}");
    assert!(report.contains("It is not running now"), "{report}");
}

/// A build whose only task never comes to an end by itself, and one that needs it.
fn endless(shop: &Shop) -> crate::shop::Night {
    let named = |name: &str, title: &str| TaskSpec {
        name: name.to_owned(),
        title: title.to_owned(),
        ..TaskSpec::default()
    };
    let after =
        TaskSpec { depends_on: vec!["tidy".to_owned()], ..named("tell", "Tell <b>all</b>") };
    let plan = Arc::new(Plan::new(vec![named("tidy", "Tidy up"), after]).unwrap());
    let night = shop.hold();
    shop.send(&night, Command::StartBuild { plan, slots: 1, in_place: false });
    shop.until(&night, |state| {
        state.tasks().any(|task| matches!(task.state, TaskState::Running { .. }))
    });
    night
}

/// The report of a build that a command put an end to, or held up.
fn after(end: Command) -> String {
    let shop = Shop::new();
    let night = endless(&shop);
    shop.send(&night, end);
    shop.let_go(night);
    without_clock(&shop.unstuck(&["report"]).to_string())
}

#[test]
fn a_night_that_failed_is_told_as_it_was() {
    let build = BuildId(0);
    let fault = Fault::config_invalid("unstuck.toml", "src/secret.rs:3", Config::default());
    let failed = after(Command::Abort { build, fault: Arc::new(fault) });
    assert!(!failed.contains("secret.rs"), "{failed}");
    insta::assert_snapshot!("failed_at_once", without_dates(&failed));
    insta::assert_snapshot!("cancelled", without_dates(&after(Command::Cancel { build })));
    insta::assert_snapshot!("paused", without_dates(&after(Command::Pause { build })));
}

/// The line of times of a build that has ended on the day the test runs on.
fn without_dates(text: &str) -> String {
    let line = |line: &str| {
        if line.contains(" to ") && line.contains(':') && !line.starts_with('-') {
            "(times)\n".to_owned()
        } else {
            format!("{line}\n")
        }
    };
    text.lines().map(line).collect()
}

#[test]
fn nothing_in_a_report_becomes_markup() {
    let shop = Shop::new();
    let night = endless(&shop);
    shop.let_go(night);
    let html = shop.unstuck(&["report", "--html"]).stdout;
    assert!(!html.contains("<b>all") && !html.contains("<script"), "{html}");
    assert!(html.contains("&lt;b&gt;all"), "a title is shown as it is: {html}");
    let mut json = shop.json(&["report", "--json"]);
    without_times(&mut json);
    assert!(json["still"][1]["title"].as_str().unwrap().contains("<b>all"), "{json}");
}

#[test]
fn what_is_not_there_has_no_report() {
    let shop = Shop::left_alone();
    for build in ["9", "b9"] {
        let ran = shop.unstuck(&["report", build]);
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("there is no build b9"), "{}", ran.stderr);
        assert!(ran.stderr.contains("unstuck status"), "{}", ran.stderr);
    }
    // The home of all jobs is no build of a plan.
    assert_eq!(shop.unstuck(&["report", "1"]).exit, 2);
    let none = Shop::new().unstuck(&["report"]);
    assert_eq!(none.exit, 2);
    assert!(none.stderr.contains("no build was run yet"), "{}", none.stderr);
    let folder = tempfile::tempdir().unwrap();
    let nothing = unstuck(&["report", "-C", path(folder.path())]);
    assert_eq!(nothing.exit, 2);
    assert!(nothing.stderr.contains("nothing was run yet"), "{}", nothing.stderr);
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

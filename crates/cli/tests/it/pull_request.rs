//! `unstuck land --pr`: a real build, a real remote, and a pull request that is opened once.

use std::process::Command;

use serde_json::Value;

use crate::github::{Github, Mood};
use crate::program::{Ran, finish, ran};
use crate::project::Project;

const TOKEN: &str = "canary-4711-of-ada";
const URL: &str = "https://git.example/ada/shop/pull/1";

/// A project with a build that made a commit, a remote, and a place for pull requests.
struct Landing {
    stage: Project,
    github: Github,
}

impl Landing {
    fn new(mood: Mood) -> Self {
        let here = Self::before_a_build(mood);
        here.stage.run(&["run", "write a"]).exits(0);
        here
    }

    fn before_a_build(mood: Mood) -> Self {
        let (stage, github) = (Project::with_agents(), Github::start(mood));
        let remote = stage.path(".unstuck-remote.git");
        stage.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
        stage.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        stage.write(".gitignore", ".unstuck-remote.git\n.unstuck\n");
        let url = github.url();
        stage.set(&format!("[github]\nrepository = \"ada/shop\"\nbase_url = \"{url}\"\n"));
        stage.agent("write-a", &[r#"{write = "work/a.txt", text = "fine\n"}"#]);
        Self { stage, github }
    }

    fn land(&self, args: &[&str]) -> Ran {
        finish(self.command(args).env("GITHUB_TOKEN", TOKEN))
    }

    fn command(&self, args: &[&str]) -> Command {
        self.stage.unstuck(&[&["land", "--pr"], args].concat())
    }

    fn sent(&self) -> String {
        let remote = self.stage.path(".unstuck-remote.git");
        self.stage.git(&["ls-remote", remote.to_str().unwrap(), "refs/heads/unstuck/b0"])
    }
}

// TX6, TX8: once, however often it is asked for
#[test]
fn a_pull_request_is_opened_once_and_said_again() {
    let here = Landing::new(Mood::Well);
    let first = here.land(&[]).exits(0);
    assert!(first.stdout.contains("of build b0 is now open to main:"), "{first}");
    assert!(first.stdout.contains(URL), "{first}");
    let tip = here.stage.git(&["rev-parse", "unstuck/b0"]);
    assert!(here.sent().starts_with(tip.trim_end()), "the branch was sent");
    let again = here.land(&["--json"]).exits(0);
    let said: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(said["pull_request"]["url"], URL);
    assert_eq!(said["pull_request"]["before"], true);
    assert_eq!((here.github.pulls().len(), here.github.asked("POST")), (1, 1));
    let pull = &here.github.pulls()[0];
    assert_eq!((&pull["head"], &pull["base"]), (&"unstuck/b0".into(), &"main".into()));
    assert_eq!(pull["title"], "write a");
    assert!(pull["body"].as_str().unwrap().contains("1 of 1 task"), "{pull}");
    assert!(here.github.tokens().iter().all(|token| *token == format!("Bearer {TOKEN}")));
    let kept = format!("{:?} {first} {again}", here.stage.events());
    assert!(!kept.contains(TOKEN), "{kept}");
}

// TX6: the answer is lost, and the pull request is looked up
#[test]
fn a_lost_answer_opens_no_second_one() {
    let here = Landing::new(Mood::LosesTheAnswer);
    let landed = here.land(&[]).exits(0);
    assert!(landed.stdout.contains(URL), "{landed}");
    assert_eq!((here.github.asked("POST"), here.github.asked("GET")), (1, 1));
}

// TX6: killed while the answer is awaited, and the next one looks first
#[test]
fn killed_before_the_answer_the_next_one_opens_no_second() {
    let here = Landing::new(Mood::FallsSilentOnce);
    let mut land = here.command(&[]);
    let mut killed = land.env("GITHUB_TOKEN", TOKEN).spawn().unwrap();
    here.github.hear();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let landed = here.land(&[]).exits(0);
    assert!(landed.stdout.contains(URL), "{landed}");
    assert_eq!((here.github.pulls().len(), here.github.asked("POST")), (1, 1));
}

#[test]
fn without_a_token_nothing_is_sent_and_a_wrong_one_is_told() {
    let here = Landing::new(Mood::Refuses);
    let ran = ran(here.command(&[]).output().unwrap()).exits(77);
    assert!(ran.stderr.contains("GITHUB_TOKEN is not set"), "{ran}");
    assert!(ran.stderr.contains("github.token_env"), "{ran}");
    assert_eq!((here.sent(), here.github.asked("POST")), (String::new(), 0));
    let ran = here.land(&[]).exits(77);
    assert!(ran.stderr.contains("AUTH_INVALID") && ran.stderr.contains("hint:"), "{ran}");
    // No question is asked: the caller has the answer.
    assert!(here.stage.questions().is_empty());
}

#[test]
fn a_red_check_keeps_it_here() {
    let here = Landing::new(Mood::Well);
    let red = "[validate]\npre_pr = [\"grep -q excellent work/a.txt\"]\n";
    here.stage.replace_setting("[validate]\n", red);
    let ran = here.land(&[]);
    assert!(ran.stderr.contains("VALIDATION_PRE_PR"), "{ran}");
    assert_eq!((here.sent(), here.github.asked("POST")), (String::new(), 0));
    assert!(!here.stage.path(".unstuck/landing").exists());
    here.stage.replace_setting(red, &red.replace("excellent", "fine"));
    here.land(&[]).exits(0);
    assert_eq!(here.github.pulls().len(), 1);
}

// A branch that is there already says nothing about its checks.
#[test]
fn a_red_check_keeps_a_pull_request_closed_that_was_pushed_before() {
    let here = Landing::new(Mood::Well);
    here.stage.git(&["push", "--quiet", "origin", "unstuck/b0"]);
    let check = "[validate]\npre_pr = [\"echo the page is bad; grep -q excellent work/a.txt\"]\n";
    here.stage.replace_setting("[validate]\n", check);
    let ran = here.land(&[]).exits(1);
    assert!(ran.stderr.contains("VALIDATION_PRE_PR"), "{ran}");
    assert!(ran.stderr.contains("| the page is bad"), "{ran}");
    assert_eq!(here.github.asked("POST"), 0);
}

// T4.11: a check before the pull request that is red goes back to the agent
#[test]
fn a_red_check_before_the_pull_request_is_mended_by_the_agent() {
    let here = Landing::before_a_build(Mood::Well);
    let check = "[validate]\npre_pr = [\"grep -q excellent work/a.txt\"]\n";
    here.stage.replace_setting("[run]\n", "[run]\npull_request = true\npush = true\n");
    here.stage.replace_setting("[validate]\n", check);
    let (fine, excellent) = (
        r#"{write = "work/a.txt", text = "fine\n"}"#,
        r#"{write = "work/a.txt", text = "excellent\n"}"#,
    );
    here.stage.agent("write-a", &[fine, excellent]);
    here.stage.commit();
    let mut run = here.stage.unstuck(&["run", "write a"]);
    let ran = ran(run.env("GITHUB_TOKEN", TOKEN).output().unwrap()).exits(0);
    assert_eq!(here.stage.tasks()[0].moved.attempts, 2, "{ran}");
    assert_eq!(here.github.pulls().len(), 1, "{ran}");
    assert_eq!(here.stage.on_branch("unstuck/b0", "work/a.txt"), "excellent\n");
}

#[test]
fn without_a_service_for_pull_requests_it_says_what_to_set() {
    let here = Landing::new(Mood::Well);
    let settings = std::fs::read_to_string(here.stage.path("unstuck.toml")).unwrap();
    let without = settings.split("[github]").next().unwrap();
    here.stage.write("unstuck.toml", without);
    let ran = here.land(&[]).exits(78);
    assert!(ran.stderr.contains("the remote origin is not at GitHub"), "{ran}");
    assert!(ran.stderr.contains("github.repository"), "{ran}");
}

#[test]
fn a_run_opens_it_by_itself_where_the_settings_say_so() {
    let here = Landing::before_a_build(Mood::Well);
    here.stage.replace_setting("[run]\n", "[run]\npull_request = true\n");
    // Without a token the work is done all the same.
    let without = here.stage.run(&["run", "write a"]).exits(1);
    assert!(without.stderr.contains("GITHUB_TOKEN is not set"), "{without}");
    assert!(without.stderr.contains("`unstuck land b0 --pr` tries again."), "{without}");
    let report = here.stage.run(&["report"]).stdout;
    assert!(report.contains("No pull request was opened for it."), "{report}");
    assert!(here.land(&["b0"]).stdout.contains(URL));
    let mut again = here.stage.unstuck(&["run", "write a"]);
    let again = ran(again.env("GITHUB_TOKEN", TOKEN).output().unwrap()).exits(0);
    assert!(again.stderr.contains("pull request of b2: https://git.example/"), "{again}");
    let report = here.stage.run(&["report"]).stdout;
    assert!(report.contains("Its pull request is https://git.example/"), "{report}");
    assert_eq!(here.github.pulls().len(), 2);
}

// The holder of the project decides; the caller opens the pull request.
#[test]
fn it_is_opened_beside_a_holder_of_the_project() {
    let here = Landing::new(Mood::Well);
    for fifo in ["up", "go"] {
        here.stage.fifo(&format!(".unstuck/{fifo}"));
    }
    let script = "echo >.unstuck/up; read line <.unstuck/go";
    let mut holder = here.stage.unstuck(&["exec", "--name", "other", "--", "sh", "-c", script]);
    let mut holder = holder.spawn().unwrap();
    std::fs::read(here.stage.path(".unstuck/up")).unwrap();
    let landed = here.land(&[]).exits(0);
    assert!(landed.stdout.contains(URL), "{landed}");
    assert!(here.land(&[]).stdout.contains(URL));
    assert_eq!((here.github.pulls().len(), here.github.asked("POST")), (1, 1));
    std::fs::write(here.stage.path(".unstuck/go"), "go\n").unwrap();
    assert_eq!(holder.wait().unwrap().code(), Some(0));
}

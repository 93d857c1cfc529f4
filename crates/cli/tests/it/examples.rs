//! The examples, as they stand in the repository.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use unstuck_core::fault::Code;
use unstuck_core::question::QuestionKind;
use unstuck_store::tables::QuestionStatus;
use unstuck_testkit::stage::{commit_all, init_repository};

use crate::program::{OutputText as _, own_search_path};
use crate::project::Project;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Every run is on its own, so that waits are short.
const QUICK: &str = "[backoff]\nbase = \"10ms\"\ncap = \"20ms\"\n";

// T3.1: stated at the source, in three languages; two of them over the socket itself.
#[test]
fn scripts_say_what_they_fail_of_in_every_language() {
    for [program, script] in [["sh", "fail.sh"], ["python3", "fail.py"], ["node", "fail.mjs"]] {
        let stage = Project::new();
        let file = example("fail").join(script).display().to_string();
        let exec = || {
            let args = ["exec", "--name", "job", "--max-wait", "0", "--", program, &file];
            with_tools(&mut stage.unstuck(&args)).output().unwrap()
        };
        let ran = exec();
        assert_eq!(ran.status.code(), Some(3), "{script}: {}", ran.err());
        let question = stage.question();
        assert_eq!((question.code, question.kind), (Some(Code::AuthExpired), QuestionKind::Hands));
        fs::write(stage.path("token"), "1234").unwrap();
        assert!(stage.answer(&question, "provide_credentials").status.success());
        let ran = exec();
        assert_eq!(ran.status.code(), Some(0), "{script}: {}", ran.err());
        assert_eq!(ran.out().trim(), "logged in with 4 bytes");
        // On its own it ends in the same way, and no person is told.
        fs::remove_file(stage.path("token")).unwrap();
        let mut alone = Command::new(program);
        alone.arg(&file).current_dir(stage.path("")).env("PATH", own_search_path(&tools()));
        assert_eq!(alone.output().unwrap().status.code(), Some(77), "{script}");
    }
}

/// The folders of Python and Node on this machine.
fn tools() -> String {
    std::env::var_os("PATH").unwrap().into_string().unwrap()
}

fn with_tools(command: &mut Command) -> &mut Command {
    command.env("PATH", own_search_path(&tools()))
}

/// The shop of the nightly sync, which ends with the test.
struct Shop {
    stage: Project,
    service: Child,
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.service.kill().unwrap();
        self.service.wait().unwrap();
    }
}

impl Shop {
    fn opens(weather: &str, settings: &str) -> Self {
        let stage = Project::new();
        for file in fs::read_dir(example("nightly-sync")).unwrap() {
            let file = file.unwrap().path();
            fs::copy(&file, stage.path(file.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        fs::write(stage.path("unstuck.toml"), format!("{QUICK}{settings}")).unwrap();
        fs::write(stage.path("weather.txt"), weather).unwrap();
        let mut service = Command::new("python3");
        service.args(["service.py", "weather.txt"]).current_dir(stage.path(""));
        let mut service = service.stdout(Stdio::piped()).spawn().unwrap();
        let mut open = String::new();
        BufReader::new(service.stdout.take().unwrap()).read_line(&mut open).unwrap();
        assert_eq!(open, "the shop is open\n");
        Self { stage, service }
    }

    /// Runs the sync without waiting for a person; how it ended, and what was said.
    fn sync(&self) -> (Option<i32>, String) {
        let args = ["exec", "--name", "sync", "--max-wait", "0", "--", "python3", "sync.py"];
        let mut sync = self.stage.unstuck(&args);
        let ran = with_tools(&mut sync).env("HOME", self.stage.path("")).output().unwrap();
        (ran.status.code(), ran.err())
    }

    /// Everything was charged, once, and there is a receipt for it.
    fn is_settled(&self) {
        let wrote = |name| {
            let mut lines: Vec<String> =
                self.stage.wrote(name).lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(wrote("charges.log"), ["a1 500 receipt-a1", "b2 1250 receipt-b2"]);
        let receipts = wrote("receipts.csv");
        let of =
            |receipt: &String| receipt.contains("receipt-a1") || receipt.contains("receipt-b2");
        assert!(receipts.len() == 2 && receipts.iter().all(of), "{receipts:?}");
    }
}

// T3.2, T3.14
#[test]
fn the_sync_waits_out_a_shop_that_limits_and_breaks() {
    let shop = Shop::opens("429 500 500", "");
    let (status, said) = shop.sync();
    assert_eq!(status, Some(0), "{said}");
    let codes: Vec<Code> =
        shop.stage.runs("sync").iter().filter_map(|run| Some(run.fault.as_ref()?.code())).collect();
    assert_eq!(codes, [Code::ToolRateLimit, Code::NetworkUnavailable, Code::NetworkUnavailable]);
    shop.is_settled();
}

// T3.7: five retries, then a person is asked, and the answer starts the count over.
#[test]
fn the_sync_asks_when_the_shop_stays_broken() {
    let shop = Shop::opens(&"500 ".repeat(7), "");
    let (status, said) = shop.sync();
    assert_eq!(status, Some(3), "{said}");
    assert_eq!(shop.stage.runs("sync").len(), 6);
    let question = shop.stage.question();
    let why = serde_json::to_value(&question.why).unwrap();
    assert_eq!(why["rule"], "max_retries_exceeded", "{why}");
    let first = question.text.options[0].value;
    assert!(shop.stage.answer(&question, first.as_str()).status.success());
    let (status, said) = shop.sync();
    assert_eq!(status, Some(0), "{said}");
    shop.is_settled();
    // T1.13: what was answered is kept, and the count has started over.
    let answered = shop.stage.question();
    assert_eq!(answered.status, QuestionStatus::Resolved);
    let ending = serde_json::to_value(&answered).unwrap();
    assert_eq!(ending["decision"], first.as_str());
    assert!(ending["resolved_at"].as_u64().is_some(), "{ending}");
    assert_eq!(shop.stage.runs("sync").len(), 8, "the seventh failure was waited out again");
}

// T3.15
#[test]
fn the_sync_asks_for_a_login_and_goes_on_after_it() {
    let shop = Shop::opens("401", "");
    fs::write(shop.stage.path("good-token"), "new").unwrap();
    let (status, said) = shop.sync();
    assert_eq!(status, Some(3), "{said}");
    let question = shop.stage.question();
    assert_eq!((question.code, question.kind), (Some(Code::AuthExpired), QuestionKind::Hands));
    fs::write(shop.stage.path("token"), "new").unwrap();
    assert!(shop.stage.answer(&question, "provide_credentials").status.success());
    let (status, said) = shop.sync();
    assert_eq!(status, Some(0), "{said}");
    shop.is_settled();
}

// TX6, TX8: the reply to a charge is lost, and the sync is killed between a charge and its receipt.
#[test]
fn the_sync_charges_once_whatever_gets_lost() {
    let shop = Shop::opens("ok lose", "");
    fs::write(shop.stage.path("crash"), "").unwrap();
    let (status, said) = shop.sync();
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(shop.stage.runs("sync").len(), 2, "{said}");
    shop.is_settled();
}

/// A repository of what is there.
fn git_repository(stage: &Project) {
    init_repository(&stage.path(""));
    commit_all(&stage.path(""), "the sync");
}

/// The example's own settings, with an agent that is a script.
fn own_settings() -> String {
    let own = fs::read_to_string(example("nightly-sync").join("unstuck.toml")).unwrap();
    assert!(own.contains("provider = \"claude-cli\""));
    own.replace("\"claude-cli\"", "\"script\"\nscript = \"agent.toml\"")
}

// T3.3, T3.11: the other side changed; an agent repairs the job within its fence, and it goes on.
#[test]
fn the_sync_is_a_job_that_is_repaired_when_the_shop_renames_a_field() {
    let shop = Shop::opens("", &own_settings());
    let sync = fs::read_to_string(shop.stage.path("sync.py")).unwrap();
    let mended = serde_json::to_string(&sync.replace("\"total\"", "\"amount\"")).unwrap();
    let agent = format!("[[attempt]]\nsteps = [{{ write = \"sync.py\", text = {mended} }}]\n");
    fs::write(shop.stage.path("agent.toml"), agent).unwrap();
    fs::write(shop.stage.path(".gitignore"), "*.log\n*.csv\naddress\n__pycache__/\n").unwrap();
    git_repository(&shop.stage);
    fs::write(shop.stage.path("renamed"), "").unwrap();
    let mut run = shop.stage.unstuck(&["jobs", "run", "sync", "--max-wait", "0"]);
    with_tools(&mut run).env("HOME", shop.stage.path("")).output().unwrap().exits(0);
    let first = &shop.stage.runs("sync")[0];
    assert_eq!(serde_json::to_value(first.status).unwrap(), "failed:logic");
    assert!(shop.stage.wrote("sync.py").contains("order[\"amount\"]"));
    shop.is_settled();
    let history = shop.stage.unstuck(&["jobs", "history", "sync"]).output().unwrap();
    assert!(history.out().contains("r0"), "{}", history.out());
}

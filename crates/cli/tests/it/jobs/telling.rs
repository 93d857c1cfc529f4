//! Texts about jobs for people: in `jobs`, `status`, `log` and `jobs history`.

use unstuck_core::text::lint_text;

use super::{jobs, project};
use crate::exec::broken::{Shop, right};
use crate::program::OutputText as _;
use crate::project::Project;

fn unstuck(stage: &Project, args: &[&str]) -> String {
    stage.unstuck(args).env("TZ", "UTC").output().unwrap().out()
}

#[test]
fn a_refused_login_says_what_to_renew() {
    let says = "fatal: Authentication failed for 'https://github.com/ada/shop.git/'";
    let stage = project(&format!(
        "[[job]]\nname = \"nightly-sync\"\nrun = \"\"\"echo \"{says}\" >&2; exit 1\"\"\"\n"
    ));
    assert_eq!(jobs(&stage, &["run", "nightly-sync", "--max-wait", "0"]).exit, 3);
    let waits = "waiting for you to replace the key or password for github.com: question q0";
    let listed = jobs(&stage, &["list"]).stdout;
    assert!(listed.contains(&format!("Needs attention  {waits}")), "{listed}");
    let status = unstuck(&stage, &["status"]);
    assert!(status.contains(waits) && !status.contains("firing 1"), "{status}");
    let status = unstuck(&stage, &["status", "-v"]);
    assert!(status.contains("t0 · nightly-sync · firing 1 · 1 attempt"), "{status}");
    assert!(status.contains("AUTH_INVALID:"), "{status}");
    let log = unstuck(&stage, &["log"]);
    for line in [
        "“nightly-sync” is due.",
        "Running “nightly-sync”. (r0)",
        "Asked you about “nightly-sync”: the account refused the key. (q0, AUTH_INVALID, \
         replace the key or password for github.com)",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    // The text for all readers names the service, and no address.
    let question = stage.question();
    let said = &question.text;
    assert!(said.problem.contains("GitHub refused the key"), "{said:?}");
    assert!(said.recommended_text.contains("that GitHub accepts"), "{said:?}");
    assert!(lint_text(&said.problem).is_empty() && lint_text(&said.recommended_text).is_empty());
}

#[test]
fn a_script_names_the_account_itself() {
    let stage = project(
        "[[job]]\nname = \"mail\"\nrun = \"exec unstuck fail --code AUTH_EXPIRED --account 'the shop'\"\n",
    );
    assert_eq!(jobs(&stage, &["run", "mail", "--max-wait", "0"]).exit, 3);
    let listed = jobs(&stage, &[]).stdout;
    assert!(listed.contains("waiting for you to renew the login for the shop"), "{listed}");
    let said = stage.question().text;
    assert!(said.problem.contains("The login for the shop has expired."), "{said:?}");
}

#[test]
fn a_wait_and_a_second_start_read_like_sentences() {
    let script = "[ -f up ] && exit 0; touch up; echo 'curl: (7) connection refused' >&2; exit 7";
    let stage = project(&format!("[[job]]\nname = \"net\"\nrun = \"{script}\"\n"));
    assert_eq!(jobs(&stage, &["run", "net", "-q"]).exit, 0);
    let log = unstuck(&stage, &["log"]);
    assert!(log.contains("Trying “net” again in "), "{log}");
    assert!(log.contains("Running “net” again. (r1 after r0)"), "{log}");
    assert!(log.contains("“net” is done.\n"), "{log}");
}

#[test]
fn the_history_has_the_links_of_the_chain_and_the_repairs() {
    let shop = Shop::job("", &[&right()]);
    let ran = shop.run_job();
    shop.is_repaired(&ran);
    let history = unstuck(&shop.0, &["jobs", "history", "job"]);
    assert!(history.contains("LOGIC_ERROR"), "{history}");
    assert!(history.contains("repair 1 of 3, used if it passes"), "{history}");
    assert!(history.contains("succeeded after r0"), "{history}");
}

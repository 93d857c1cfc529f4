//! `unstuck inbox`: seeing and answering the questions that wait.

use std::process::{Command, Stdio};

use unstuck_core::engine::{QuestionId, TaskState};
use unstuck_store::tables::QuestionStatus;

use crate::program::{finish, ran};
use crate::shop::{CHOICE, HANDS, HAPPENED, PREVIEW, SHOP, Shop};

impl Shop {
    fn status(&self, question: QuestionId) -> QuestionStatus {
        let row = self.runtime.block_on(self.store.load_question(SHOP, question));
        row.unwrap().unwrap().status
    }
}

#[test]
fn the_open_questions_are_listed_oldest_first() {
    let shop = Shop::left_alone();
    insta::assert_snapshot!(shop.unstuck(&["inbox"]));
    assert_eq!(shop.unstuck(&["inbox", "list"]).stdout, shop.unstuck(&["inbox"]).stdout);
}

#[test]
fn the_list_as_json_is_the_rows_themselves() {
    let shop = Shop::left_alone();
    insta::assert_json_snapshot!(shop.json(&["inbox", "--json"]));
}

#[test]
fn an_empty_inbox_is_one_friendly_line() {
    let shop = Shop::new();
    insta::assert_snapshot!(shop.unstuck(&["inbox"]));
    assert_eq!(shop.json(&["inbox", "--json"]), serde_json::json!([]));
}

#[test]
fn where_nothing_was_ever_run_there_is_no_inbox() {
    let folder = tempfile::tempdir().unwrap();
    let ran = crate::program::unstuck(&["-C", folder.path().to_str().unwrap(), "inbox"]);
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("nothing was run yet in"), "{}", ran.stderr);
    assert!(!folder.path().join(".unstuck").exists());
}

#[test]
fn a_question_is_shown_in_full() {
    let shop = Shop::left_alone();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\b\d{1,2} [A-Z][a-z]{2} \d{2}:\d{2}\b", "[day and time]");
    let _filtered = settings.bind_to_scope();
    insta::assert_snapshot!("shown_hands", shop.unstuck(&["inbox", "show", "0"]));
    insta::assert_snapshot!("shown_choice", shop.unstuck(&["inbox", "show", "1"]));
    insta::assert_snapshot!("shown_happened", shop.unstuck(&["inbox", "show", "q2"]));
    let one = shop.json(&["inbox", "show", "1", "--json"]);
    assert_eq!(one, shop.json(&["inbox", "--json"])[1]);
}

#[test]
fn an_answer_is_taken_up_at_once_while_a_process_is_at_work() {
    let (shop, night) = Shop::after_a_night();
    let ran = shop.unstuck(&["inbox", "answer", "2", "it-happened", "--guidance", "I looked"]);
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, "Answered. It continues.\n"), "{}", ran.stderr);
    shop.until(&night, |state| state.question(HAPPENED).is_none());
    shop.let_go(night);
    assert_eq!(shop.status(HAPPENED), QuestionStatus::Resolved);
    insta::assert_snapshot!("answered", shop.unstuck(&["inbox", "list", "--all"]));
}

// B6
#[test]
fn an_answer_given_while_no_process_runs_is_taken_up_at_the_next_start() {
    let shop = Shop::left_alone();
    let ran = shop.unstuck(&["inbox", "answer", "0", "skip_feature"]);
    let said = "Answered. It takes effect at the next start.\n";
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, said), "{}", ran.stderr);
    assert_eq!(shop.status(HANDS), QuestionStatus::Pending);
    let night = shop.hold();
    shop.until(&night, |state| {
        let task = state.task(PREVIEW);
        task.is_none_or(|task| matches!(task.state, TaskState::Skipped { .. }))
    });
    shop.let_go(night);
    assert_eq!(shop.status(HANDS), QuestionStatus::Skipped);
    let row = shop.json(&["inbox", "show", "0", "--json"]);
    assert_eq!((&row["answered_by"], &row["decision"]), (&"ada".into(), &"skip_feature".into()));
}

// B6: a person is not asked again for an answer that they gave.
#[test]
fn an_answer_that_waits_to_be_taken_up_is_shown_as_one() {
    let shop = Shop::left_alone();
    shop.unstuck(&["inbox", "answer", "0", "skip_feature", "--guidance", "not this year"]);
    insta::assert_snapshot!("waiting_answer_listed", shop.unstuck(&["inbox"]));
    insta::assert_snapshot!("waiting_answer_shown", shop.unstuck(&["inbox", "show", "0"]));
    let listed = shop.json(&["inbox", "--json"]);
    assert_eq!(listed[0]["answer"]["decision"], "skip_feature");
    assert_eq!((listed[1].get("answer"), &listed[0]["status"]), (None, &"pending".into()));
    shop.unstuck(&["inbox", "answer", "1", "skip_feature"]);
    shop.unstuck(&["inbox", "answer", "2", "it_happened"]);
    assert!(shop.unstuck(&["inbox"]).stdout.starts_with("Nothing waits for you.\n"));
}

#[test]
fn an_answer_as_json_says_who_and_whether_it_is_taken_up() {
    let shop = Shop::left_alone();
    let args = ["inbox", "answer", "0", "provide_credentials", "--json"];
    insta::assert_json_snapshot!(shop.json(&args));
}

#[test]
fn without_a_login_name_in_the_environment_it_is_looked_up() {
    let shop = Shop::left_alone();
    let ran = finish(
        shop.command(&["inbox", "answer", "0", "provide_credentials", "--json"]).env_remove("USER"),
    );
    let name = Command::new("id").arg("-un").output().unwrap().stdout;
    let name = String::from_utf8(name).unwrap();
    assert!(ran.stdout.contains(&format!("\"by\": \"{}\"", name.trim())), "{ran}");
}

// TX4
#[test]
fn of_two_answers_at_once_exactly_one_wins() {
    let shop = Shop::left_alone();
    let answer = |decision: &str| {
        let mut child = shop.command(&["inbox", "answer", "0", decision]);
        child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [answer("provide_credentials"), answer("skip_feature")];
    let mut ended = both.map(|child| ran(child.wait_with_output().unwrap()));
    ended.sort_by_key(|ran| ran.exit);
    let [won, lost] = ended;
    assert_eq!((won.exit, lost.exit), (0, 2), "{won}\n{lost}");
    insta::assert_snapshot!("answered_twice", lost);
}

// TX4
#[test]
fn an_answer_that_does_not_fit_is_refused_with_what_would() {
    let shop = Shop::left_alone();
    let refused = |args: &[&str]| {
        let ran = shop.unstuck(&[&["inbox", "answer"], args].concat());
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{ran}");
        ran.stderr
    };
    let said = [
        refused(&["0", "allow_once"]),
        refused(&["0", "wibble"]),
        refused(&["9", "skip_feature"]),
        refused(&["1", "provide_guidance"]),
        refused(&["1", "provide_guidance", "--guidance", " "]),
    ];
    insta::assert_snapshot!("refused_answers", said.join("\n"));
    assert_eq!(shop.status(HANDS), QuestionStatus::Pending);
    assert_eq!(shop.status(CHOICE), QuestionStatus::Pending);
}

#[test]
fn whether_it_happened_is_looked_up_again_and_the_question_withdrawn() {
    let shop = Shop::left_alone();
    let ran = shop.unstuck(&["inbox", "check", "2"]);
    let said = "It is looked up again at the next start.\n";
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, said), "{}", ran.stderr);
    assert_eq!(shop.status(HAPPENED), QuestionStatus::Withdrawn);
    let late = shop.unstuck(&["inbox", "answer", "2", "it_happened"]);
    insta::assert_snapshot!("answered_after_it_was_withdrawn", late);
    let again = shop.unstuck(&["inbox", "check", "2"]);
    assert_eq!((again.exit, again.stderr), (2, late.stderr));
}

#[test]
fn a_process_at_work_looks_it_up_at_once() {
    let (shop, night) = Shop::after_a_night();
    let ran = shop.unstuck(&["inbox", "check", "2"]).exits(0);
    assert!(ran.stdout.starts_with("It is being looked up again."), "{ran}");
    // This look-up cannot tell either, so it is asked again.
    shop.until(&night, |state| state.question(QuestionId(3)).is_some());
    shop.let_go(night);
}

#[test]
fn only_what_may_have_happened_can_be_looked_up() {
    let shop = Shop::left_alone();
    insta::assert_snapshot!(shop.unstuck(&["inbox", "check", "0"]));
}

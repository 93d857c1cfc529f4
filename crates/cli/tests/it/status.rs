//! `unstuck status`: where everything stands.

use crate::program::Ran;
use crate::shop::{Shop, without_clock};

/// The page; what was spent before midnight was not spent today.
fn page(ran: &Ran) -> String {
    let page = without_clock(&ran.to_string());
    page.replace("\nSpent today: $3.20, 9,600 tokens\n", "")
}

#[test]
fn while_a_process_is_at_work() {
    let (shop, night) = Shop::after_a_night();
    let ran = shop.unstuck(&["status"]);
    shop.let_go(night);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{ran}");
    insta::assert_snapshot!(page(&ran));
}

#[test]
fn while_no_process_is_at_work_nothing_is_said_to_run() {
    let shop = Shop::left_alone();
    insta::assert_snapshot!(page(&shop.unstuck(&["status"])));
}

// B6
#[test]
fn what_was_answered_and_not_taken_up_waits_for_no_person() {
    let shop = Shop::left_alone();
    shop.unstuck(&["inbox", "answer", "0", "skip_feature"]);
    insta::assert_snapshot!(page(&shop.unstuck(&["status"])));
    let answers = shop.json(&["status", "--json"])["answers"].clone();
    assert_eq!((answers.as_array().unwrap().len(), &answers[0]["by"]), (1, &"ada".into()));
}

#[test]
fn as_json_it_is_the_rows_themselves() {
    let (shop, night) = Shop::after_a_night();
    let mut json = shop.json(&["status", "--json"]);
    shop.let_go(night);
    assert_eq!(json["questions"], shop.json(&["inbox", "--json"]));
    json["spent_today"] = "(depends on when it is midnight)".into();
    json["questions"] = "(as in the inbox)".into();
    for build in json["builds"].as_array_mut().unwrap() {
        for row in build["rows"].as_array_mut().unwrap() {
            row["spec"] = row["spec"]["name"].take();
            row["counters"] = "(counters)".into();
        }
    }
    insta::assert_json_snapshot!(json);
}

#[test]
fn a_project_without_work_has_little_to_say() {
    insta::assert_snapshot!(Shop::new().unstuck(&["status"]));
}

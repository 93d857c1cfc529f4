//! `unstuck why`: the reasons of what was decided about a run.

use crate::shop::Shop;

#[test]
fn a_run_that_was_followed_by_another_way() {
    insta::assert_snapshot!(Shop::left_alone().unstuck(&["why", "1"]));
}

#[test]
fn a_run_that_led_to_a_question() {
    insta::assert_snapshot!(Shop::left_alone().unstuck(&["why", "r3"]));
}

#[test]
fn a_run_after_which_the_tries_were_used_up() {
    insta::assert_snapshot!(Shop::left_alone().unstuck(&["why", "r7"]));
}

#[test]
fn a_run_that_simply_succeeded() {
    insta::assert_snapshot!(Shop::left_alone().unstuck(&["why", "r0"]));
}

#[test]
fn as_json_the_run_its_task_its_chain_and_its_decisions() {
    let mut json = Shop::left_alone().json(&["why", "1", "--json"]);
    json["task"] = json["task"]["spec"]["name"].take();
    for run in json["chain"].as_array_mut().unwrap() {
        *run = run["id"].take();
    }
    insta::assert_json_snapshot!(json);
}

#[test]
fn a_run_that_is_not_there() {
    insta::assert_snapshot!(Shop::left_alone().unstuck(&["why", "99"]));
}

//! The simpler loops do what is said of them, so that the comparison is fair.

use unstuck_testkit::healing::Supervisor::{self, Backoff, Counting, Retry};

use super::played_by_name;

/// True when everything was completed, the calls, and the actions that happened too often.
fn came_to(name: &str, supervisor: Supervisor) -> (bool, u32, u32) {
    let row = played_by_name(name, supervisor);
    let scenario = &row.scenario;
    let each = row.measured[&supervisor].iter().map(|measured| {
        assert_eq!(measured.questions, 0, "they ask no question");
        (measured.is_complete(scenario), measured.calls, measured.count_duplicates(scenario))
    });
    let each: Vec<_> = each.collect();
    assert!(each.iter().all(|one| *one == each[0]), "{name}: nothing is left to chance here");
    each[0]
}

#[test]
fn they_do_the_whole_task_again() {
    let cases = [
        // A passing fault is over with the next try of any supervisor.
        ("provider-crash", Retry, (true, 2, 0)),
        ("provider-crash", Backoff, (true, 2, 0)),
        ("provider-crash", Counting, (true, 2, 0)),
        // A minute is longer than ten calls that are refused at once, and shorter than three waits.
        ("provider-rate-limit", Retry, (false, 10, 0)),
        ("provider-rate-limit", Backoff, (true, 3, 0)),
        ("provider-rate-limit", Counting, (false, 3, 0)),
        // No person renews a login without a question.
        ("auth-expired", Retry, (false, 10, 0)),
        ("auth-expired", Counting, (false, 3, 0)),
        // Where only a check has to be repeated, the agent is called again.
        ("operation-timeout", Retry, (true, 2, 0)),
        // What happened happens again.
        ("network-timeout", Retry, (true, 2, 1)),
        ("network-timeout", Backoff, (true, 2, 1)),
        ("killed-after-an-action", Retry, (true, 2, 1)),
        // What was about to happen did not.
        ("killed-before-an-action", Retry, (true, 2, 0)),
        // The other side recognises a repeated call of any supervisor.
        ("recognised-by-the-other-side", Retry, (true, 2, 0)),
        // Nothing goes wrong, and nothing is done twice.
        ("nothing-wrong", Retry, (true, 2, 0)),
        ("nothing-wrong", Counting, (true, 2, 0)),
    ];
    for (name, supervisor, expected) in cases {
        assert_eq!(came_to(name, supervisor), expected, "{name} under {supervisor:?}");
    }
}

/// An agent that is not told what failed takes any of its approaches: with two of them, two calls more
/// often than three, and sometimes many.
#[test]
fn their_agents_take_what_comes_to_their_mind() {
    let row = played_by_name("logic-error", Retry);
    let calls: Vec<u32> = row.measured[&Retry].iter().map(|measured| measured.calls).collect();
    assert!(calls.iter().all(|calls| *calls >= 2), "{calls:?}");
    assert!(calls.iter().filter(|calls| **calls == 2).count() >= 4, "{calls:?}");
    assert!(calls.iter().any(|calls| *calls > 2), "{calls:?}");
}

//! The cost of agents, as far as it is known.

use unstuck_core::policy::Amount;
use unstuck_testkit::stage::TestRepo;
use unstuck_world::agent::Usage;
use unstuck_world::provider::prices::Price;

use crate::build::build_project::{Set, Stage};
use crate::build::scripts::{Job, write};

const TOKENS: Usage = Usage {
    input_tokens: 1_000,
    output_tokens: 500,
    cached_tokens: 0,
    cache_written_tokens: 0,
    money_micros: None,
    unmeasured_calls: 0,
};
const PRICE: Price =
    Price { input: 2_000_000, output: 8_000_000, cached: 200_000, cache_written: 2_500_000 };

/// The cost of the build, and the remarks about it.
async fn cost(usage: Usage, price: Option<Price>) -> (Amount, Vec<String>) {
    let set = Set { usage: Some(usage), price, ..Set::default() };
    let job = Job::new("a", [&[write("made", "x\n")]]);
    let stage = Stage::with(set, TestRepo::with(&[]), vec![job]).await;
    stage.done().await;
    let spent = stage.look(|state| state.builds().next().unwrap().spent).await;
    (spent, stage.narrations().await)
}

#[tokio::test]
async fn tokens_have_their_price_where_it_is_known() {
    let (spent, said) = cost(TOKENS, Some(PRICE)).await;
    assert_eq!((spent.tokens, spent.money_micros), (1_500, 6_000));
    assert!(said.is_empty(), "{said:?}");
}

#[tokio::test]
async fn what_an_agent_says_it_cost_counts_whatever_the_list_says() {
    let told = Usage { money_micros: Some(7), ..TOKENS };
    let (spent, said) = cost(told, Some(PRICE)).await;
    assert_eq!((spent.tokens, spent.money_micros), (1_500, 7));
    assert!(said.is_empty(), "{said:?}");
}

#[tokio::test]
async fn an_unknown_cost_is_said_once_and_not_taken_for_free() {
    let set = Set { usage: Some(TOKENS), ..Set::default() };
    let jobs = ["a", "b"].map(|name| Job::new(name, [&[write(name, "x\n")]]));
    let stage = Stage::with(set, TestRepo::with(&[]), jobs.into()).await;
    stage.done().await;
    let spent = stage.look(|state| state.builds().next().unwrap().spent).await;
    assert_eq!((spent.tokens, spent.money_micros), (3_000, 0));
    let said = stage.narrations().await;
    let told = "What the agent costs is not known, and it does not count towards a limit in money.";
    assert_eq!(said.iter().filter(|line| line.contains("not known")).count(), 1, "{said:?}");
    assert!(said.iter().any(|line| line == told), "{said:?}");
}

//! The parts of the suite, one behavior each.

mod answers;
mod checkpoints;
mod journal;
mod outboxes;
mod rows;

pub use answers::{
    answers_are_taken_once, one_of_many_answers_wins, questions_come_back_as_they_were_asked,
    wrong_answers_are_refused,
};
pub use checkpoints::{
    a_conversation_is_written_with_its_progress_or_not_at_all,
    a_conversation_that_ends_with_its_progress_is_not_kept,
    a_conversation_that_is_over_is_not_kept, an_old_conversation_stays_while_its_task_lives,
    the_latest_conversation_survives,
};
pub use journal::{
    a_failed_batch_leaves_nothing_behind, a_held_project_is_refused_by_name,
    a_journal_is_read_in_pages, broken_snapshots_are_passed_over, followers_are_told,
    state_survives_deaths_and_ends, two_projects_do_not_meet, what_is_old_goes,
};
pub use outboxes::{
    a_channel_never_goes_back, a_new_channel_hears_what_is_new, how_far_a_channel_came_survives,
};
pub use rows::{
    a_session_and_its_requests_are_remembered, actions_are_remembered, costs_add_up,
    counters_are_saved_with_their_failure, runs_are_remembered, the_reasons_of_a_run_are_found,
    what_was_checked_is_remembered,
};

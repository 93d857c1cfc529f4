//! The project of a command: its folder, its store and its holder.

mod access;
mod connection;
mod folder;
mod notify;
pub(crate) mod once;
mod process;
mod session;
pub(crate) mod which;

pub(crate) use access::{
    CommandConnection, CommandEvents, EnclosingRun, current_holder, declarable_resources,
    submit_command, take_answers,
};
pub(crate) use connection::ProjectConnection;
pub(crate) use folder::{
    LocalProject, current_user, describe_holder, is_bare_repository, now, own_servers_folder,
    project_redactor, replace_file, replace_file_through, user_state_folder,
};
pub(crate) use notify::open_channels;
pub(crate) use process::{
    EndSignal, EndSignals, create_runtime, own_guard, refuse_inside_run, require_descriptors,
    sleep_until_some,
};
pub(crate) use session::{ProjectMessage, ProjectSession, leave_session, with_session};
pub(crate) use which::{find_task, find_tasks};

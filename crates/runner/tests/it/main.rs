//! The runner with real processes, real git and real stores.

mod agent;
mod build;
mod control;
mod event_loop;
mod notify;
mod repair;

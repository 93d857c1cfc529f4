//! `unstuck run` and `unstuck resume` as a person meets them: real worktrees, real commits, and
//! agents that follow a script.

mod asking;
mod attacks;
mod base_question;
mod choices;
mod codes;
mod config;
mod doors;
mod ending;
mod events;
mod honest;
mod killed;
mod live;
mod models;
mod network;
mod programs;
mod prompts;
mod pushing;
mod refused;
mod reverting;
mod secrets;
mod settings;
mod storm;
mod tasks;
mod telling;
mod together;
mod unwalled;
mod worktrees;

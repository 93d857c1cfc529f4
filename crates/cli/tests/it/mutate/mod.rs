//! `unstuck mutate`: an irreversible action is done once, also when a process dies
//! meanwhile.

mod inside;
mod killed;
mod lost;
mod outside;
mod torture;

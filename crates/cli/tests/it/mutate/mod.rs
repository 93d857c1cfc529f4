//! `unstuck mutate`: what cannot be taken back is done once, whoever dies meanwhile.

mod inside;
mod killed;
mod lost;
mod outside;
mod torture;

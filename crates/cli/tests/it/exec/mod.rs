//! `unstuck exec` as a script and a person meet it: real processes in real projects.

pub(crate) mod broken;
mod ending;
mod failing;
mod killed;
mod passing;
mod probing;
mod refused;
mod repairing;
mod storm;
mod together;

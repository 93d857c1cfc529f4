//! Agent programs: what they write, how they are run, and the real ones against a local service.

mod agents;
mod claude;
mod codex;
mod logins;
mod preflight;
mod programs;
mod suite;

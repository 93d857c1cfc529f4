//! The proxy as a client behind the wall meets it.

#![expect(
    clippy::unwrap_used,
    reason = "all of it is test code, which clippy sees in test functions only"
)]

mod refused;
mod stage;
mod through;

//! The proxy as a client behind the wall meets it.

mod proxy;
mod refused;
mod through;

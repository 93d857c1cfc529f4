//! Messages reach their receivers, by every way there is.

mod channels;
mod chats;
mod failing;
mod mail;
mod programs;
mod settings;
mod webhook;

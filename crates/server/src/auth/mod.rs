//! Authentication and authorization of requests. See docs/design/security.md.

mod book;
mod caller;
mod cookie;
mod door;
mod error;
mod failures;
mod headers;
#[cfg(test)]
mod house;
mod key;
mod link;
mod local_path;
mod login;
mod names;
mod private;
mod session;
mod spent;
mod token;
mod tokens;
mod visit;

pub use book::TokenEntry;
pub use caller::{Caller, Reach, Role};
pub use door::{Door, api, open, page};
pub use error::AccessError;
pub use headers::guarded;
pub use key::Key;
pub use link::{AnswererLink, ChoiceLink, LINK_LASTS_MAX, Link, LinkError};
pub use local_path::LocalPath;
pub use login::{Entered, Followed, Login, LoginForm, LoginPage};
pub use names::{Names, UnfitHost};
pub use token::{Token, TokenId};
pub use tokens::{NewToken, Tokens};
pub use visit::{Csrf, Peer, Visit};

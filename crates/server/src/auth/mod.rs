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
pub use caller::{AccessRole, Caller, ProjectVisibility};
pub use door::{Authenticator, guard_api, guard_pages, guard_public};
pub use error::AccessError;
pub use headers::add_security_headers;
pub use key::ServerSigningKey;
pub use link::{AnswererLink, ChoiceLink, LINK_LASTS_MAX, LinkError, SignedLink};
pub use local_path::LocalPath;
pub use login::{LoginForm, LoginOutcome, LoginPage, OpenedLoginSession, SignedLinkTarget};
pub use names::{AllowedHosts, InvalidPublicHost};
pub use token::{AccessToken, TokenId};
pub use tokens::{AccessTokenStore, NewToken};
pub use visit::{AuthRequestContext, CsrfToken, RequestPeer};

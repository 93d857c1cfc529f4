//! Authentication and authorization of requests. See docs/design/security.md.

mod allowed_hosts;
mod authenticator;
mod caller;
mod error;
mod failures;
mod key;
mod link;
mod local_path;
mod login;
mod private;
mod request_context;
mod session;
#[cfg(test)]
mod test_server;
mod token;
mod token_store;
mod used_ids;

pub use allowed_hosts::{AllowedHosts, InvalidPublicHost};
pub use authenticator::{Authenticator, guard_api, guard_pages, guard_public};
pub use caller::{AccessRole, Caller, ProjectVisibility, TokenId};
pub use error::AccessError;
pub use key::ServerSigningKey;
pub use link::{AnswererLink, ChoiceLink, LINK_LASTS_MAX, LinkError, SignedLink};
pub use local_path::LocalPath;
pub use login::{LoginForm, LoginOutcome, LoginPage, OpenedLoginSession, SignedLinkTarget};
pub use request_context::{AuthRequestContext, CsrfToken, RequestPeer};
pub use token::{AccessToken, TokenEntry};
pub use token_store::{AccessTokenStore, NewToken};

//! The data of a request besides its caller: where it came from, its credentials and its CSRF token.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};

use super::caller::{AccessRole, Caller};
use super::session::LoginSession;
use crate::problem::Problem;

/// Maximum size of a form, in bytes.
pub(super) const FORM_BYTES_MAX: usize = 256 * 1024;

/// The remote address of a connection. The listener adds it to each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPeer(pub IpAddr);

/// A request that has passed the access check.
#[derive(Clone, Debug)]
pub struct AuthRequestContext {
    /// The address of the client, as far as it is known.
    pub(super) from: Option<IpAddr>,
    /// `true` if the request came by TLS, as a trusted proxy says.
    pub(super) secure: bool,
    /// `true` for a HEAD request or a prefetch, which must not use anything up.
    pub(super) is_prefetch: bool,
    /// The session that the request belongs to.
    pub(super) session: Option<LoginSession>,
}

impl AuthRequestContext {
    /// Reads the data of a request. Headers of a proxy count only if there is one: any other client
    /// could write them too.
    pub(super) fn from_parts(parts: &Parts, behind_proxy: bool) -> Self {
        let headers = &parts.headers;
        let peer = parts.extensions.get::<RequestPeer>().map(|peer| peer.0);
        let from = if behind_proxy { forwarded_for(headers) } else { peer };
        let is = |name: &str, value: &str| {
            let found = headers.get(name).and_then(|found| found.to_str().ok());
            found.is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
        };
        Self {
            from,
            secure: behind_proxy && is("x-forwarded-proto", "https"),
            is_prefetch: parts.method == Method::HEAD
                || ["sec-purpose", "purpose", "x-moz"]
                    .iter()
                    .any(|name| headers.contains_key(*name)),
            session: None,
        }
    }
}

/// Returns the address that the proxy got the request from: the last one, which the proxy wrote
/// itself.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").into_iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().parse().ok()
}

/// Returns the bearer token of a request. Other schemes are for a proxy in front.
pub(super) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, rest) = value.split_once(' ').unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case("bearer").then_some(rest)
}

pub(super) fn accepts_html(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// Returns the CSRF field of a form, and the request unchanged. The value is hexadecimal, so it
/// needs no decoding.
pub(super) async fn read_csrf_field(
    request: Request,
) -> Result<(Request, Option<String>), Problem> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        return Ok((request, None));
    }
    let (parts, body) = request.into_parts();
    let form = to_bytes(body, FORM_BYTES_MAX).await.map_err(|_| {
        let detail = format!("this form broke off, or is larger than {FORM_BYTES_MAX} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail).with_hint("say it in fewer words")
    })?;
    let mut fields = form.split(|byte| *byte == b'&');
    let csrf = fields.find_map(|field| field.strip_prefix(b"csrf="));
    let csrf = csrf.map(|csrf| String::from_utf8_lossy(csrf).into_owned());
    Ok((Request::from_parts(parts, Body::from(form)), csrf))
}

/// The CSRF token for the forms of a page; empty without a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsrfToken(pub(super) String);

impl CsrfToken {
    /// Returns the value for the field `csrf` of a form, or for the header `x-csrf`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Caller {
    /// Returns a problem for the caller if it does not have this role.
    pub fn require_role(&self, role: AccessRole) -> Result<(), Problem> {
        if self.has_role(role) {
            return Ok(());
        }
        let detail = format!("this takes the role {role}, and {} has {}", self.name, self.role);
        let hint = format!(
            "the operator of this server can give it: `unstuck token make --role {role} --name NAME`"
        );
        Err(Problem::new(StatusCode::FORBIDDEN, detail).with_hint(hint))
    }
}

/// Returns what the access check has found out. A route without the check stays closed.
fn require_extension<T: Clone + Send + Sync + 'static>(parts: &Parts) -> Result<T, Problem> {
    let found = parts.extensions.get::<T>().cloned();
    found.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, "there is no valid session here"))
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        require_extension(parts)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}

impl<S: Sync> FromRequestParts<S> for AuthRequestContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        require_extension(parts)
    }
}

impl<S: Sync> FromRequestParts<S> for CsrfToken {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::super::caller::ProjectVisibility;
    use super::*;

    const ROLES: [AccessRole; 3] = [AccessRole::Answerer, AccessRole::Viewer, AccessRole::Operator];

    fn caller(role: AccessRole, reach: ProjectVisibility) -> Caller {
        Caller { name: "ada".into(), role, reach }
    }

    #[test]
    fn each_role_may_do_what_those_before_it_may_whatever_it_sees() {
        let only = |names: &[&str]| {
            ProjectVisibility::Only(names.iter().map(|name| (*name).into()).collect())
        };
        let reaches = [
            (ProjectVisibility::All, [true, true]),
            (only(&["shop"]), [true, false]),
            (only(&["shop", "bank"]), [true, true]),
            (only(&[]), [false, false]),
        ];
        for (has, role) in ROLES.into_iter().enumerate() {
            for (reach, sees) in &reaches {
                let caller = caller(role, reach.clone());
                assert_eq!([caller.can_see("shop"), caller.can_see("bank")], *sees, "{caller:?}");
                assert!(!caller.can_see("SHOP") || *reach == ProjectVisibility::All);
                for (needs, needed) in ROLES.into_iter().enumerate() {
                    let expected = has >= needs;
                    assert_eq!(caller.has_role(needed), expected, "{role} {needed}");
                    assert_eq!(caller.require_role(needed).is_ok(), expected, "{role} {needed}");
                }
            }
        }
    }

    #[test]
    fn who_may_not_is_told_what_it_takes_and_who_can_give_it() {
        let problem = caller(AccessRole::Viewer, ProjectVisibility::All)
            .require_role(AccessRole::Operator)
            .unwrap_err();
        assert_eq!(problem.status(), 403);
        assert_eq!(problem.detail(), "this takes the role operator, and ada has viewer");
        let hint = problem.next_step().unwrap();
        assert!(hint.contains("`unstuck token make --role operator --name NAME`"), "{hint}");
    }

    fn visit(headers: &[(&str, &str)], behind_proxy: bool) -> AuthRequestContext {
        let mut request = Request::get("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.extension(RequestPeer([10, 0, 0, 1].into())).body(()).unwrap();
        AuthRequestContext::from_parts(&request.into_parts().0, behind_proxy)
    }

    #[test]
    fn what_a_proxy_says_counts_only_where_there_is_one() {
        let headers = [("x-forwarded-proto", "https"), ("x-forwarded-for", "1.2.3.4, 5.6.7.8")];
        let direct = visit(&headers, false);
        assert_eq!((direct.from, direct.secure), (Some([10, 0, 0, 1].into()), false));
        let proxied = visit(&headers, true);
        assert_eq!((proxied.from, proxied.secure), (Some([5, 6, 7, 8].into()), true));
        let plain = visit(&[("x-forwarded-proto", "http"), ("x-forwarded-for", "me")], true);
        assert_eq!((plain.from, plain.secure), (None, false));
    }

    #[test]
    fn a_browser_that_only_looks_ahead_is_known() {
        assert!(visit(&[("sec-purpose", "prefetch;prerender")], false).is_prefetch);
        assert!(visit(&[("purpose", "prefetch")], false).is_prefetch);
        assert!(!visit(&[], false).is_prefetch);
        let head = Request::head("/").body(()).unwrap().into_parts().0;
        assert!(AuthRequestContext::from_parts(&head, false).is_prefetch);
    }
}

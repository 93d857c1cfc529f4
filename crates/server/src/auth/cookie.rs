//! The session cookie.

use axum::http::{HeaderMap, HeaderValue, header};
use unstuck_core::time::Time;

const COOKIE_NAME: &str = "unstuck_session";
/// Maximum number of cookies of that name that are read.
const SAME_NAME_MAX: usize = 8;

/// Returns the values of the session cookie in a request. There may be several: other servers of
/// the same machine share the cookies of a browser, regardless of the port.
pub(super) fn read_session_cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    let pairs = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
    let named = pairs.filter_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='));
    named.take(SAME_NAME_MAX)
}

/// Returns the header that sets the cookie.
pub(super) fn set_session_cookie(
    sealed: &str,
    until: Time,
    now: Time,
    secure: bool,
) -> Option<HeaderValue> {
    let seconds = until.since(now).as_millis() / 1_000;
    format_cookie(&format!("{COOKIE_NAME}={sealed}; Max-Age={seconds}"), secure)
}

/// Returns the header that clears the cookie.
pub(super) fn clear_session_cookie(secure: bool) -> Option<HeaderValue> {
    format_cookie(&format!("{COOKIE_NAME}=; Max-Age=0"), secure)
}

/// Formats the header: scripts cannot read the cookie, other sites cannot send it, and it is not
/// sent over a plain connection if the server is behind TLS.
fn format_cookie(pair: &str, secure: bool) -> Option<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    let mut value =
        HeaderValue::from_str(&format!("{pair}; Path=/; HttpOnly; SameSite=Lax{secure}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unstuck_core::time::Span;

    use super::*;

    fn read(lines: &[&str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::COOKIE, HeaderValue::from_str(line).unwrap());
        }
        read_session_cookies(&headers).map(str::to_owned).collect()
    }

    #[test]
    fn it_is_found_among_others() {
        assert_eq!(read(&["unstuck_session=a.b"]), ["a.b"]);
        assert_eq!(read(&["x=1; unstuck_session=a; y=2"]), ["a"]);
        assert_eq!(read(&["x=1;unstuck_session=a", "unstuck_session=b"]), ["a", "b"]);
        assert_eq!(read(&["unstuck_session", "xunstuck_session=a", "unstuck_sessions=a"]), [""; 0]);
        assert_eq!(read(&[&"unstuck_session=a;".repeat(50)]).len(), SAME_NAME_MAX);
    }

    #[test]
    fn it_is_kept_from_scripts_and_other_sites() {
        let now = Time::from_millis(5_000);
        let value = set_session_cookie("a.b", now + Span::from_secs(90), now, false).unwrap();
        let said = "unstuck_session=a.b; Max-Age=90; Path=/; HttpOnly; SameSite=Lax";
        assert_eq!(value.to_str().unwrap(), said);
        assert!(value.is_sensitive());
        let value = set_session_cookie("a.b", now, now, true).unwrap();
        assert!(value.to_str().unwrap().ends_with("; SameSite=Lax; Secure"));
        assert!(
            clear_session_cookie(false)
                .unwrap()
                .to_str()
                .unwrap()
                .contains("unstuck_session=; Max-Age=0;")
        );
    }

    proptest! {
        #[test]
        fn no_header_makes_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let headers = HeaderMap::from_iter([(header::COOKIE, value)]);
                prop_assert!(read_session_cookies(&headers).count() <= SAME_NAME_MAX);
            }
        }
    }
}

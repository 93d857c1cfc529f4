//! Security headers of every response: browsers load nothing from elsewhere, show it in no frame,
//! and keep no copy.

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::middleware::Next;
use axum::response::Response;

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // No other site learns an address of this server. With `no-referrer`, browsers would also hide
    // from this server where its own forms come from.
    (REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the headers to every response.
pub async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    set_security_headers(response.headers_mut());
    response
}

fn set_security_headers(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Only resources that never change under their name may be cached.
    let kept = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok());
    if !kept.is_some_and(|kept| kept.contains("immutable")) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn headers(path: &str) -> HeaderMap {
        let asset = [(CACHE_CONTROL, "public, max-age=31536000, immutable")];
        let stream = [(CACHE_CONTROL, "no-cache"), (CONTENT_SECURITY_POLICY, "default-src *")];
        let router = Router::new()
            .route("/asset", get(move || async move { asset }))
            .route("/stream", get(move || async move { stream }))
            .layer(axum::middleware::from_fn(add_security_headers));
        let request = Request::get(path).body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().headers().clone()
    }

    #[tokio::test]
    async fn everything_that_is_answered_carries_them() {
        for path in ["/asset", "/stream", "/nothing-there"] {
            let headers = headers(path).await;
            for (name, value) in HEADERS {
                assert_eq!(headers[&name], value, "{path} {name}");
            }
            let kept = path == "/asset";
            assert_eq!(headers[CACHE_CONTROL] == "no-store", !kept, "{path}");
            let mut names = headers.keys();
            assert!(!names.any(|name| name.as_str().starts_with("access-control")), "{path}");
        }
    }
}

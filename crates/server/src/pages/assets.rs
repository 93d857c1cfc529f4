//! The few files that pages load: one style sheet, one script, one picture. Their names change with
//! their content, so that a browser may keep them forever.

use std::sync::OnceLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::api::SharedServerState;

const STYLE: &str = include_str!("../../assets/style.css");
const SCRIPT: &str = include_str!("../../assets/live.js");
const ICON: &str = include_str!("../../assets/icon.svg");

pub(super) fn asset_routes() -> Router<SharedServerState> {
    Router::new().route("/assets/{name}", get(serve_asset))
}

/// Returns the file name of the style sheet.
pub(super) fn style_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| hashed_name("style", STYLE, "css"))
}

/// Returns the file name of the script.
pub(super) fn script_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| hashed_name("live", SCRIPT, "js"))
}

fn hashed_name(name: &str, content: &str, ending: &str) -> String {
    format!("{name}-{}.{ending}", &blake3::hash(content.as_bytes()).to_hex()[..10])
}

async fn serve_asset(Path(name): Path<String>) -> Response {
    let (content, kind, forever) = match name.as_str() {
        known if known == style_name() => (STYLE, "text/css; charset=utf-8", true),
        known if known == script_name() => (SCRIPT, "text/javascript; charset=utf-8", true),
        "icon.svg" => (ICON, "image/svg+xml", false),
        _ => return (StatusCode::NOT_FOUND, "There is nothing here.\n").into_response(),
    };
    let kept =
        if forever { "public, max-age=31536000, immutable" } else { "public, max-age=86400" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
    ];
    (headers, content).into_response()
}

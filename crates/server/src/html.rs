//! The rendering of pages, the page of an error, and the few files that pages load: one style sheet, one
//! script, one picture. Their names change with their content, so that a browser may keep them forever.

use std::sync::OnceLock;

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;

use crate::problem::Problem;

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/live.js");
const ICON: &str = include_str!("../assets/icon.svg");

pub(crate) fn asset_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/assets/{name}", get(serve_asset))
}

pub(crate) fn style_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| hashed_name("style", STYLE, "css"))
}

pub(crate) fn script_name() -> &'static str {
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

pub(crate) fn render_page(template: &impl Template) -> Response {
    render_page_with_status(StatusCode::OK, template)
}

pub(crate) fn render_page_with_status(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            (StatusCode::INTERNAL_SERVER_ERROR, "This page could not be made.\n").into_response()
        }
    }
}

#[derive(Template)]
#[template(path = "fail.html")]
struct RequestErrorPage {
    title: &'static str,
    detail: String,
    style: &'static str,
}

/// Renders a page with a problem.
pub(crate) fn render_error(problem: &Problem) -> Response {
    let title = match problem.status() {
        404 => "There is nothing here",
        403 => "That is not for you to do",
        409 => "Not now",
        410 => "That is settled",
        429 => "Too many tries",
        503 => "Not just now",
        _ => "That did not work",
    };
    let page = RequestErrorPage { title, detail: problem.to_sentences(), style: style_name() };
    render_page_with_status(problem.status_code(), &page)
}

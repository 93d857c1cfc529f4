use axum::http::Request;
use axum::http::header::LOCATION;
use unstuck_core::engine::QuestionId;
use unstuck_core::question::Decision;
use unstuck_core::time::Span;
use unstuck_runner::Clock as _;

use super::super::house::House;
use super::super::link::SignedLink;
use super::*;

const DAY: Span = Span::from_hours(24);

#[tokio::test]
async fn with_a_token_one_is_in_and_goes_on_where_one_wanted_to() {
    let house = House::new();
    for (next, to) in [("", "/"), ("&next=/it?a=1", "/it?a=1"), ("&next=//evil.example", "/")] {
        let form = format!("token={}{next}", house.token.as_str());
        let answer = house.post("/login", &[], &form).await;
        assert_eq!((answer.status, answer.header(LOCATION)), (303, to), "{next}");
        let cookie = answer.header(SET_COOKIE);
        assert!(cookie.contains("; Max-Age=43200; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
        assert!(!cookie.contains("Secure") && !cookie.contains(house.token.as_str()), "{cookie}");
    }
}

#[tokio::test]
async fn without_a_good_token_one_is_not_in() {
    let house = House::new();
    for form in ["", "token=", "token=ust_x", "next=/it"] {
        let answer = house.post("/login", &[], form).await;
        assert_eq!((answer.status, answer.cookie()), (401, None), "{form}");
    }
}

#[tokio::test]
async fn the_page_is_for_those_who_are_not_in() {
    let house = House::new();
    assert_eq!(house.get("/login", &[]).await.text, "/it");
    let cookie = house.session().await;
    let answer = house.get("/login", &[("cookie", &cookie)]).await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/it"));
    // Another user may log in over it.
    let form = format!("token={}", house.token.as_str());
    assert_eq!(house.post("/login", &[("cookie", &cookie)], &form).await.status, 303);
}

#[tokio::test]
async fn behind_tls_the_cookie_stays_there() {
    let house = House::with(Authenticator::behind_proxy);
    let form = format!("token={}", house.token.as_str());
    for (proto, secure) in [("https", true), ("http", false)] {
        let answer = house.post("/login", &[("x-forwarded-proto", proto)], &form).await;
        assert_eq!(answer.header(SET_COOKIE).ends_with("; Secure"), secure, "{proto}");
    }
    let direct = House::new();
    let form = format!("token={}", direct.token.as_str());
    let answer = direct.post("/login", &[("x-forwarded-proto", "https")], &form).await;
    assert!(!answer.header(SET_COOKIE).contains("Secure"));
}

#[tokio::test]
async fn logging_out_ends_the_session_for_every_copy_of_its_cookie() {
    let house = House::new();
    let cookie = house.session().await;
    let other = house.session().await;
    let csrf = house.get("/it", &[("cookie", &cookie)]).await.text;
    let csrf = csrf.split('|').nth(1).unwrap();
    // Another site cannot log the user out.
    assert_eq!(house.post("/logout", &[("cookie", &cookie)], "").await.status, 403);
    house.later(Span::from_hours(7));
    let renewed = house.get("/it", &[("cookie", &cookie)]).await.cookie().unwrap();
    let answer = house.post("/logout", &[("cookie", &cookie)], &format!("csrf={csrf}")).await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/login"));
    assert_eq!(answer.headers.get_all(SET_COOKIE).iter().count(), 1);
    assert!(answer.header(SET_COOKIE).contains("Max-Age=0"));
    for over in [&cookie, &renewed] {
        assert_eq!(house.get("/it", &[("cookie", over)]).await.status, 303);
    }
    assert_eq!(house.get("/it", &[("cookie", &other)]).await.status, 200);
    house.later(Span::from_hours(11));
    assert_eq!(house.get("/it", &[("cookie", &renewed)]).await.status, 303);
}

#[tokio::test]
async fn the_link_that_is_printed_lets_in_once() {
    let house = House::new();
    let path = house.door.entry_path().unwrap().unwrap();
    // Programs and browsers that prefetch do not use it up.
    let head = Request::head(&path).header("host", "localhost").body(axum::body::Body::empty());
    assert_eq!(house.send(head.unwrap()).await.status, 503);
    assert_eq!(house.get(&path, &[("sec-purpose", "prefetch")]).await.status, 503);

    let answer = house.get(&path, &[]).await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/"));
    let cookie = answer.cookie().unwrap();
    assert!(house.get("/it", &[("cookie", &cookie)]).await.text.starts_with("ada operator|"));
    let again = house.get(&path, &[]).await;
    assert_eq!((again.status, again.cookie()), (410, None));

    let late = house.door.entry_path().unwrap().unwrap();
    house.later(Span::from_mins(5));
    assert_eq!(house.get(&late, &[]).await.status, 410);
}

#[tokio::test]
async fn the_link_that_is_printed_is_worth_nothing_without_its_token() {
    let house = House::new();
    let path = house.door.entry_path().unwrap().unwrap();
    house.door.tokens.revoke_token(TokenId(1)).unwrap();
    assert_eq!(house.get(&path, &[]).await.status, 401);
    assert_eq!(house.door.entry_path().unwrap(), None);
}

#[tokio::test]
async fn a_link_to_questions_opens_a_small_session_until_it_ends() {
    let house = House::new();
    let link =
        SignedLink::for_answerer("phone", "shop", DAY, house.clock.now()).seal(house.door.key());
    let answer = house.get(&format!("/link/{link}"), &[]).await;
    assert_eq!((answer.status, answer.header(LOCATION)), (303, "/p/shop"));
    let cookie = answer.cookie().unwrap();
    let page = house.get("/it", &[("cookie", &cookie)]).await;
    assert!(page.text.starts_with("phone answerer|"), "{}", page.text);
    // It can be followed again, for example after a program that scanned the message.
    assert_eq!(house.get(&format!("/link/{link}"), &[]).await.status, 303);
    house.later(Span::from_hours(11));
    let renewed = house.get("/it", &[("cookie", &cookie)]).await.cookie().unwrap();
    house.later(Span::from_hours(13));
    assert_eq!(house.get("/it", &[("cookie", &renewed)]).await.status, 303);
    assert_eq!(house.get(&format!("/link/{link}"), &[]).await.status, 410);
}

#[tokio::test]
async fn a_link_to_questions_takes_nothing_from_a_session() {
    let house = House::new();
    let cookie = house.session().await;
    let follow = |project: &str| {
        let link = SignedLink::for_answerer("phone", project, DAY, house.clock.now());
        format!("/link/{}", link.seal(house.door.key()))
    };
    let answer = house.get(&follow("shop"), &[("cookie", &cookie)]).await;
    assert_eq!((answer.status, answer.cookie()), (303, None));
    // A session for one project is replaced by one for another.
    let shop = house.get(&follow("shop"), &[]).await.cookie().unwrap();
    assert!(house.get(&follow("bank"), &[("cookie", &shop)]).await.cookie().is_some());
}

#[tokio::test]
async fn a_link_to_an_answer_opens_nothing() {
    let house = House::new();
    let now = house.clock.now();
    let link =
        SignedLink::for_choice("phone", "shop", QuestionId(3), Decision::AllowOnce, DAY, now);
    let answer = house.get(&format!("/link/{}", link.seal(house.door.key())), &[]).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "q3 AllowOnce"));
    assert_eq!(answer.cookie(), None);
}

#[tokio::test]
async fn a_link_of_one_kind_does_not_do_for_another() {
    let house = House::new();
    let entry = house.door.entry_path().unwrap().unwrap().replace("/enter/", "/link/");
    assert_eq!(house.get(&entry, &[]).await.status, 404);
    let link =
        SignedLink::for_answerer("phone", "shop", DAY, house.clock.now()).seal(house.door.key());
    assert_eq!(house.get(&format!("/enter/{link}"), &[]).await.status, 404);
    let cookie = house.session().await;
    let (_, value) = cookie.split_once('=').unwrap();
    for path in ["/link/", "/enter/"] {
        assert_eq!(house.get(&format!("{path}{value}"), &[]).await.status, 404);
    }
    let as_cookie = format!("unstuck_session={link}");
    assert_eq!(house.get("/it", &[("cookie", &as_cookie)]).await.status, 303);
    let csrf = house.get("/it", &[("cookie", &cookie)]).await.text;
    let csrf = csrf.split('|').nth(1).unwrap();
    assert_eq!(house.get(&format!("/link/{csrf}"), &[]).await.status, 404);
}

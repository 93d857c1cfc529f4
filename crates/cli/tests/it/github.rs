//! The part of GitHub's API that pull requests need, on a local port: one pull request per pair of
//! branches, however often it is asked for.

use std::sync::{Arc, Mutex, mpsc};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use unstuck_testkit::stage::{HttpService, SeenRequest, ServiceReply};

use crate::project::outside;

/// What it does with a request to open one.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mood {
    /// Opens it and says so.
    Well,
    /// Opens it, and the connection breaks.
    LosesTheAnswer,
    /// Opens the first one and says nothing.
    FallsSilentOnce,
    /// Does not know the token.
    Refuses,
}

pub(crate) struct Github {
    service: HttpService,
    pulls: Arc<Mutex<Vec<Value>>>,
    opened: mpsc::Receiver<()>,
    _outside: Runtime,
}

impl Github {
    pub(crate) fn start(mood: Mood) -> Self {
        let (outside, pulls) = (outside(), Arc::<Mutex<Vec<Value>>>::default());
        let (told, opened) = mpsc::channel();
        let there = Arc::clone(&pulls);
        let rule = move |asked: &SeenRequest, before: &[SeenRequest]| {
            let mut pulls = there.lock().unwrap();
            if mood == Mood::Refuses {
                return ServiceReply::Json(401, json!({"message": "Bad credentials"}));
            }
            if asked.method != "POST" {
                return ServiceReply::Json(200, json!(*pulls));
            }
            let (status, answer) = open(&mut pulls, &serde_json::from_str(&asked.body).unwrap());
            if status == 201 {
                let _ = told.send(());
            }
            match mood {
                Mood::LosesTheAnswer => ServiceReply::Cut,
                Mood::FallsSilentOnce if before.iter().all(|seen| seen.method != "POST") => {
                    ServiceReply::Silence
                }
                _ => ServiceReply::Json(status, answer),
            }
        };
        let service = outside.block_on(HttpService::start(rule));
        Self { service, pulls, opened, _outside: outside }
    }

    pub(crate) fn url(&self) -> String {
        self.service.url("")
    }

    /// Waits until another one was opened.
    pub(crate) fn hear(&self) {
        self.opened.recv().unwrap();
    }

    /// The pull requests there are.
    pub(crate) fn pulls(&self) -> Vec<Value> {
        self.pulls.lock().unwrap().clone()
    }

    /// How often it was asked with this method.
    pub(crate) fn asked(&self, method: &str) -> usize {
        self.service.seen_requests(method).len()
    }

    pub(crate) fn tokens(&self) -> Vec<String> {
        let all = ["GET", "POST"].map(|method| self.service.seen_requests(method)).concat();
        all.iter().filter_map(|seen| seen.headers.get("authorization").cloned()).collect()
    }
}

fn open(pulls: &mut Vec<Value>, wanted: &Value) -> (u16, Value) {
    let same = |pull: &&Value| pull["head"] == wanted["head"] && pull["base"] == wanted["base"];
    if pulls.iter().find(same).is_some() {
        return (422, json!({"message": "Validation Failed"}));
    }
    let mut pull = wanted.clone();
    let number = pulls.len() + 1;
    pull["html_url"] = json!(format!("https://git.example/ada/shop/pull/{number}"));
    pulls.push(pull.clone());
    (201, pull)
}

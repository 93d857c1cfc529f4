//! Programs that are run for a message.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use unstuck_testkit::stage::write_program;
use unstuck_world::notify::DeliveryError;

use crate::notify::channels::{NOW, channel_in, indiscreet, message};

fn program(folder: &Path, name: &str, script: &str) {
    write_program(&folder.join(name), script);
}

// T4.26
#[tokio::test]
async fn a_command_gets_the_message_as_json_and_as_variables() {
    let folder = tempfile::tempdir().unwrap();
    let line = "cat > said; printf '%s|%s|%s|%s|%s' \"$UNSTUCK_DELIVERY\" \"$UNSTUCK_CATEGORY\" \
                \"$UNSTUCK_CODE\" \"$UNSTUCK_QUESTION\" \"$UNSTUCK_TITLE\" > named";
    program(folder.path(), "tell", line);
    let run = folder.path().join("tell");
    let channel = channel_in(&format!("kind='command'\nrun=['{}']", run.display()), folder.path());
    channel.deliver(&message(), NOW).await.unwrap();
    let said: Value =
        serde_json::from_slice(&fs::read(folder.path().join("said")).unwrap()).unwrap();
    assert_eq!(said["id"], json!("shop-12-1700000000123"));
    assert_eq!(
        (&said["category"], &said["code"]),
        (&json!("timeout"), &json!("OPERATION_TIMEOUT"))
    );
    let named = fs::read_to_string(folder.path().join("named")).unwrap();
    let title = "[TIMEOUT] Your answer is needed in “shop”";
    assert_eq!(named, format!("shop-12-1700000000123|timeout|OPERATION_TIMEOUT|q3|{title}"));
    // TX16, B9
    channel.deliver(&indiscreet(), NOW).await.unwrap();
    let said = fs::read_to_string(folder.path().join("said")).unwrap();
    assert!(said.contains("[redacted]") && !said.contains("swordfish"), "{said}");
}

#[tokio::test]
async fn a_command_that_fails_is_tried_later_and_one_that_is_not_there_never() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "refuse", "exit 7");
    program(folder.path(), "sleep-on", "exec sleep 600");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let deliver = async |toml: String| {
        channel_in(&toml, folder.path()).deliver(&message(), NOW).await.unwrap_err()
    };
    let refused = deliver(format!("kind='command'\nrun=['{}']", at("refuse"))).await;
    assert!(matches!(&refused, DeliveryError::Later { why, .. } if why.ends_with("ended with 7")));
    let slow = deliver(format!("kind='command'\nrun=['{}']\ntimeout_ms=50", at("sleep-on"))).await;
    assert!(matches!(&slow, DeliveryError::Later { why, .. } if why.contains("took longer")));
    let absent = deliver(format!("kind='command'\nrun=['{}']", at("absent"))).await;
    assert!(matches!(&absent, DeliveryError::Never { why } if why.ends_with("cannot be started")));
}

// T4.26
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_desktop_shows_it_where_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let absent = channel_in("kind='desktop'", folder.path()).deliver(&message(), NOW).await;
    let why = "notify-send is not installed".to_owned();
    assert_eq!(absent, Err(DeliveryError::Never { why }));
    program(folder.path(), "notify-send", "for word; do printf '%s\\n' \"$word\"; done > shown");
    channel_in("kind='desktop'", folder.path()).deliver(&message(), NOW).await.unwrap();
    let shown = fs::read_to_string(folder.path().join("shown")).unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[2], "[TIMEOUT] Your answer is needed in “shop”");
    assert!(lines[3].starts_with("I was working on “Payment webhook”."), "{shown}");
    assert_eq!(lines.last(), Some(&"(OPERATION_TIMEOUT)"));
}

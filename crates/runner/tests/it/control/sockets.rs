//! The file the socket is.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use unstuck_runner::control::ControlClient;
use unstuck_store::MemoryStore;

use crate::control::holder::{Stage, define};

#[tokio::test]
async fn it_is_its_users_alone() {
    let stage = Stage::new().await;
    assert_eq!(fs::metadata(&stage.socket).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_deep_folder_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a".repeat(100)).join("b".repeat(100));
    fs::create_dir_all(&deep).unwrap();
    let socket = deep.join("control.sock");
    let stage = Stage::at(MemoryStore::new(), Arc::new(folder), socket).await;
    define(&stage.client().await, "nightly").await;
}

#[tokio::test]
async fn a_dead_holders_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(ControlClient::connect(&socket, None).await.is_err());
    let stage = Stage::at(MemoryStore::new(), Arc::new(folder), socket).await;
    define(&stage.client().await, "nightly").await;
}

// A holder that ends late must not take away the socket of the next holder.
#[tokio::test]
async fn the_next_holder_is_not_cut_off() {
    let stage = Stage::new().await.ended().await;
    define(&stage.client().await, "nightly").await;
}

// A backlog of connections that the holder does not take: the process is stopped.
#[tokio::test(start_paused = true)]
async fn a_holder_that_says_nothing_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let _silent = UnixListener::bind(&socket).unwrap();
    let refused = ControlClient::connect(&socket, None).await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::TimedOut);
}

//! What agents and checks reach on the network: on the program itself.

use std::net::TcpListener;

use unstuck_core::engine::Event;
use unstuck_world::process::Layers;

use super::stage::Stage;

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

// B53: an agent and the checks reach nothing that the settings do not name
#[test]
fn agents_and_checks_do_not_reach_what_listens_on_this_machine() {
    let stage = Stage::new();
    let (listener, port) = listen();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo got out");
    stage.write("connect.sh", &connect);
    stage.write("check.sh", "bash connect.sh\ntest -f work/a.txt\n");
    let run = r#"{run = "mkdir -p work; bash connect.sh > work/a.txt; echo fine >> work/a.txt"}"#;
    stage.agent("write-a", &[run]);
    stage.commit();
    let ran = stage.run(&["run", "write a"]);
    assert_eq!(ran.exit, 0, "{ran}");
    let enclosed = Layers::here().bubblewrap.is_some();
    let got_out = stage.on_branch("unstuck/b0", "work/a.txt").contains("got out");
    assert!(!(enclosed && got_out));
    // Only a namespace leaves a check its own loopback, so that without one it keeps the network.
    assert_eq!(listener.accept().is_err(), enclosed);
}

// B53: what the proxy refuses is in the log, with the host and how often
#[test]
fn a_host_that_is_refused_is_in_the_log() {
    let stage = Stage::new();
    let ask = r#"p=${HTTPS_PROXY##*:}; for i in 1 2; do bash -c "exec 3<>/dev/tcp/127.0.0.1/${p%/}; printf 'CONNECT evil.example:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; head -n 1 <&3"; done"#;
    stage.write("ask.sh", ask);
    let run = r#"{run = "mkdir -p work && sh ask.sh > work/a.txt 2>&1"}"#;
    stage.agent("write-a", &[run]);
    stage.commit();
    let ran = stage.run(&["run", "write a"]);
    assert_eq!(ran.exit, 0, "{ran}");
    let said = stage.on_branch("unstuck/b0", "work/a.txt");
    if said.contains("407") {
        // Without a network namespace the proxy is on this machine's loopback and wants a credential.
        return;
    }
    assert!(said.contains("403 Refused by Unstuck"), "{said}");
    let refused = |event: &Event| matches!(event, Event::Refused { what, .. } if &**what == "connect to evil.example:443 (2 times)");
    assert_eq!(stage.count(refused), 1);
}

// B53: an action that a rule allows reaches the hosts of that rule
#[test]
fn an_allowed_action_reaches_the_hosts_of_its_rule_and_no_others() {
    let stage = Stage::new();
    let ((named, port), (other, elsewhere)) = (listen(), listen());
    stage.write(
        "reach.sh",
        &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && bash -c 'exec 3<>/dev/tcp/127.0.0.1/{elsewhere}'; true\n"),
    );
    let own = env!("CARGO_BIN_EXE_unstuck");
    stage.write("out.sh", "exec \"$1\" mutate --key out -- sh reach.sh\n");
    let out = format!(r#"{{run = "sh out.sh {own}"}}, {{write = "work/a.txt", text = "fine\n"}}"#);
    stage.agent("write-a", &[&out]);
    stage.set(&format!(
        "\n[[actions.allowed]]\ncommand = \"sh reach.sh\"\nhosts = [\"127.0.0.1:{port}\"]\n"
    ));
    let ran = stage.run(&["run", "write a"]);
    assert_eq!(ran.exit, 0, "{ran}");
    assert!(named.accept().is_ok());
    assert!(other.accept().is_err());
}

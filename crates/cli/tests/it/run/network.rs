//! What agents and checks reach on the network: on the program itself.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;

use unstuck_core::engine::Event;
use unstuck_testkit::stage::RunningProgram;
use unstuck_world::process::WallLayers;

use crate::program::ran;
use crate::project::Project;

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

// B53: an agent and the checks reach nothing that the settings do not name
#[test]
fn agents_and_checks_do_not_reach_what_listens_on_this_machine() {
    let stage = Project::with_agents();
    let (listener, port) = listen();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo got out");
    stage.write("connect.sh", &connect);
    stage.write("check.sh", "bash connect.sh 2>/dev/null\ntest -f work/a.txt\n");
    let run = r#"{run = "mkdir -p work; bash connect.sh > work/a.txt; echo fine >> work/a.txt"}"#;
    stage.agent("write-a", &[run]);
    stage.commit();
    stage.run(&["run", "write a"]).exits(0);
    let enclosed = WallLayers::detect().bubblewrap.is_some();
    let got_out = stage.on_branch("unstuck/b0", "work/a.txt").contains("got out");
    assert!(!(enclosed && got_out));
    // Only a namespace leaves a check its own loopback, so that without one it keeps the network.
    assert_eq!(listener.accept().is_err(), enclosed);
}

/// What the proxy says to an agent that asks it for a target twice. None without a network namespace,
/// where the proxy is on this machine's loopback and wants a credential.
fn ask_proxy(stage: &Project, target: &str, network: &str) -> Option<String> {
    ask_proxy_as(stage, target, network, &stage.path(".local/state"))
}

/// The same for a user whose state is in this folder.
fn ask_proxy_as(stage: &Project, target: &str, network: &str, home: &Path) -> Option<String> {
    let ask = r#"p=${HTTPS_PROXY##*:}; for i in 1 2; do bash -c "exec 3<>/dev/tcp/127.0.0.1/${p%/}; printf 'CONNECT TARGET HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; head -n 1 <&3"; done"#;
    stage.write("ask.sh", &ask.replace("TARGET", target));
    let run = r#"{run = "mkdir -p work && sh ask.sh > work/a.txt 2>&1"}"#;
    stage.agent("write-a", &[run]);
    stage.commit();
    let mut unstuck = stage.unstuck(&["run", "write a"]);
    unstuck.env("UNSTUCK_AGENT_NETWORK", network).env("XDG_STATE_HOME", home);
    ran(unstuck.output().unwrap()).exits(0);
    let said = stage.on_branch("unstuck/b0", "work/a.txt");
    (!said.contains("407")).then_some(said)
}

// B53: an agent does not reach the server that controls it, even where the settings name its address
#[test]
fn the_own_server_is_never_reached() {
    let here = "127.0.0.1:7424";
    if let Some(said) = ask_proxy(&Project::with_agents(), here, &format!("[\"{here}\"]")) {
        assert!(
            said.contains("403 Refused by Unstuck: agents may not reach Unstuck's own"),
            "{said}"
        );
    }
}

// B53: nor one on a port that no setting names, of another project and in another process
#[test]
fn a_server_on_another_port_is_never_reached() {
    let project = Project::with_agents();
    let state = project.path(".local/state");
    let mut command = project.unstuck(&["serve", "--bind", "127.0.0.1:0"]);
    command.env("XDG_STATE_HOME", &state);
    let mut server = RunningProgram::follow_stdout(command);
    let said = server.read_until("Ctrl-C ends it");
    let (_, address) = said.rsplit_once(" at http://").unwrap();
    let here = address.split('/').next().unwrap();
    let by_name = here.replace("127.0.0.1", "localhost");
    for (target, listed) in [(here, here), (&*by_name, "localhost")] {
        let network = format!("[\"{listed}\"]");
        if let Some(said) = ask_proxy_as(&Project::with_agents(), target, &network, &state) {
            let refused = "403 Refused by Unstuck: agents may not reach Unstuck's own";
            assert!(said.contains(refused), "{network}: {said}");
        }
    }
    server.kill();
}

// B53: what the proxy refuses is in the log, with the host and how often
#[test]
fn a_host_that_is_refused_is_in_the_log() {
    let stage = Project::with_agents();
    let Some(said) = ask_proxy(&stage, "evil.example:443", "registries") else { return };
    assert!(said.contains("403 Refused by Unstuck"), "{said}");
    let refused = |event: &Event| matches!(event, Event::Refused { what, .. } if &**what == "connect to evil.example:443 (2 times)");
    assert_eq!(stage.count(refused), 1);
}

// B53: an action that a rule allows reaches the hosts of that rule
#[test]
fn an_allowed_action_reaches_the_hosts_of_its_rule_and_no_others() {
    let stage = Project::with_agents();
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
    stage.run(&["run", "write a"]).exits(0);
    assert!(named.accept().is_ok());
    assert!(other.accept().is_err());
}

const UNREACHED: &str = "echo 'curl: (6) Could not resolve host: example.org'; exit 6\n";

// B45, B53: a check that wants the network it does not have is no outage: it is asked about at once
#[test]
fn a_check_that_needs_a_network_is_asked_about_before_any_work() {
    if WallLayers::detect().bubblewrap.is_none() {
        return;
    }
    let stage = Project::with_agents();
    stage.write("check.sh", UNREACHED);
    stage.agent("write-a", &[r#"{write = "work/a.txt", text = "fine\n"}"#]);
    stage.commit();
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let shown = stage.run(&["inbox", "show", "0"]);
    for said in ["network access for the", "sh check.sh", "below [validate]"] {
        assert!(shown.stdout.contains(said), "{said}: {shown}");
    }
    assert_eq!(stage.count(|event| matches!(event, Event::TaskBackingOff { .. })), 0);
}

// B45, B53: a service of this machine that our wall keeps from a check is named, with the line to write
#[test]
fn a_check_that_needs_a_service_of_this_machine_is_asked_about_with_the_line_to_write() {
    if WallLayers::detect().bubblewrap.is_none() {
        return;
    }
    let stage = Project::with_agents();
    let (listener, port) = listen();
    // It waits for a word, so that it cannot be gone before the connection is carried outside.
    let check = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && read -r word <&3");
    stage.write("check.sh", &format!("bash -c '{check}' || exit 7\n"));
    stage.agent("write-a", &[r#"{write = "work/a.txt", text = "fine\n"}"#]);
    stage.commit();
    stage.run(&["run", "write a", "--max-wait", "0"]).exits(3);
    let shown = stage.run(&["inbox", "show", "0"]);
    let line = format!("network = [\"localhost:{port}\"] below [validate]");
    assert!(shown.stdout.replace('\n', " ").contains(&line), "{shown}");
    let log = stage.run(&["log"]);
    assert!(log.stdout.contains("kept from the network"), "{log}");
    assert!(listener.accept().is_err());
    listener.set_nonblocking(false).unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            writeln!(connection.unwrap(), "fine").unwrap();
        }
    });
    let (mut again, network) =
        (stage.unstuck(&["run", "write a"]), format!("[\"localhost:{port}\"]"));
    ran(again.env("UNSTUCK_VALIDATE_NETWORK", network).output().unwrap()).exits(0);
}

// B45, B53: a change that makes the check want the network goes back to its agent
#[test]
fn a_change_that_makes_a_check_need_a_network_is_red() {
    if WallLayers::detect().bubblewrap.is_none() {
        return;
    }
    let stage = Project::with_agents();
    stage.write("check.sh", &format!("grep -qs fetch work/a.txt || exit 0\n{UNREACHED}"));
    let (wrong, right) = (
        r#"{write = "work/a.txt", text = "fetch\n"}"#,
        r#"{write = "work/a.txt", text = "fine\n"}"#,
    );
    stage.agent("write-a", &[wrong, right]);
    stage.commit();
    stage.run(&["run", "write a"]).exits(0);
    assert_eq!(stage.on_branch("unstuck/b0", "work/a.txt"), "fine\n");
    assert_eq!(stage.count(|event| matches!(event, Event::TaskBackingOff { .. })), 0);
}

// B53: what the proxy refused a setup command is in the question, with the line that allows it
#[test]
fn a_setup_command_that_is_refused_a_host_is_asked_about_with_the_line_to_write() {
    if WallLayers::detect().bubblewrap.is_none() {
        return;
    }
    let stage = Project::with_agents();
    let ask = r#"p=${HTTPS_PROXY##*:}; bash -c "exec 3<>/dev/tcp/127.0.0.1/${p%/}; printf 'CONNECT evil.example:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; head -n 1 <&3"; exit 6"#;
    stage.write("setup.sh", ask);
    stage.agent("write-a", &[r#"{write = "work/a.txt", text = "fine\n"}"#]);
    stage.commit();
    let mut unstuck = stage.unstuck(&["run", "write a", "--max-wait", "0"]);
    ran(unstuck.env("UNSTUCK_RUN_SETUP", "[\"sh setup.sh\"]").output().unwrap()).exits(3);
    let shown = stage.run(&["inbox", "show", "0"]);
    for said in ["evil.example:443", "setup_network = [\"registries\", \"evil.example\"]"] {
        assert!(shown.stdout.contains(said), "{said}: {shown}");
    }
}

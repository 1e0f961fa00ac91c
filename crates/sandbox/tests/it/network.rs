//! Chambers with a network, on a host that is a network namespace of its own: an internet of one machine on one side, and
//! nothing of the real host's network anywhere.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command as Process, Stdio};

use kiln_sandbox::{ChamberSpec, FAR_AHEAD, sweep};

use crate::place::{Place, namespace, qemu};
use crate::support::{limits, shell, spec, try_run};

const ROLE: &str = "KILN_TEST_ROLE";

/// The other half of these tests: does nothing unless one of them starts this program with a role.
#[test]
fn plays_a_host_with_a_network() {
    match std::env::var(ROLE).as_deref() {
        Ok("networked host") => reach_the_internet_and_nothing_else(),
        Ok("killed networked host") => connect_until_killed(&namespace()),
        Ok("killed host of networked machines") => connect_until_killed(&qemu()),
        Ok("host that does not forward") => refuse_without_forwarding(),
        _ => {}
    }
}

#[test]
fn a_network_reaches_the_internet_but_no_private_metadata_or_control_plane_address() {
    in_own_network("networked host");
}

#[test]
fn a_host_that_does_not_forward_says_how_to_change_that() {
    in_own_network("host that does not forward");
}

fn in_own_network(role: &str) {
    let output = Process::new("unshare")
        .arg("--net")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "network::plays_a_host_with_a_network"])
        .arg("--nocapture")
        .env(ROLE, role)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{failed}");
}

fn networked() -> ChamberSpec {
    ChamberSpec {
        network: true,
        blocked: vec!["203.0.113.77".parse().unwrap()],
        ..spec()
    }
}

fn reach_the_internet_and_nothing_else() {
    let _internet = Internet::connect();
    let _on_host = TcpListener::bind("0.0.0.0:8080").unwrap();
    for (place, killed) in [
        (namespace(), "killed networked host"),
        (qemu(), "killed host of networked machines"),
    ] {
        reach_from(&place);
        reach_in_every_run(&place);
        killed_runs_are_swept(killed);
    }
}

fn reach_from(place: &Place) {
    let script = "cat /etc/resolv.conf >&2
        echo \"internet: $(nc -w 5 203.0.113.2 80)\"
        for blocked in '169.254.169.254 80' '10.9.9.9 80' '203.0.113.77 80' '203.0.113.1 8080'; do
            nc -w 2 $blocked </dev/null >/dev/null 2>&1 && echo \"reached $blocked\"
        done
        echo done";
    let finished = place
        .try_run(&shell(script), &networked(), &limits())
        .unwrap();
    assert_eq!(finished.stdout, "internet: hello\ndone\n", "{finished:?}");
    assert!(finished.stderr.contains("nameserver"), "{finished:?}");
    let layer = finished.exit.sealed.layer("network").unwrap();
    assert!(layer.detail.contains("filtered"), "{layer:?}");
    assert_nothing_is_left();
}

/// What is made ahead has no network of its own before its run.
fn reach_in_every_run(place: &Place) {
    let mut chamber = place.prepare(&networked());
    chamber.expect(FAR_AHEAD);
    for _ in 0..4 {
        let finished = Place::run_in(&mut *chamber, &shell("nc -w 5 203.0.113.2 80"));
        assert_eq!(finished.stdout, "hello\n", "{finished:?}");
        if let Some(start) = finished.exit.sealed.layer("start") {
            assert!(start.detail.contains("sealed"), "{start:?}");
        }
        assert_nothing_is_left();
    }
    chamber.destroy().unwrap();
}

fn assert_nothing_is_left() {
    assert_eq!(said_by("nft", "list tables"), "");
    assert!(!said_by("ip", "link show").contains("kiln"));
}

fn killed_runs_are_swept(role: &str) {
    let mut host = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "network::plays_a_host_with_a_network"])
        .arg("--nocapture")
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(host.stdout.take().unwrap());
    std::io::BufRead::lines(lines)
        .find(|line| line.as_ref().unwrap().contains("chamber is up"))
        .expect("the chamber says so")
        .unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(said_by("nft", "list tables").contains("kiln-run-"));
    sweep().unwrap();
    assert_nothing_is_left();
}

fn connect_until_killed(place: &Place) {
    struct Announce;
    impl kiln_sandbox::OutputSink for Announce {
        fn output(&mut self, _: kiln_sandbox::Stream, _: &[u8]) {
            println!("chamber is up");
        }
    }
    let cancel = kiln_sandbox::CancelToken::new().unwrap();
    place
        .run_into(
            &mut Announce,
            &shell("echo up; sleep 1000"),
            &networked(),
            &limits(),
            &cancel,
        )
        .unwrap();
}

fn refuse_without_forwarding() {
    let error = try_run(&shell("true"), &networked(), &limits()).unwrap_err();
    assert!(
        error.to_string().contains("net.ipv4.ip_forward=1"),
        "{error}"
    );
}

/// A machine with public and private addresses that says hello on port 80. It goes when this is dropped.
struct Internet(Child);

impl Internet {
    fn connect() -> Self {
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
        let machine = Process::new("unshare")
            .args(["--net", "sh", "-c"])
            .arg("read connected; exec busybox nc -ll -p 80 -e /bin/echo hello")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = machine.id();
        // From here on it goes with this test, whatever happens.
        let mut internet = Self(machine);
        // Its namespace is its own as soon as it is a shell.
        while std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() != "sh\n" {
            std::thread::yield_now();
        }
        said_by("ip", "link set lo up");
        said_by(
            "ip",
            &format!("link add uplink type veth peer name wan netns {pid}"),
        );
        said_by("ip", "addr add 203.0.113.1/24 dev uplink");
        said_by("ip", "link set uplink up");
        for words in [
            "addr add 203.0.113.2/24 dev wan",
            "addr add 203.0.113.77/24 dev wan",
            "addr add 10.9.9.9/32 dev wan",
            "addr add 169.254.169.254/32 dev wan",
            "link set wan up",
        ] {
            said_by("nsenter", &format!("-t {pid} -n ip {words}"));
        }
        said_by("ip", "route add default via 203.0.113.2");
        writeln!(internet.0.stdin.as_mut().unwrap()).unwrap();
        while TcpStream::connect("203.0.113.2:80").is_err() {
            std::thread::yield_now();
        }
        internet
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn said_by(program: &str, words: &str) -> String {
    let output = Process::new(program)
        .args(words.split(' '))
        .output()
        .unwrap();
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words}: {failed}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

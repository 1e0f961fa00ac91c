//! Jobs with a network, on a host that is a network namespace of its own: an internet of one machine on one side, and nothing
//! of the real host's network anywhere. Firecracker's double has no network.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command as Process, Stdio};

use super::blackbox::{MakeBackend, namespace, qemu, run, shell_form};
use super::results;
use crate::executor::Verdict;

/// Where the server of all these jobs is said to be.
pub(super) const CONTROL_PLANE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77));

const ROLE: &str = "KILN_TEST_ROLE";

/// The metadata service, a private address, the control plane, and the host itself.
const SCRIPT: &str = "echo \"internet: $(/bin/busybox nc -w 5 203.0.113.2 80)\"
    for blocked in '169.254.169.254 80' '10.9.9.9 80' '203.0.113.77 80' '203.0.113.1 8080'; do
        /bin/busybox nc -w 2 $blocked </dev/null >/dev/null 2>&1 && echo \"reached $blocked\"
    done
    echo done";

#[test]
fn a_job_in_namespaces_reaches_the_internet_and_nothing_else() {
    in_own_network("networked namespaces");
}

#[test]
fn a_job_in_a_machine_reaches_the_internet_and_nothing_else() {
    in_own_network("networked machines");
}

/// The other half of these tests: does nothing unless one of them starts this program with a role.
#[tokio::test]
async fn plays_a_host_with_a_network() {
    match std::env::var(ROLE).as_deref() {
        Ok("networked namespaces") => reach_from(namespace).await,
        Ok("networked machines") => reach_from(qemu).await,
        _ => {}
    }
}

fn in_own_network(role: &str) {
    let (_, module) = module_path!().split_once("::").unwrap();
    let output = Process::new("unshare")
        .arg("--net")
        .arg(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact"])
        .arg(format!("{module}::plays_a_host_with_a_network"))
        .env(ROLE, role)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{failed}");
    assert!(said.contains("1 passed"), "{said}");
}

async fn reach_from(on: MakeBackend) {
    let _internet = Internet::connect();
    let _on_host = TcpListener::bind("0.0.0.0:8080").unwrap();
    let execution = run(on, |job| {
        shell_form(SCRIPT)(job);
        job.spec.network = true;
        job.config.iter = Some(2);
    });
    let execution = execution.await;
    assert_eq!(execution.verdict, Verdict::Completed, "{execution:?}");
    let stdout: Vec<_> = results(&execution)
        .into_iter()
        .filter_map(|result| result.stdout)
        .collect();
    assert_eq!(stdout, ["internet: hello\ndone\n"; 2]);
    assert_eq!(said_by("nft", "list tables"), "");
    assert!(!said_by("ip", "link show").contains("kiln"));
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
        let inside = format!("nsenter -t {pid} -n ip");
        for words in [
            "ip link set lo up",
            &format!("ip link add uplink type veth peer name wan netns {pid}"),
            "ip addr add 203.0.113.1/24 dev uplink",
            "ip link set uplink up",
            &format!("{inside} addr add 203.0.113.2/24 dev wan"),
            &format!("{inside} addr add {CONTROL_PLANE}/24 dev wan"),
            &format!("{inside} addr add 10.9.9.9/32 dev wan"),
            &format!("{inside} addr add 169.254.169.254/32 dev wan"),
            &format!("{inside} link set wan up"),
            "ip route add default via 203.0.113.2",
        ] {
            let (program, words) = words.split_once(' ').unwrap();
            said_by(program, words);
        }
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

//! A double of Firecracker for tests on hosts whose KVM boots nothing: it takes the same arguments and the same requests,
//! as strictly as the published API has them, and its vsock leads to a real `kiln-guest-init`.
//!
//! What it cannot show is that a guest kernel comes up: in place of a machine there is a mount namespace with the
//! machine's disks in it.

mod arguments;
mod fields;
mod guest;
mod http;
mod machine;
mod requests;
mod snapshot;
mod trouble;
mod vsock;

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use arguments::Arguments;
use machine::Machine;

/// What it says it is.
const VERSION: &str = "1.15.1";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["--version"] {
        say(&format!("Firecracker v{VERSION}\n\nA double.\n"));
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::parse(&words) {
        Ok(arguments) => arguments,
        Err(error) => {
            complain(&format!("Arguments parsing error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    match serve(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("RunWithApiError error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &Arguments) -> std::io::Result<()> {
    arguments.open_logs()?;
    let listener = UnixListener::bind(&arguments.api_socket)?;
    let machine = Arc::new(Mutex::new(Machine::new(&arguments.id)));
    for connection in listener.incoming() {
        let machine = Arc::clone(&machine);
        let connection = connection?;
        std::thread::spawn(move || http::converse(connection, &machine));
    }
    Ok(())
}

/// Ends the whole program.
#[expect(
    clippy::exit,
    reason = "a monitor ends in whatever thread its guest ends"
)]
fn end(code: i32) -> ! {
    std::process::exit(code)
}

fn say(text: &str) {
    std::io::stdout()
        .write_all(text.as_bytes())
        .expect("someone reads what it is");
}

fn complain(text: &str) {
    // The exit code says enough if nobody reads.
    let _ = writeln!(std::io::stderr(), "{text}");
}

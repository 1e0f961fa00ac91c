//! QEMU's monitor protocol, as far as taking a template needs it: JSON objects, one to a line.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Error;

/// QEMU answers at once; only a broken one takes longer.
const PATIENCE: Duration = Duration::from_mins(1);

/// No answer we ask for comes near this.
const MAX_LINE_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Qmp {
    lines: BufReader<UnixStream>,
    /// Events that came while an answer was waited for.
    events: VecDeque<Value>,
}

impl Qmp {
    /// Takes the greeting and leaves the phase of negotiation.
    pub(super) fn greet(socket: UnixStream) -> Result<Self, Error> {
        socket
            .set_read_timeout(Some(PATIENCE))
            .map_err(|error| Error::host("cannot set up a socket", error))?;
        let mut qmp = Self {
            lines: BufReader::new(socket),
            events: VecDeque::new(),
        };
        let greeting = qmp.receive()?;
        if greeting.get("QMP").is_none() {
            return Err(broken("it does not greet"));
        }
        qmp.execute("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Gives a command and waits for its answer.
    pub(super) fn execute(&mut self, command: &str, arguments: &Value) -> Result<Value, Error> {
        let mut line = json!({ "execute": command, "arguments": arguments }).to_string();
        line.push('\n');
        self.lines
            .get_mut()
            .write_all(line.as_bytes())
            .map_err(|error| Error::host("cannot write to QEMU", error))?;
        loop {
            let mut answer = self.receive()?;
            if let Some(error) = answer.get("error") {
                return Err(broken(&format!("it refuses {command}: {error}")));
            }
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
            self.events.push_back(answer);
        }
    }

    /// Waits for an event whose data `wanted` accepts or refuses.
    pub(super) fn wait_for(
        &mut self,
        event: &str,
        wanted: impl Fn(&Value) -> Option<Result<(), Error>>,
    ) -> Result<(), Error> {
        loop {
            let message = match self.events.pop_front() {
                Some(event) => event,
                None => self.receive()?,
            };
            if message.get("event").and_then(Value::as_str) != Some(event) {
                continue;
            }
            if let Some(verdict) = wanted(&message["data"]) {
                return verdict;
            }
        }
    }

    fn receive(&mut self) -> Result<Value, Error> {
        let mut line = Vec::new();
        let read =
            std::io::Read::take(&mut self.lines, MAX_LINE_BYTES).read_until(b'\n', &mut line);
        match read {
            Ok(0) => Err(broken("it has ended")),
            Ok(_) => serde_json::from_slice(&line).map_err(|_| broken("it does not speak JSON")),
            Err(error) => Err(Error::host("cannot read from QEMU", error)),
        }
    }
}

pub(super) fn broken(what: &str) -> Error {
    Error::Machine {
        reason: format!("QEMU's monitor: {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A monitor that says these lines, whatever it is told.
    fn monitor(lines: &str) -> UnixStream {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(lines.as_bytes()).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        // Kept open, so that what is written to it goes somewhere.
        std::mem::forget(theirs);
        ours
    }

    const HELLO: &str = "{\"QMP\":{}}\n{\"return\":{}}\n";

    #[test]
    fn an_answer_is_found_among_events() {
        let lines = format!("{HELLO}{{\"event\":\"STOP\"}}\n{{\"return\":{{\"a\":1}}}}\n");
        let mut qmp = Qmp::greet(monitor(&lines)).unwrap();
        assert_eq!(qmp.execute("stop", &json!({})).unwrap(), json!({"a": 1}));
    }

    #[test]
    fn an_event_that_came_before_an_answer_is_not_lost() {
        let lines = format!("{HELLO}{{\"event\":\"STOP\",\"data\":1}}\n{{\"return\":{{}}}}\n");
        let mut qmp = Qmp::greet(monitor(&lines)).unwrap();
        qmp.execute("stop", &json!({})).unwrap();
        qmp.wait_for("STOP", |data| (data == &json!(1)).then_some(Ok(())))
            .unwrap();
    }

    #[test]
    fn a_refusal_is_an_error_that_names_the_command() {
        let lines = format!("{HELLO}{{\"error\":{{\"desc\":\"no\"}}}}\n");
        let mut qmp = Qmp::greet(monitor(&lines)).unwrap();
        let error = qmp.execute("migrate", &json!({})).unwrap_err();
        assert!(error.to_string().contains("migrate"), "{error}");
    }

    #[test]
    fn a_monitor_that_ends_is_an_error() {
        let mut qmp = Qmp::greet(monitor(HELLO)).unwrap();
        assert!(qmp.execute("stop", &json!({})).is_err());
    }
}

//! The bench door from the outside: a real server, real HTTP and WebSocket, on both engines, and on two servers one of which
//! is killed now and then.

#[cfg(test)]
#[path = "../../src/answer.rs"]
mod answer;
#[cfg(test)]
mod billing;
#[cfg(test)]
mod channel;
#[cfg(test)]
mod configured;
#[cfg(test)]
#[path = "../../src/openapi/contract.rs"]
mod contract;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod job_socket;
#[cfg(test)]
mod life;
#[cfg(test)]
mod live;
#[cfg(test)]
mod otlp;
#[cfg(test)]
mod outputs;
#[cfg(test)]
mod pair;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod silence;
#[cfg(test)]
mod slots;
#[cfg(test)]
mod stripe;
#[cfg(test)]
mod town;
#[cfg(test)]
mod towns;
#[cfg(test)]
mod ways;

//! The real program, from the outside.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod bare_metal;
#[cfg(test)]
mod config;
#[cfg(test)]
mod cores;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod engines;
#[cfg(test)]
#[path = "../../../crates/sandbox/tests/it/host_machine.rs"]
mod host_machine;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod live;
#[cfg(test)]
mod offering;
#[cfg(test)]
mod ordinary_user;
#[cfg(test)]
mod outputs;
#[cfg(test)]
mod owners;
#[cfg(test)]
mod paired;
#[cfg(test)]
mod pull_request;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod run;
#[cfg(test)]
mod runner;
#[cfg(test)]
mod server;
#[cfg(test)]
mod several_servers;
#[cfg(test)]
mod slots;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod unreadable;
#[cfg(test)]
mod updates;

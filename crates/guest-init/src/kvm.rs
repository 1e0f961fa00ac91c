//! Whether KVM can really run a guest: a few instructions in long mode, with a breakpoint and a return from it.
//!
//! A nested KVM may open, make a machine, and then fail at the first interrupt. The host runs this program under a
//! deadline, because such a machine may also never return.

use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::sys::{Exit, VirtualMachine};

const ENTRY: usize = 0x8000;
const HANDLER: usize = 0x8100;
const PORT: u16 = 0x10;
const BYTE: u8 = 0x2a;

/// `int3; mov al, BYTE; out PORT, al; hlt`
const PROGRAM: [u8; 6] = [0xcc, 0xb0, BYTE, 0xe6, 0x10, 0xf4];

/// `iretq`
const RETURN: [u8; 2] = [0x48, 0xcf];

/// Runs the guest and says on standard output what went wrong, if anything did.
pub(crate) fn probe() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The exit code says enough if nobody reads.
            let _ = io::stdout().write_all(error.to_string().as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let mut machine = VirtualMachine::create()?;
    let memory = machine.memory();
    memory[ENTRY..ENTRY + PROGRAM.len()].copy_from_slice(&PROGRAM);
    memory[HANDLER..HANDLER + RETURN.len()].copy_from_slice(&RETURN);
    machine.enter_long_mode(ENTRY as u64, HANDLER as u64)?;
    expect(
        &machine.run()?,
        &Exit::Out {
            port: PORT,
            byte: BYTE,
        },
    )?;
    expect(&machine.run()?, &Exit::Halt)
}

fn expect(exit: &Exit, expected: &Exit) -> io::Result<()> {
    if exit == expected {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "a tiny guest ended with {exit} where {expected} was expected"
    )))
}

//! `kiln kernel`.

mod frame;
mod json;
mod key;
mod letters;

use super::Context;
use crate::cli::{DeadLetters, Frame, Kernel, Key};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: Kernel) -> Result<Exit, Failure> {
    match command {
        Kernel::Stats(target) => letters::stats(context, &target),
        Kernel::DeadLetters(DeadLetters::List(target)) => letters::list(context, &target),
        Kernel::DeadLetters(DeadLetters::Show(letter)) => letters::show(context, &letter),
        Kernel::DeadLetters(DeadLetters::Replay(letter)) => letters::replay(context, &letter),
        Kernel::DeadLetters(DeadLetters::Drain(drain)) => letters::drain(context, &drain),
        Kernel::Frame(Frame::Decode(hex)) => frame::decode(context, &hex.hex),
        Kernel::Frame(Frame::Encode) => frame::encode(context),
        Kernel::Key(Key::Decode(request)) => key::decode(context, &request),
    }
}

//! A spooled result: a line with the checksum of the rest, and the rest, which is the message.

use std::string::FromUtf8Error;

use kiln_model::{Digest, JobUuid};
use sha2::{Digest as _, Sha256};

use crate::Delivery;
use crate::delivery::NotADelivery;

#[derive(Debug, thiserror::Error)]
pub(super) enum Damaged {
    #[error("it has no checksum")]
    NoChecksum,
    #[error("it does not match its checksum")]
    Checksum,
    #[error("its message is not text")]
    Text(#[from] FromUtf8Error),
    #[error("its message is unusable")]
    Message(#[from] NotADelivery),
    #[error("it is the result of job {0}")]
    OtherJob(JobUuid),
}

pub(super) fn encode(delivery: &Delivery) -> Vec<u8> {
    let text = delivery.text();
    let mut bytes = checksum(text.as_bytes()).to_string().into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

pub(super) fn decode(mut bytes: Vec<u8>, job: JobUuid) -> Result<Delivery, Damaged> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let text = bytes.split_off(end.ok_or(Damaged::NoChecksum)? + 1);
    bytes.pop();
    if bytes != checksum(&text).as_str().as_bytes() {
        return Err(Damaged::Checksum);
    }
    let delivery = Delivery::parse(String::from_utf8(text)?)?;
    if delivery.job() != job {
        return Err(Damaged::OtherJob(delivery.job()));
    }
    Ok(delivery)
}

fn checksum(bytes: &[u8]) -> Digest {
    Digest::from_hash(&Sha256::digest(bytes)).expect("a SHA-256 has 32 bytes")
}

#![doc = include_str!("../README.md")]

pub mod noise;
pub mod protocol;

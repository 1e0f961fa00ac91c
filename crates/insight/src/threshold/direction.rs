//! Which way a measure gets better.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    SmallerIsBetter,
    LargerIsBetter,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no direction {name:?}: it is smaller_is_better or larger_is_better")]
pub struct UnknownDirection {
    pub name: String,
}

impl Direction {
    pub const fn name(self) -> &'static str {
        match self {
            Self::SmallerIsBetter => "smaller_is_better",
            Self::LargerIsBetter => "larger_is_better",
        }
    }
}

impl FromStr for Direction {
    type Err = UnknownDirection;

    fn from_str(name: &str) -> Result<Self, UnknownDirection> {
        [Self::SmallerIsBetter, Self::LargerIsBetter]
            .into_iter()
            .find(|direction| direction.name() == name)
            .ok_or_else(|| UnknownDirection {
                name: name.chars().take(64).collect(),
            })
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

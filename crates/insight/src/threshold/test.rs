//! The seven tests by name.

use std::fmt;
use std::str::FromStr;

/// How a boundary follows from a sample. Names are those of stock clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The boundaries themselves.
    Static,
    /// A share of the mean.
    Percentage,
    /// A quantile of the normal distribution.
    ZScore,
    /// A prediction interval of Student's t distribution.
    TTest,
    /// A quantile of the log-normal distribution.
    LogNormal,
    /// Interquartile ranges around the median.
    Iqr,
    /// Interquartile ranges of the change from one point to the next, as a share of the median.
    DeltaIqr,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no test {name:?}")]
pub struct UnknownTest {
    pub name: String,
}

impl Test {
    pub const ALL: [Self; 7] = [
        Self::Static,
        Self::Percentage,
        Self::ZScore,
        Self::TTest,
        Self::LogNormal,
        Self::Iqr,
        Self::DeltaIqr,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Percentage => "percentage",
            Self::ZScore => "z_score",
            Self::TTest => "t_test",
            Self::LogNormal => "log_normal",
            Self::Iqr => "iqr",
            Self::DeltaIqr => "delta_iqr",
        }
    }

    /// Whether the boundary is a quantile of a distribution, so that a metric has a probability under it.
    pub const fn has_distribution(self) -> bool {
        matches!(self, Self::ZScore | Self::TTest | Self::LogNormal)
    }

    /// The smallest sample that says anything.
    pub(crate) const fn least_sample(self) -> usize {
        match self {
            Self::Static | Self::Percentage => 1,
            Self::ZScore | Self::TTest | Self::LogNormal | Self::Iqr | Self::DeltaIqr => 2,
        }
    }
}

impl FromStr for Test {
    type Err = UnknownTest;

    fn from_str(name: &str) -> Result<Self, UnknownTest> {
        let found = Self::ALL.into_iter().find(|test| test.name() == name);
        found.ok_or_else(|| UnknownTest {
            name: name.chars().take(64).collect(),
        })
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

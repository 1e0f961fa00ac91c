//! Numbers about numbers: samples, distributions and a seeded source of chance. What thresholds, comparisons and change
//! points stand on.

pub(crate) mod gamma;
pub(crate) mod normal;
pub(crate) mod number;
pub(crate) mod sample;
pub(crate) mod seeded;
pub(crate) mod student;

//! What an operation of the kernel answers when it does not succeed.
//!
//! The numbers are stored in dead letters, so they never change. The wire codes are negative, the others positive.

/// Why bytes are not a frame, or values cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum WireError {
    #[error("EINVAL: a value that a frame cannot carry")]
    Invalid,
    #[error("E2BIG: the buffer is too small for the frame")]
    TooBig,
    #[error("EFORMAT: the bytes break a rule of the format")]
    Format,
    #[error("EVERSION: only version 0.0 is understood")]
    Version,
    #[error("ETRUNC: the bytes end before the frame does")]
    Truncated,
}

impl WireError {
    pub const fn code(self) -> i32 {
        match self {
            Self::Invalid => -1,
            Self::TooBig => -2,
            Self::Format => -3,
            Self::Version => -4,
            Self::Truncated => -5,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "EINVAL",
            Self::TooBig => "E2BIG",
            Self::Format => "EFORMAT",
            Self::Version => "EVERSION",
            Self::Truncated => "ETRUNC",
        }
    }
}

/// Every way a kernel operation can end other than well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Status {
    /// A failure without a more precise name; the text says what.
    #[error("{0}")]
    Error(String),
    #[error("not found")]
    NotFound,
    /// A limit is reached: a value over the size limit, a counter or a sequence at its end.
    #[error("full")]
    Full,
    /// Stored bytes that do not decode.
    #[error("stored bytes are corrupt: {0}")]
    Corrupt(String),
    #[error("busy")]
    Busy,
    #[error("exists already")]
    Exists,
    #[error("conflict")]
    Conflict,
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The store below failed (disk, network, shutdown). Nothing was committed.
    #[error("the store failed: {0}")]
    Store(String),
}

impl Status {
    /// The number kept in dead letters and shown in logs.
    pub const fn code(&self) -> i32 {
        match self {
            Self::Error(_) => 1,
            Self::NotFound => 2,
            Self::Full => 3,
            Self::Corrupt(_) => 4,
            Self::Busy => 5,
            Self::Exists => 6,
            Self::Conflict => 7,
            Self::Store(_) => 8,
            Self::Wire(wire) => wire.code(),
        }
    }

    /// Whether the seed retries it: `BUSY` and `CONFLICT` only.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy | Self::Conflict)
    }
}

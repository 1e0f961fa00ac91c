//! What names may look like, as regular expressions that clients can use. The types in `kiln_model` decide;
//! `cargo xtask schemathesis` makes names of these, which the server must accept.

pub(super) struct Pattern {
    pub(super) expression: &'static str,
    pub(super) longest: usize,
}

/// No control characters, nothing that turns text around, no space at either end.
pub(super) const NAME: Pattern = Pattern {
    expression: concat!(
        r"^[^\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]",
        r"([^\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]{0,62}",
        r"[^\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069])?$"
    ),
    longest: 64,
};

pub(super) const SLUG: Pattern = Pattern {
    expression: "^[a-z0-9]+(-[a-z0-9]+)*$",
    longest: 64,
};

/// Counted in characters here and in bytes by the server: an address of other letters may have fewer.
pub(super) const EMAIL: Pattern = Pattern {
    expression: concat!(
        r"^[^@\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+",
        r"@[^@\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+$"
    ),
    longest: 254,
};

pub(super) const URL: Pattern = Pattern {
    expression: concat!(
        r"^https?://[^/?#\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]",
        r"[^\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]*$"
    ),
    longest: 2048,
};

pub(super) const GIT_HASH: Pattern = Pattern {
    expression: "^[0-9a-f]{40}$",
    longest: 40,
};

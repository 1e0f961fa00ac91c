//! Every bound on what an image may be, with the reason for its value.

/// Manifests and indexes: the size every registry accepts.
pub const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Image configurations: mostly environment and history; more than this is not a configuration.
pub const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// Entries of an index: the largest public ones list a few dozen platforms.
pub const MAX_INDEX_ENTRIES: usize = 1_000;

/// Indexes inside indexes: one level occurs in practice.
pub const MAX_INDEX_DEPTH: usize = 3;

/// `/etc/passwd` and `/etc/group`: a directory service with 10,000 users still fits.
pub const MAX_ACCOUNT_FILE_BYTES: u64 = 1 << 20;

/// Environment of one command, keys and values: what Linux takes for arguments by default.
pub const MAX_ENVIRONMENT_BYTES: usize = 1 << 20;

/// Arguments of one command: the other half of what Linux takes by default.
pub const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// Bounds on the layers of one image while they are pulled and unpacked. Each has its own error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Layers of one image. Container engines stop at about 128.
    pub layers: usize,
    /// Compressed bytes of one layer.
    pub layer_bytes: u64,
    /// Bytes of all layers when unpacked, archive headers included.
    pub unpacked_bytes: u64,
    /// Archive entries of all layers together.
    pub entries: u64,
    /// Bytes of a path, in the archive and on disk. Linux itself refuses 4,096.
    pub path_bytes: usize,
    /// Directories inside directories on disk.
    pub depth: u32,
    /// Unpacked bytes per compressed byte, looked at once `ratio_floor_bytes` have come out.
    pub compression_ratio: u64,
    /// Small archives of zeros compress very well and harm nobody.
    pub ratio_floor_bytes: u64,
    /// One extended header (long names, extended attributes), held in memory.
    pub extended_header_bytes: u64,
}

impl Limits {
    pub const DEFAULT: Self = Self {
        layers: 256,
        layer_bytes: 10 << 30,
        unpacked_bytes: 32 << 30,
        entries: 2_000_000,
        path_bytes: 4_095,
        depth: 256,
        compression_ratio: 256,
        ratio_floor_bytes: 64 << 20,
        extended_header_bytes: 1 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

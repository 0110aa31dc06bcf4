//! How much of a message is taken before it is refused.

/// Fields a head can have at the very most: one bit each in the masks that say how a field is
/// treated, and 32 bytes each of [`Slots`](super::Slots) on the stack.
pub const FIELDS_CAP: usize = 128;

/// Bounds on one message, from the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, its start line and blank line included: 431 beyond.
    pub head_bytes_max: usize,
    /// Fields of a head, at most [`FIELDS_CAP`]: 431 beyond.
    pub fields_max: usize,
    /// Bytes of a request target: 414 beyond.
    pub target_bytes_max: usize,
    /// Bytes of content: 413 beyond. Bodies are passed on, not kept, so there is no bound by
    /// default.
    pub body_bytes_max: u64,
    /// Bytes of one chunk-size line with its extensions.
    pub chunk_line_bytes_max: usize,
    /// Bytes of a trailer section.
    pub trailer_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 16 << 10,
            fields_max: 100,
            target_bytes_max: 8 << 10,
            body_bytes_max: u64::MAX,
            chunk_line_bytes_max: 4 << 10,
            trailer_bytes_max: 8 << 10,
        }
    }
}

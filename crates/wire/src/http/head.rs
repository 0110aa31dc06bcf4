//! What request and response heads share: fields, methods, versions.

use super::{FIELDS_CAP, names::MARKS, names::Name};
use core::mem::MaybeUninit;
use httparse::Header;

/// Room for the fields of one head. Costs nothing to make: nothing is written until a head is read.
pub struct Slots<'b>([MaybeUninit<Header<'b>>; FIELDS_CAP]);

impl<'b> Slots<'b> {
    /// Empty slots.
    #[inline]
    pub const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; FIELDS_CAP])
    }

    #[inline]
    pub(crate) fn first(&mut self, fields_max: usize) -> &mut [MaybeUninit<Header<'b>>] {
        &mut self.0[..fields_max.min(FIELDS_CAP)]
    }
}

impl Default for Slots<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// The version a message claims. Others are refused (505).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0: no chunks, closes unless asked to stay.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// A request's method. Case matters: `get` is an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
    /// CONNECT
    Connect,
    /// OPTIONS
    Options,
    /// TRACE
    Trace,
    /// PATCH
    Patch,
    /// Any other; nothing may be assumed of it.
    Extension,
}

impl Method {
    /// The method of that name.
    #[inline]
    pub fn named(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "DELETE" => Self::Delete,
            "CONNECT" => Self::Connect,
            "OPTIONS" => Self::Options,
            "TRACE" => Self::Trace,
            "PATCH" => Self::Patch,
            _ => Self::Extension,
        }
    }

    /// Whether it asks for no change (RFC 9110, 9.2.1).
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace)
    }

    /// Whether asking twice is like asking once (RFC 9110, 9.2.2), so that a request which failed
    /// may be sent to another server.
    pub fn is_idempotent(self) -> bool {
        self.is_safe() || matches!(self, Self::Put | Self::Delete)
    }
}

/// Which fields go by a name that matters: one bit a field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks([u128; MARKS]);

impl Marks {
    #[inline]
    pub(crate) fn set(&mut self, name: Name, index: usize) {
        self.0[name as usize] |= 1 << index;
    }

    #[inline]
    pub(crate) fn of(&self, name: Name) -> u128 {
        self.0[name as usize]
    }

    /// Fields that end at this hop, but for Transfer-Encoding, which a relay that passes chunks
    /// through sends again as it came.
    #[inline]
    pub(crate) fn hop(&self) -> u128 {
        self.of(Name::Hop) | self.of(Name::Upgrade)
    }
}

/// The fields of a head, in the order they came.
#[derive(Clone, Copy)]
pub struct Fields<'b, 's> {
    /// The head from the first byte of its start line to its blank line, which is included.
    pub(crate) raw: &'b [u8],
    pub(crate) list: &'s [Header<'b>],
    pub(crate) marks: Marks,
}

impl<'b> Fields<'b, '_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Names and values, without the white space around the values.
    pub fn iter(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> {
        self.list.iter().map(|field| (field.name, field.value))
    }

    /// The value of the first field of that name, in whatever case.
    pub fn get(&self, name: &str) -> Option<&'b [u8]> {
        self.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether the field at `index` ends at this hop: by its name, or because Connection names it.
    pub fn is_hop_by_hop(&self, index: usize) -> bool {
        let mask = self.marks.hop() | self.marks.of(Name::TransferEncoding);
        index < FIELDS_CAP && (mask >> index) & 1 == 1
    }

    /// Where the line of field `index` begins in `raw`; for one past the last, the blank line.
    #[inline]
    pub(crate) fn line_start(&self, index: usize) -> usize {
        let end = self.raw.len() - 2;
        self.list.get(index).map_or(end, |f| f.name.as_ptr().addr() - self.raw.as_ptr().addr())
    }

    /// Appends `raw` from `from` on, without the fields in `skip` and without the blank line.
    /// Fields that follow each other are copied at one stroke.
    #[inline]
    pub(crate) fn copy(&self, mut from: usize, mut skip: u128, out: &mut Vec<u8>) {
        while skip != 0 {
            let index = skip.trailing_zeros() as usize;
            out.extend_from_slice(&self.raw[from..self.line_start(index)]);
            from = self.line_start(index + 1);
            skip &= skip - 1;
        }
        out.extend_from_slice(&self.raw[from..self.raw.len() - 2]);
    }
}

impl core::fmt::Debug for Fields<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.list).finish()
    }
}

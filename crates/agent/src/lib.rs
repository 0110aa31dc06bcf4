//! BESIDE A SERVER: whether a host can do one-way delivery, and what it has to do.
//!
//! [`doctor`] looks at the settings of a host, a front-end's or a server's, before connections are
//! handed over there: what stands in the way fails silently otherwise, segment by segment. The
//! agent proper samples a server's load ([`sample`]) and tells it over HTTP ([`serve`]); the
//! switch asks with [`client`]. The kernel is read through [`host::Host`] alone, so that tests
//! show both a host that was made up. What the kernel's own program counts comes in through
//! [`Kernel`]; this crate knows nothing of eBPF.

pub mod doctor;
pub mod host;
mod netlink;

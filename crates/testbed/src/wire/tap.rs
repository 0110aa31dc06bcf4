//! An Ethernet interface whose other end is a file: what the kernel sends is read, what is written
//! it receives (tuntap.rst of the kernel's documentation). The only unsafe lines of the bed.

#![allow(
    unsafe_code,
    reason = "rustix has no name for this request; the block says why it is sound"
)]

use rustix::fs::{Mode, OFlags, open};
use rustix::io;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::os::fd::OwnedFd;

/// `TUNSETIFF` of linux/if_tun.h.
const SET_INTERFACE: Opcode = opcode::write::<i32>(b'T', 202);

/// `IFF_TAP`: frames, not packets.
const TAP: u16 = 0x0002;

/// `IFF_NO_PI`: nothing before the frame.
const NO_INFORMATION: u16 = 0x1000;

/// `struct ifreq` of linux/if.h, as far as the request uses it.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<Request>() == 40);

/// Makes an interface in the network namespace of the calling thread. It is gone when the file is
/// closed. Reading and writing do not block.
///
/// It promises the kernel nothing (no checksums, no large segments), so each frame that is read is
/// one that could be on a cable.
///
/// # Panics
/// When the name has more than 15 characters.
pub(super) fn tap(name: &str) -> io::Result<OwnedFd> {
    assert!(name.len() < 16, "{name} is too long for an interface");
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open("/dev/net/tun", flags, Mode::empty())?;
    let mut request = Request { name: [0; 16], flags: TAP | NO_INFORMATION, rest: [0; 22] };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which `Request` is in size and layout
    // (asserted above), and the reference is alone for as long as the call lasts.
    unsafe { ioctl(&file, Updater::<SET_INTERFACE, Request>::new(&mut request))? };
    Ok(file)
}

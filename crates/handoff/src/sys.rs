//! The unsafe lines of this crate: memory shared with the kernel's programs, the TAP, the addresses
//! of interfaces.

#![allow(
    unsafe_code,
    reason = "rustix and libbpf-rs have no safe form of these; each block says why it is sound"
)]

use rustix::fs::{Mode, OFlags, open};
use rustix::io;
use rustix::ioctl::{Opcode, Setter, Updater, ioctl, opcode};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;

/// An array map's values as words in our own memory, changed by the kernel's programs at any time.
pub(crate) struct Words {
    start: *mut AtomicU64,
    count: usize,
}

// SAFETY: all access is by atomic operations on memory that stays mapped until the drop.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// Maps the first `bytes` (a multiple of 8) of an array map made with `BPF_F_MMAPABLE`.
    pub(crate) fn map(map: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; nothing else refers to it.
        let start =
            unsafe { mmap(core::ptr::null_mut(), bytes, protection, MapFlags::SHARED, map, 0)? };
        Ok(Self { start: start.cast(), count: bytes / 8 })
    }
}

impl core::ops::Deref for Words {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page aligned, readable and writable, at least `count` words long,
        // and lives as long as `self`.
        unsafe { core::slice::from_raw_parts(self.start, self.count) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: made by `mmap` with this length, and no reference outlives `self`.
        let _unmapped = unsafe { munmap(self.start.cast(), self.count * 8) };
    }
}

/// `TUNSETIFF` and `TUNSETPERSIST` of linux/if_tun.h.
const SET_INTERFACE: Opcode = opcode::write::<i32>(b'T', 202);
const SET_PERSIST: Opcode = opcode::write::<i32>(b'T', 203);
/// `SIOCGIFFLAGS`, `SIOCSIFFLAGS` and `SIOCSIFMTU` of linux/sockios.h.
const GET_FLAGS: Opcode = 0x8913;
const SET_FLAGS: Opcode = 0x8914;
const SET_MTU: Opcode = 0x8922;

/// `IFF_TAP`: frames, not packets. `IFF_NO_PI`: nothing before the frame.
const TAP: u16 = 0x0002;
const NO_INFORMATION: u16 = 0x1000;
/// `IFF_UP`.
const UP: u16 = 0x0001;

/// Largest MTU of a TAP (`TAP` of 65,535 bytes with its header).
const TAP_MTU: u32 = 65_521;

/// `struct ifreq` of linux/if.h, as far as these requests use it.
#[repr(C)]
struct Request {
    name: [u8; 16],
    /// Flags in the first two bytes, or an MTU in the first four.
    value: [u8; 24],
}

const _: () = assert!(size_of::<Request>() == 40);

impl Request {
    fn new(name: &str) -> Self {
        let mut request = Self { name: [0; 16], value: [0; 24] };
        let bytes = name.as_bytes();
        let count = bytes.len().min(15);
        request.name[..count].copy_from_slice(&bytes[..count]);
        request
    }

    fn with_flags(mut self, flags: u16) -> Self {
        self.value[..2].copy_from_slice(&flags.to_ne_bytes());
        self
    }
}

/// Opens the TAP of this name in the namespace of the calling thread, making it if there is none,
/// and brings it up. It stays when the process ends: the programs know it by its number.
pub(crate) fn tap(name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open("/dev/net/tun", flags, Mode::empty())?;
    let mut request = Request::new(name).with_flags(TAP | NO_INFORMATION);
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, whose size and layout `Request` has.
    unsafe { ioctl(&file, Updater::<SET_INTERFACE, Request>::new(&mut request))? };
    // SAFETY: TUNSETPERSIST takes its argument by value; any number but zero means yes.
    unsafe { ioctl(&file, rustix::ioctl::IntegerSetter::<SET_PERSIST>::new_usize(1))? };
    bring_up(name)?;
    Ok(file)
}

fn bring_up(name: &str) -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut request = Request::new(name);
    request.value[..4].copy_from_slice(&TAP_MTU.to_ne_bytes());
    // SAFETY: SIOCSIFMTU reads one `struct ifreq`.
    unsafe { ioctl(&socket, Setter::<SET_MTU, Request>::new(request))? };
    let mut request = Request::new(name);
    // SAFETY: SIOCGIFFLAGS reads and writes one `struct ifreq`.
    unsafe { ioctl(&socket, Updater::<GET_FLAGS, Request>::new(&mut request))? };
    let flags = u16::from_ne_bytes([request.value[0], request.value[1]]);
    let request = Request::new(name).with_flags(flags | UP);
    // SAFETY: SIOCSIFFLAGS reads one `struct ifreq`.
    unsafe { ioctl(&socket, Setter::<SET_FLAGS, Request>::new(request)) }
}

/// The name of the interface that has this address.
pub(crate) fn interface_of(wanted: IpAddr) -> Option<String> {
    let mut list: *mut libc::ifaddrs = core::ptr::null_mut();
    // SAFETY: getifaddrs writes one pointer; it is freed below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return None;
    }
    let mut found = None;
    let mut at = list;
    while !at.is_null() && found.is_none() {
        // SAFETY: a node of the list that getifaddrs made and that is not freed yet.
        let node = unsafe { &*at };
        if address_of(node) == Some(wanted) {
            // SAFETY: ifa_name is a string that ends in NUL and lives as long as the list.
            let name = unsafe { CStr::from_ptr(node.ifa_name) };
            found = Some(name.to_string_lossy().into_owned());
        }
        at = node.ifa_next;
    }
    // SAFETY: made by getifaddrs, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    found
}

fn address_of(node: &libc::ifaddrs) -> Option<IpAddr> {
    if node.ifa_addr.is_null() {
        return None;
    }
    // SAFETY: not null, so it points to at least a `sockaddr`.
    match i32::from(unsafe { (*node.ifa_addr).sa_family }) {
        libc::AF_INET => {
            // SAFETY: with this family it is a `sockaddr_in`.
            let address = unsafe { &*node.ifa_addr.cast::<libc::sockaddr_in>() };
            Some(IpAddr::V4(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes())))
        }
        libc::AF_INET6 => {
            // SAFETY: with this family it is a `sockaddr_in6`.
            let address = unsafe { &*node.ifa_addr.cast::<libc::sockaddr_in6>() };
            Some(IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)))
        }
        _ => None,
    }
}

/// Lets a TAP go away when it is closed.
pub(crate) fn forget_tap(file: &OwnedFd) -> io::Result<()> {
    // SAFETY: TUNSETPERSIST takes its argument by value; zero means no.
    unsafe { ioctl(file, rustix::ioctl::IntegerSetter::<SET_PERSIST>::new_usize(0)) }
}

/// Keys and values of some entries of a hash map, and where the next call goes on.
pub(crate) type Batch<K, V> = (Vec<(K, V)>, Option<u32>);

/// Reads `count` entries of a hash map in one call, from `token` on; no token in the answer: that
/// was the end.
pub(crate) fn lookup_batch<K: bytemuck::Pod, V: bytemuck::Pod>(
    map: BorrowedFd<'_>,
    token: Option<u32>,
    count: u32,
) -> io::Result<Batch<K, V>> {
    use std::os::fd::AsRawFd;
    let mut keys = vec![K::zeroed(); count as usize];
    let mut values = vec![V::zeroed(); count as usize];
    let mut from = token.unwrap_or(0);
    let mut next = 0u32;
    let mut got = count;
    let from = if token.is_some() { &raw mut from } else { core::ptr::null_mut() };
    // SAFETY: both arrays have room for `count` entries of the sizes that the map has (the layouts
    // are asserted), and a hash map's position is four bytes.
    let result = unsafe {
        libbpf_sys::bpf_map_lookup_batch(
            map.as_raw_fd(),
            from.cast(),
            (&raw mut next).cast(),
            keys.as_mut_ptr().cast(),
            values.as_mut_ptr().cast(),
            &raw mut got,
            core::ptr::null(),
        )
    };
    // ENOENT: the end of the table; what was read until there counts.
    let ended = result == -libc::ENOENT;
    if result < 0 && !ended {
        return Err(io::Errno::from_raw_os_error(-result));
    }
    let rows = keys.into_iter().zip(values).take(got as usize).collect();
    Ok((rows, (!ended).then_some(next)))
}

/// `SIOCOUTQ` of linux/sockios.h: an `int`.
const UNACKNOWLEDGED: Opcode = 0x5411;

/// Where `tcpi_bytes_acked` is in `struct tcp_info` of linux/tcp.h, and what lies before it.
const TCP_INFO_BYTES: usize = 128;
const BYTES_ACKED: core::ops::Range<usize> = 120..128;

/// Bytes that the peer of a TCP socket has acknowledged.
pub(crate) fn bytes_acked(socket: BorrowedFd<'_>) -> io::Result<u64> {
    use std::os::fd::AsRawFd;
    let mut info = [0u8; TCP_INFO_BYTES];
    let mut length = libc::socklen_t::try_from(TCP_INFO_BYTES).expect("it is short");
    // SAFETY: the kernel writes at most `length` bytes, which `info` has.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        return Err(io::Errno::from_io_error(&error).unwrap_or(io::Errno::INVAL));
    }
    Ok(u64::from_ne_bytes(info[BYTES_ACKED].try_into().expect("eight bytes were cut")))
}

/// Bytes that were given to a TCP socket and that its peer has not acknowledged.
pub(crate) fn bytes_unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: SIOCOUTQ writes one `int`.
    let count: i32 = unsafe { ioctl(socket, rustix::ioctl::Getter::<UNACKNOWLEDGED, i32>::new())? };
    Ok(u64::try_from(count).unwrap_or(0))
}

/// What the kernel says of a trial.
pub(crate) struct TestRun {
    /// What the program returned.
    pub(crate) verdict: u32,
    /// Bytes of the packet afterwards.
    pub(crate) bytes: usize,
    /// Nanoseconds that the program ran.
    pub(crate) run_ns: u32,
}

/// Tries a program on a packet: `BPF_PROG_TEST_RUN`. The packet afterwards is in `out`; `context`,
/// which may be empty, is changed in place.
pub(crate) fn test_run(
    program: BorrowedFd<'_>,
    context: &mut [u8],
    frame: &[u8],
    out: &mut [u8],
    flags: u32,
) -> io::Result<TestRun> {
    use std::os::fd::AsRawFd;
    let bytes = |slice: &[u8]| u32::try_from(slice.len()).map_err(|_| io::Errno::MSGSIZE);
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        data_in: frame.as_ptr().cast(),
        data_size_in: bytes(frame)?,
        data_out: out.as_mut_ptr().cast(),
        data_size_out: bytes(out)?,
        flags,
        ..Default::default()
    };
    if !context.is_empty() {
        options.ctx_size_in = bytes(context)?;
        options.ctx_size_out = options.ctx_size_in;
        options.ctx_in = context.as_ptr().cast();
        options.ctx_out = context.as_mut_ptr().cast();
    }
    // SAFETY: each pointer is that of a slice which outlives the call, with that slice's length;
    // the kernel reads the context before it writes it.
    let result =
        unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
    if result < 0 {
        return Err(io::Errno::from_raw_os_error(-result));
    }
    Ok(TestRun {
        verdict: options.retval,
        bytes: options.data_size_out as usize,
        run_ns: options.duration,
    })
}

//! Checks of the kernel itself: its age, what it can do, and what it lets us do.

use super::Site;
use super::finding::{Finding, Unread, number_if_any, sysctl, text};
use crate::host::Host;
use memchr::memmem;
use std::io;

/// The first release with `bpf_sk_assign_tcp_reqsk`.
const RELEASE_MIN: (u32, u32) = (6, 9);
/// The first that counts the memory of BPF by control group, not by RLIMIT_MEMLOCK.
const RELEASE_CGROUP: (u32, u32) = (5, 11);
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// As it stands among the strings of BTF, each of which ends with a zero.
const KFUNC: &[u8] = b"\0bpf_sk_assign_tcp_reqsk\0";

const CAP_NET_ADMIN: (u32, &str) = (12, "CAP_NET_ADMIN");
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: (u32, &str) = (38, "CAP_PERFMON");
const CAP_BPF: (u32, &str) = (39, "CAP_BPF");

pub(super) fn release(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let (text, release) = running(host)?;
    if release >= RELEASE_MIN {
        return Ok(Finding::ok(format!("Linux {text}")));
    }
    Ok(Finding::fail(
        format!("Linux {text}"),
        "start a kernel of release 6.9 or later; until then deliver by relay",
    ))
}

fn running(host: &dyn Host) -> Result<(String, (u32, u32)), Unread> {
    let text = sysctl(host, "kernel/osrelease")?;
    let mut numbers = text.split(|char: char| !char.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok((text, (major, minor))),
        _ => {
            let error = io::Error::other(format!("{text:?} is no release"));
            Err(Unread { what: "the kernel's release".to_owned(), error })
        }
    }
}

pub(super) fn btf(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    match host.read(BTF) {
        Ok(bytes) => Ok(Finding::ok(format!("{BTF}, {} KiB", bytes.len() / 1024))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Finding::fail(
            format!("there is no {BTF}"),
            "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of distributions are",
        )),
        Err(error) => Err(Unread { what: BTF.to_owned(), error }),
    }
}

pub(super) fn kfunc(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let name = String::from_utf8_lossy(KFUNC).replace('\0', "");
    if memmem::find(&host.read(BTF).map_err(Unread::of(BTF))?, KFUNC).is_some() {
        return Ok(Finding::ok(format!("{BTF} has {name}")));
    }
    Ok(Finding::fail(
        format!("{BTF} has no {name}"),
        "use a kernel of release 6.9 or later, built with CONFIG_BPF_SYSCALL=y, CONFIG_NET=y and \
         CONFIG_SYN_COOKIES=y",
    ))
}

pub(super) fn capabilities(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "/proc/self/status";
    let status = text(host, path)?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).ok_or_else(|| {
        let error = io::Error::other("it has no CapEff");
        Unread { what: path.to_owned(), error }
    })?;
    let has = |bit: u32| held >> bit & 1 == 1;
    let lacks = |(bit, _): &(u32, &str)| {
        // CAP_SYS_ADMIN is what CAP_BPF and CAP_PERFMON were before Linux 5.8.
        !has(*bit) && (*bit == CAP_NET_ADMIN.0 || !has(CAP_SYS_ADMIN))
    };
    let missing: Vec<&str> = [CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON]
        .into_iter()
        .filter(lacks)
        .map(|(_, name)| name)
        .collect();
    if missing.is_empty() {
        return Ok(Finding::ok(format!("CapEff of {path} is {held:x}")));
    }
    Ok(Finding::fail(
        format!("{path}: {} not held", missing.join(", ")),
        "run as root, or give the unit AmbientCapabilities=CAP_BPF CAP_NET_ADMIN CAP_PERFMON",
    ))
}

pub(super) fn bpffs(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "/proc/self/mounts";
    let mounts = text(host, path)?;
    let mut fields = mounts.lines().map(|line| line.split(' ').skip(1));
    if fields.any(|mut rest| rest.next() == Some("/sys/fs/bpf") && rest.next() == Some("bpf")) {
        return Ok(Finding::ok("/sys/fs/bpf is mounted"));
    }
    Ok(Finding::fail(
        format!("{path} has no /sys/fs/bpf of type bpf"),
        "mount -t bpf bpf /sys/fs/bpf (systemd does so by itself; `ip netns exec` hides it: enter \
         a name space by nsenter --net)",
    ))
}

pub(super) fn jit(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let path = "net/core/bpf_jit_enable";
    Ok(match number_if_any(host, path)? {
        // The kernel shows it in its first network name space alone.
        None => Finding::ok(format!("{path} is not shown in this network name space")),
        Some(0) => Finding::fail(format!("{path} is 0"), "switch the compiler on").set(path, 1),
        Some(2) => {
            let remedy = "1 compiles too, without writing every program to the kernel's log";
            Finding::warn(format!("{path} is 2"), remedy).set(path, 1)
        }
        Some(value) => Finding::ok(format!("{path} is {value}")),
    })
}

pub(super) fn memlock(_: &Site, host: &dyn Host) -> Result<Finding, Unread> {
    let (release, numbers) = running(host)?;
    if numbers >= RELEASE_CGROUP {
        return Ok(Finding::ok(format!("Linux {release} counts them by control group instead")));
    }
    let limits = text(host, "/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let soft = line.and_then(|rest| rest.split_whitespace().next()).unwrap_or("unknown");
    if soft == "unlimited" {
        return Ok(Finding::ok("/proc/self/limits: locked memory is unlimited"));
    }
    Ok(Finding::fail(
        format!("/proc/self/limits: locked memory is {soft} bytes at most"),
        "ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit",
    ))
}

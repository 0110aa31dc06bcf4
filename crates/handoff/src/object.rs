//! Loading a program with its maps, and pinning these.

use crate::layout::LAYOUT;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Why the kernel's side cannot be had; each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a program.
    #[error(
        "the kernel does not load the program {program}: {cause} (one-way delivery needs Linux \
         6.9 with BTF and the rights of root; `baton doctor` says what is missing)"
    )]
    Load {
        /// Which.
        program: &'static str,
        /// What libbpf says.
        cause: String,
    },
    /// Pinned maps are of another layout.
    #[error(
        "the maps pinned in {} are of another version of Baton: end its connections, then \
         remove the folder", .0.display()
    )]
    OtherVersion(PathBuf),
    /// Somebody has the interface of held segments.
    #[error(
        "another switch has the interface {} in this network namespace, where there can be one: \
         end it, or run this one in a network namespace of its own",
        crate::TAP
    )]
    TapTaken,
    /// There is no such interface.
    #[error("there is no network interface {0}: `ip link` lists them")]
    NoInterface(String),
    /// The interface has a program of the other side, in the place where ours would be.
    #[error(
        "{interface} has {program} program of Baton: {remedy} (`tc filter del dev {interface} \
         ingress pref {}` takes it off, should it be in nobody's use any more)",
        crate::filter::PRIORITY
    )]
    OtherRole {
        /// Which interface.
        interface: String,
        /// Whose program it has.
        program: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Nothing leads to a server.
    #[error("no route leads to {0}: check its address and `ip route get`")]
    NoRoute(std::net::IpAddr),
    /// The system refused something.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn system(what: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), cause: cause.into() }
    }

    pub(crate) fn bpf(what: impl Into<String>, cause: &libbpf_rs::Error) -> Self {
        Self::System { what: what.into(), cause: io::Error::other(format!("{cause:#}")) }
    }
}

/// A loaded program and its maps.
pub(crate) struct Loaded {
    object: Object,
    maps: BTreeMap<String, MapHandle>,
}

/// What is to be loaded.
pub(crate) struct Plan<'a> {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'a [u8],
    /// Value of `.rodata.site`.
    pub(crate) site: &'a [u8],
    /// Folder in a bpffs.
    pub(crate) pins: &'a Path,
    /// Maps that outlive the process.
    pub(crate) pinned: &'a [&'a str],
    /// Sizes that the operator sets.
    pub(crate) sizes: &'a [(&'a str, u32)],
}

impl Loaded {
    /// Loads it; maps that are pinned already are taken over with what is in them.
    pub(crate) fn load(plan: &Plan<'_>) -> Result<Self, Error> {
        libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, keep_warning)));
        std::fs::create_dir_all(plan.pins).map_err(|cause| {
            Error::system(format!("cannot make {}", plan.pins.display()), cause)
        })?;
        refuse_other_layouts(plan.pins, plan.pinned)?;
        let refused = |cause: &libbpf_rs::Error| Error::Load {
            program: plan.name,
            cause: format!("{cause:#}: {}", last_warnings()),
        };
        let mut open =
            ObjectBuilder::default().open_memory(plan.bytes).map_err(|cause| refused(&cause))?;
        Self::prepare(&mut open, plan)?;
        let object = open.load().map_err(|cause| refused(&cause))?;
        let mut maps = BTreeMap::new();
        for map in object.maps() {
            let name = map.name().to_string_lossy().into_owned();
            let handle = MapHandle::try_from(&map)
                .map_err(|cause| Error::bpf(format!("cannot use the map {name}"), &cause))?;
            maps.insert(name, handle);
        }
        Ok(Self { object, maps })
    }

    fn prepare(open: &mut OpenObject, plan: &Plan<'_>) -> Result<(), Error> {
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            let trouble = |cause: &libbpf_rs::Error| Error::bpf(format!("map {name}"), cause);
            if name.ends_with(".rodata.site") {
                map.set_initial_value(plan.site).map_err(|cause| trouble(&cause))?;
            }
            if let Some((_, entries)) = plan.sizes.iter().find(|(sized, _)| *sized == name) {
                map.set_max_entries(*entries).map_err(|cause| trouble(&cause))?;
            }
            if plan.pinned.contains(&name.as_str()) {
                let path = plan.pins.join(pin_name(&name));
                if let Ok(there) = MapHandle::from_pinned_path(&path) {
                    let same = (there.key_size(), there.value_size(), there.map_type())
                        == (map.key_size(), map.value_size(), map.map_type());
                    if !same {
                        return Err(Error::OtherVersion(plan.pins.to_owned()));
                    }
                    // Its connections count more than another size.
                    map.set_max_entries(there.max_entries()).map_err(|cause| trouble(&cause))?;
                }
                map.set_pin_path(&path).map_err(|cause| trouble(&cause))?;
            }
        }
        Ok(())
    }

    /// A map by its name in the source.
    pub(crate) fn map(&self, name: &str) -> &MapHandle {
        self.maps.get(name).expect("the program has the maps that this crate names")
    }

    pub(crate) fn program(&self, name: &str) -> libbpf_rs::Program<'_> {
        self.object
            .progs()
            .find(|found| found.name() == OsStr::new(name))
            .expect("the object has the programs that this crate names")
    }

    /// Attaches a program to the sockets of a map, for as long as there is the map.
    pub(crate) fn attach_to_sockets(&mut self, program: &str, map: &str) -> Result<(), Error> {
        let sockets = self.map(map).as_fd().as_raw_fd();
        self.object
            .progs_mut()
            .find(|found| found.name() == OsStr::new(program))
            .expect("the object has the programs that this crate names")
            .attach_sockmap(sockets)
            .map_err(|cause| Error::bpf("cannot attach to sockets", &cause))
    }
}

/// What libbpf last warned of: the end of the verifier's log is what explains a refusal.
static WARNINGS: Mutex<String> = Mutex::new(String::new());

/// Characters of it that are kept.
const WARNINGS_MAX: usize = 1500;

fn keep_warning(_level: libbpf_rs::PrintLevel, text: String) {
    let mut kept = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let from = text.char_indices().rev().nth(WARNINGS_MAX - 1).map_or(0, |(at, _)| at);
    if text.len() > WARNINGS_MAX / 4 {
        kept.clear();
    }
    if kept.len() <= WARNINGS_MAX {
        kept.push_str(&text[from..]);
    }
}

fn last_warnings() -> String {
    core::mem::take(&mut *WARNINGS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The number of an interface.
pub(crate) fn index_of(interface: &str) -> Result<i32, Error> {
    let path = format!("/sys/class/net/{interface}/ifindex");
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None);
    let index = socket.and_then(|socket| netdevice::name_to_index(&socket, interface));
    let index = index.map_err(|error| match error {
        Errno::NODEV => Error::NoInterface(interface.to_owned()),
        error => Error::system(&path, error),
    })?;
    i32::try_from(index).map_err(|_| Error::system(path, io::ErrorKind::InvalidData))
}

/// The file that a map is pinned as.
fn pin_name(map: &str) -> String {
    format!("{map}-{LAYOUT}")
}

/// Maps of another layout have connections that this program would misread, and that go on by the
/// program that has them: they are no reason to begin with empty ones.
fn refuse_other_layouts(pins: &Path, pinned: &[&str]) -> Result<(), Error> {
    let unread = |cause| Error::system(format!("cannot read {}", pins.display()), cause);
    for file in std::fs::read_dir(pins).map_err(unread)? {
        let name = file.map_err(unread)?.file_name();
        let name = name.to_string_lossy();
        // Before layouts had numbers there was none.
        let map = name.rsplit_once('-').map_or(&*name, |(map, _)| map);
        if pinned.contains(&map) && name != pin_name(map) {
            return Err(Error::OtherVersion(pins.to_owned()));
        }
    }
    Ok(())
}

/// Removes what a program left in its folder of the bpffs.
pub(crate) fn unpin(pins: &Path, maps: &[&str]) -> io::Result<()> {
    for map in maps {
        match std::fs::remove_file(pins.join(pin_name(map))) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            _ => {}
        }
    }
    match std::fs::remove_dir(pins) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

/// Reads one value of a map.
pub(crate) fn get<K: bytemuck::Pod, V: bytemuck::Pod>(map: &MapHandle, key: &K) -> Option<V> {
    let bytes = map.lookup(bytemuck::bytes_of(key), MapFlags::ANY).ok()??;
    bytemuck::try_pod_read_unaligned(&bytes).ok()
}

/// Writes one value.
pub(crate) fn put<K: bytemuck::Pod, V: bytemuck::Pod>(
    map: &MapHandle,
    key: &K,
    value: &V,
) -> Result<(), Error> {
    map.update(bytemuck::bytes_of(key), bytemuck::bytes_of(value), MapFlags::ANY)
        .map_err(|cause| Error::bpf("cannot write to a map", &cause))
}

/// The sum over all processors of each counter.
pub(crate) fn counts(map: &MapHandle) -> Vec<(&'static str, u64)> {
    let sum = |(at, name): (usize, &&'static str)| {
        let key = u32::try_from(at).expect("there are few counters").to_ne_bytes();
        let values = map.lookup_percpu(&key, MapFlags::ANY).ok().flatten().unwrap_or_default();
        let word = |bytes: &Vec<u8>| {
            bytes
                .get(..8)
                .map_or(0, |b| u64::from_ne_bytes(b.try_into().expect("eight bytes were cut")))
        };
        (*name, values.iter().map(word).sum())
    };
    crate::COUNTS.iter().enumerate().map(sum).collect()
}

#[cfg(test)]
mod tests {
    //! Method: a folder with files of made-up names; reading names needs no bpffs.

    use super::*;

    const PINNED: &[&str] = &["flows", "owned_flows"];

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("baton-pins-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn touch(&self, name: &str) {
            std::fs::write(self.0.join(name), "").unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _gone = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn maps_of_another_layout_are_refused_and_those_of_this_one_taken() {
        let other = format!("flows-{}", LAYOUT + 1);
        for (name, fits) in [
            (pin_name("flows"), true),
            (pin_name("owned_flows"), true),
            ("of-somebody-else".to_owned(), true),
            (other, false),
            ("flows-0".to_owned(), false),
            ("flows-next".to_owned(), false),
            ("owned_flows".to_owned(), false),
        ] {
            let folder = Folder::new(&name);
            folder.touch(&name);
            let found = refuse_other_layouts(&folder.0, PINNED);
            assert_eq!(found.is_ok(), fits, "{name}");
            assert!(fits || matches!(found, Err(Error::OtherVersion(at)) if at == folder.0));
        }
    }

    #[test]
    fn what_was_pinned_is_removed_with_its_folder() {
        let folder = Folder::new("removed");
        PINNED.iter().for_each(|map| folder.touch(&pin_name(map)));
        unpin(&folder.0, PINNED).unwrap();
        assert!(!folder.0.exists());
    }
}

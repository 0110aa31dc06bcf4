//! Attaching programs to interfaces, asking whether they are there, and taking them off.

use crate::filter::{HANDLE, PRIORITY, Role};
use crate::object::{Error, Loaded, index_of};
use libbpf_rs::ErrorKind::{InvalidInput, NotFound};
use libbpf_rs::{TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder, Xdp, XdpFlags};
use std::os::fd::{AsFd, BorrowedFd};

impl Loaded {
    /// Attaches a program to the driver of an interface, in the place of one that was there.
    pub(crate) fn attach_early(&self, program: &str, interface: &str) -> Result<(), Error> {
        let program = self.program(program);
        Xdp::new(program.as_fd())
            .attach(index_of(interface)?, XdpFlags::DRV_MODE)
            .map_err(|cause| Error::bpf(format!("no XDP on the interface {interface}"), &cause))
    }

    /// Attaches the program for packets that come in, in the place of one that this role attached
    /// before.
    pub(crate) fn attach(&self, role: Role, interface: &str) -> Result<(), Error> {
        role.may_have(interface)?;
        self.attach_to(role.ingress(), interface, Way::In)
    }

    /// Attaches a program to an interface, in the place of whatever was attached before.
    pub(crate) fn attach_to(&self, program: &str, interface: &str, way: Way) -> Result<(), Error> {
        let program = self.program(program);
        let mut hook = hook(program.as_fd(), index_of(interface)?, way);
        let trouble =
            |cause| Error::bpf(format!("cannot attach to the interface {interface}"), &cause);
        // The hook may be there already, of us or of others.
        let _there = hook.create();
        hook.attach().map_err(trouble)?;
        Ok(())
    }

    /// Whether this very program is in its place at an interface; `None`: the system could not be
    /// asked.
    pub(crate) fn is_attached(&self, program: &str, interface: &str, way: Way) -> Option<bool> {
        let program = self.program(program);
        let ours = libbpf_rs::Program::id_from_fd(program.as_fd()).ok()?;
        let index = match index_of(interface) {
            Ok(index) => index,
            Err(Error::NoInterface(_)) => return Some(false),
            Err(_) => return None,
        };
        hook(program.as_fd(), index, way).query().map_or_else(
            // No program is there, or no place for one: so the kernel says both.
            |error| matches!(error.kind(), NotFound | InvalidInput).then_some(false),
            |there| Some(there == ours),
        )
    }
}

/// Which way packets go through an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

fn hook(program: BorrowedFd<'_>, index: i32, way: Way) -> TcHook {
    let point = if way == Way::In { TC_INGRESS } else { TC_EGRESS };
    let mut builder = TcHookBuilder::new(program);
    builder.ifindex(index).replace(true).handle(HANDLE).priority(PRIORITY);
    builder.hook(point)
}

/// Takes a role's own programs off an interface; none there is no error.
///
/// # Errors
/// No such interface, or the system's; [`Error::OtherRole`]: nothing was taken off.
pub(crate) fn detach(role: Role, interface: &str) -> Result<(), Error> {
    role.may_have(interface)?;
    match role {
        Role::Front => {
            let nothing = nothing()?;
            let _gone = Xdp::new(nothing.as_fd()).detach(index_of(interface)?, XdpFlags::DRV_MODE);
        }
        Role::Back => detach_from(interface, Way::Out)?,
    }
    if Role::at(interface)? == Some(role) { detach_from(interface, Way::In) } else { Ok(()) }
}

/// In the place of a program where it does not matter which.
fn nothing() -> Result<std::fs::File, Error> {
    std::fs::File::open("/dev/null").map_err(|cause| Error::system("cannot open /dev/null", cause))
}

/// Takes the filter of one way off an interface; none there is no error.
pub(crate) fn detach_from(interface: &str, way: Way) -> Result<(), Error> {
    let index = index_of(interface)?;
    // Its place among the filters says which one is meant.
    let nothing = nothing()?;
    let _gone = hook(nothing.as_fd(), index, way).detach();
    Ok(())
}

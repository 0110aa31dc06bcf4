//! Whose program is at our place among the filters of an interface.
//!
//! By rtnetlink(7): the filter itself carries its program's name, which anybody may read. To ask
//! for a program by its number takes CAP_SYS_ADMIN, which an agent need not have. Layouts are those
//! of linux/rtnetlink.h and linux/pkt_cls.h; what comes back is read as if it were not the
//! kernel's.

use crate::object::{Error, index_of};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt,
};
use std::io;
use std::time::Duration;

/// Our filter's place among those of an interface: known, so that a successor replaces it.
pub(crate) const HANDLE: u32 = 0xba7;
pub(crate) const PRIORITY: u32 = 0xba7;

/// The kernel answers at once; so long, and it will not.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Bytes of an answer: a filter has a few dozen.
const ANSWER_BYTES: usize = 8192;

/// Bytes of `struct nlmsghdr` and of `struct tcmsg`.
const HEAD_BYTES: usize = 16;
const FILTER_BYTES: usize = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const RTM_NEWTFILTER: u16 = 44;
const RTM_GETTFILTER: u16 = 46;
/// What comes in, at a clsact.
const INGRESS: u32 = 0xffff_fff2;
/// Packets of all protocols.
const ETH_P_ALL: u16 = 3;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_NAME: u16 = 7;
/// The two highest bits of an attribute's type are flags.
const ATTRIBUTE_KIND: u16 = 0x3fff;

/// Which of our programs: there is one place for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Front,
    Back,
}

impl Role {
    /// The program that it has where packets come in.
    pub(crate) fn ingress(self) -> &'static str {
        match self {
            Self::Front => "front_ingress",
            Self::Back => "back_ingress",
        }
    }

    /// Whose program is at our place where packets come in: `None` where there is none, or one that
    /// is none of ours.
    ///
    /// # Errors
    /// No such interface, or the system's.
    pub(crate) fn at(interface: &str) -> Result<Option<Self>, Error> {
        let asked = |cause| Error::system(format!("cannot read the filters of {interface}"), cause);
        let name = program_at(index_of(interface)?).map_err(asked)?;
        Ok([Self::Front, Self::Back]
            .into_iter()
            .find(|role| name.as_deref() == Some(role.ingress())))
    }

    /// That the other one's program is not at an interface.
    ///
    /// # Errors
    /// [`Error::OtherRole`], and those of [`Role::at`].
    pub(crate) fn may_have(self, interface: &str) -> Result<(), Error> {
        match (Self::at(interface)?, self) {
            (Some(Self::Front), Self::Back) => Err(Error::OtherRole {
                interface: interface.to_owned(),
                program: "the front-end's",
                remedy: "an agent runs on the servers, or needs an interface of its own",
            }),
            (Some(Self::Back), Self::Front) => Err(Error::OtherRole {
                interface: interface.to_owned(),
                program: "an agent's",
                remedy: "a front-end needs an interface of its own",
            }),
            _ => Ok(()),
        }
    }
}

/// The name of the program at our place; `None`: no filter is there, or no place for one.
fn program_at(index: i32) -> io::Result<Option<String>> {
    let flags = SocketFlags::CLOEXEC;
    // NETLINK_ROUTE is protocol zero.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER_MAX))?;
    // A socket that is not connected speaks to the kernel.
    send(&socket, &request(index), SendFlags::empty())?;
    let mut answer = [0; ANSWER_BYTES];
    let (length, _) = recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
    read(&answer[..length])
}

fn request(index: i32) -> Vec<u8> {
    let kind = *b"bpf\0";
    let length = HEAD_BYTES + FILTER_BYTES + 4 + kind.len();
    let mut request = u32::try_from(length).expect("it is short").to_ne_bytes().to_vec();
    request.extend(RTM_GETTFILTER.to_ne_bytes());
    request.extend(NLM_F_REQUEST.to_ne_bytes());
    // Serial number and our address: the socket asks once, and the kernel fills in the other. Then
    // the family, any, and three bytes between.
    request.extend([0; 12]);
    request.extend(index.to_ne_bytes());
    request.extend(HANDLE.to_ne_bytes());
    request.extend(INGRESS.to_ne_bytes());
    request.extend((PRIORITY << 16 | u32::from(ETH_P_ALL.to_be())).to_ne_bytes());
    request.extend(u16::try_from(4 + kind.len()).expect("it is short").to_ne_bytes());
    request.extend(TCA_KIND.to_ne_bytes());
    request.extend(kind);
    request
}

/// What an answer says.
fn read(answer: &[u8]) -> io::Result<Option<String>> {
    let odd = || io::Error::other("the kernel's answer makes no sense");
    let length = u32_at(answer, 0).ok_or_else(odd)? as usize;
    let body = answer.get(HEAD_BYTES..length).ok_or_else(odd)?;
    match u16_at(answer, 4) {
        Some(NLMSG_ERROR) => {
            let number = u32_at(body, 0).ok_or_else(odd)?.cast_signed().wrapping_neg();
            match Errno::from_raw_os_error(number) {
                // No filter, or no place for one.
                Errno::NOENT | Errno::INVAL => Ok(None),
                error => Err(error.into()),
            }
        }
        Some(RTM_NEWTFILTER) => Ok(name(body)),
        _ => Err(odd()),
    }
}

/// The program's name in a filter: what attaches it writes `name:[number]`.
fn name(filter: &[u8]) -> Option<String> {
    let options = attribute(filter.get(FILTER_BYTES..)?, TCA_OPTIONS)?;
    let bytes = attribute(options, TCA_BPF_NAME)?;
    let bytes = bytes.split(|byte| matches!(byte, 0 | b':')).next()?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// The value of an attribute.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(4..length)?;
        if u16_at(bytes, 2)? & ATTRIBUTE_KIND == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    //! Method: answers as the kernel writes them, whole and cut short at every byte.

    use super::*;

    fn piece(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("it is short");
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEAD_BYTES + body.len()).expect("it is short");
        let head = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
        [&head, body].concat()
    }

    #[test]
    fn the_name_of_a_filters_program_is_read_and_no_bytes_are_believed() {
        let named = piece(TCA_BPF_NAME, b"back_ingress:[17]\0");
        let options = piece(TCA_OPTIONS | 0x8000, &[piece(6, &[1; 7]), named].concat());
        let body = [&[0; FILTER_BYTES][..], &piece(TCA_KIND, b"bpf\0"), &options].concat();
        let whole = message(RTM_NEWTFILTER, &body);
        assert_eq!(read(&whole).expect("it is whole").as_deref(), Some(Role::Back.ingress()));
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
            // The same, of a length that is said.
            let cut = message(RTM_NEWTFILTER, &body[..length.min(body.len() - 1)]);
            assert!(
                read(&cut)
                    .expect("its length is said")
                    .is_none_or(|name| name == Role::Back.ingress())
            );
        }
    }

    #[test]
    fn no_filter_is_none_and_another_refusal_an_error() {
        let refused =
            |errno: Errno| message(NLMSG_ERROR, &errno.raw_os_error().wrapping_neg().to_ne_bytes());
        assert_eq!(read(&refused(Errno::NOENT)).expect("an answer"), None);
        assert_eq!(read(&refused(Errno::INVAL)).expect("an answer"), None);
        assert_eq!(
            read(&refused(Errno::PERM)).unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        assert!(read(&message(99, &[])).is_err());
    }
}

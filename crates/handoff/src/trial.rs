//! One packet through a program without a network: what it would do with it. This is the kernel's
//! own `BPF_PROG_TEST_RUN`, so the very instructions run that run on an interface, with the same
//! maps; only the verdict is not carried out. For the fixtures in `tests/packets.rs`, which are the
//! programs' specification, as katran's are.

use crate::object::{Error, Loaded};
use crate::{Back, Front, sys};
use std::os::fd::AsFd;

/// Room for what a program adds to a frame.
const GROWTH: usize = 256;

/// `struct __sk_buff` of linux/bpf.h: its size, and the places of what a trial may set.
const CONTEXT_BYTES: usize = 192;
const MARK_AT: usize = 8;
const IFINDEX_AT: usize = 40;
const GSO_SIZE_AT: usize = 176;

/// `BPF_F_TEST_SKB_CHECKSUM_COMPLETE`: the sum over the packet is known, as from most hardware, and
/// has to be right afterwards.
const SUMMED: u32 = 4;

/// A packet and the circumstances in which it comes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// From its Ethernet header on.
    pub frame: &'a [u8],
    /// The interface it comes through, of the namespace of the calling thread; 1 is `lo`.
    pub ifindex: u32,
    /// Its mark.
    pub mark: u32,
    /// Bytes of payload of each segment that the kernel put together to this packet; 0: it is one.
    pub gso_size: u32,
    /// Whether it comes with the sum over its bytes. The kernel refuses the trial if the program
    /// leaves that sum wrong.
    pub summed: bool,
}

impl<'a> Trial<'a> {
    /// A frame that comes through an interface, and nothing special about it.
    pub fn new(frame: &'a [u8], ifindex: u32) -> Self {
        Self { frame, ifindex, mark: 0, gso_size: 0, summed: false }
    }
}

/// What a program did with a packet.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Tried {
    /// `TC_ACT_*`, or `XDP_*` of the driver's program.
    pub verdict: i32,
    /// The packet afterwards.
    pub frame: Vec<u8>,
    /// Its mark afterwards.
    pub mark: u32,
    /// How long the program ran by the kernel's clock, nanoseconds. The clock's own reading, some
    /// 20 ns, is in it.
    pub run_ns: u32,
}

/// Runs a program on a frame; without `context` in none.
fn attempt(
    loaded: &Loaded,
    program: &str,
    frame: &[u8],
    context: &mut [u8],
    flags: u32,
) -> Result<Tried, Error> {
    let mut after = vec![0; frame.len() + GROWTH];
    let run = sys::test_run(loaded.program(program).as_fd(), context, frame, &mut after, flags)
        .map_err(|cause| Error::system(format!("no trial of {program}"), cause))?;
    after.truncate(run.bytes);
    let verdict = run.verdict.cast_signed();
    Ok(Tried { verdict, frame: after, mark: 0, run_ns: run.run_ns })
}

fn attempt_at_tc(loaded: &Loaded, program: &str, trial: &Trial<'_>) -> Result<Tried, Error> {
    let mut context = [0; CONTEXT_BYTES];
    let set = [(MARK_AT, trial.mark), (IFINDEX_AT, trial.ifindex), (GSO_SIZE_AT, trial.gso_size)];
    for (at, value) in set {
        context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let flags = if trial.summed { SUMMED } else { 0 };
    let tried = attempt(loaded, program, trial.frame, &mut context, flags)?;
    let mark = context[MARK_AT..MARK_AT + 4].try_into().expect("four bytes were cut");
    Ok(Tried { mark: u32::from_ne_bytes(mark), ..tried })
}

impl Front {
    /// What the program does with a packet.
    ///
    /// # Errors
    /// The kernel refuses the frame or the circumstances.
    #[doc(hidden)]
    pub fn try_packet(&self, trial: &Trial<'_>) -> Result<Tried, Error> {
        attempt_at_tc(&self.loaded, "front_ingress", trial)
    }

    /// What the driver's program does with a packet.
    ///
    /// # Errors
    /// The kernel refuses the frame.
    #[doc(hidden)]
    pub fn try_early(&self, frame: &[u8]) -> Result<Tried, Error> {
        attempt(&self.loaded, "front_early", frame, &mut [], 0)
    }
}

impl Back {
    /// What the program does with a packet that comes in.
    ///
    /// # Errors
    /// The kernel refuses the frame or the circumstances.
    #[doc(hidden)]
    pub fn try_packet(&self, trial: &Trial<'_>) -> Result<Tried, Error> {
        attempt_at_tc(&self.loaded, "back_ingress", trial)
    }

    /// What the program does with a packet that leaves.
    ///
    /// # Errors
    /// The kernel refuses the frame or the circumstances.
    #[doc(hidden)]
    pub fn try_reply(&self, trial: &Trial<'_>) -> Result<Tried, Error> {
        attempt_at_tc(&self.loaded, "back_egress", trial)
    }
}

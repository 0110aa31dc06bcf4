//! Whether a server may be handed connections.
//!
//! A hand-over to a host with another key, or without the program, is lost without a word, and the
//! client waits in vain. So a server whose agent is known gets none before the agent has confirmed
//! that its host takes them; its requests are relayed until then. Once it has, the agent may die:
//! what takes connections over is pinned in the kernel. Only a newer report takes that back, or
//! that the server was down since the last one: a host that began anew has nothing pinned.

use super::doubt::Doubt;
use super::fabric::{Owned, Terms};
use agent::LoadReport;
use policy::ServerId;
use std::net::SocketAddr;

/// Reports in a row that say that letters are lost before connections that need them are given up:
/// agents are restarted before front-ends when the key is changed.
const LOST_AFTER: u32 = 5;
/// A host whose uptime is less than it was by more than this began anew.
const UPTIME_SLACK_S: f64 = 1.0;

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody speaks for it: it is believed, as it always was.
    Unchecked,
    /// Its agent has confirmed that it takes connections over, and nothing since.
    Confirmed,
    /// It gets none, or for [`Doubt::OtherAddress`] none of that address.
    Doubted(Doubt),
}

impl Standing {
    /// Its name in status and events.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::Confirmed => "confirmed",
            Self::Doubted(_) => "doubted",
        }
    }
}

/// A server with whoever speaks for it: another address or agent is another matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) address: SocketAddr,
    pub(super) agent: Option<String>,
}

/// A server, and what is known of it.
#[derive(Clone, Debug)]
struct Record {
    identity: Identity,
    standing: Standing,
    /// The addresses whose connections it takes over, by its agent's last word.
    vips: Vec<SocketAddr>,
    uptime_s: Option<f64>,
    /// Whether it was down since its agent last answered.
    gone: bool,
    /// Reports in a row with something against it.
    bad: u32,
    /// Reports in a row by which letters are lost.
    deaf: u32,
    /// What its agent says that it has, until the next report bears out whose word that is.
    listed: Option<Owned>,
}

impl Record {
    fn new(identity: Identity) -> Self {
        let standing = match identity.agent {
            Some(_) => Standing::Doubted(Doubt::Silent(None)),
            None => Standing::Unchecked,
        };
        let (vips, uptime_s, listed) = (Vec::new(), None, None);
        Self { identity, standing, vips, uptime_s, gone: false, bad: 0, deaf: 0, listed }
    }

    /// Whether it is handed connections of the addresses that it takes over.
    fn believed(&self) -> bool {
        matches!(self.standing, Standing::Confirmed | Standing::Doubted(Doubt::OtherAddress(_)))
    }

    fn takes(&self, vip: SocketAddr) -> bool {
        let confirmed = self.believed() && !self.gone && self.vips.contains(&vip);
        self.standing == Standing::Unchecked || confirmed
    }

    /// The addresses whose connections its agent knows, by a last report with nothing else against
    /// it. An agent that only reports, or of another server, knows nothing of those that are here.
    fn knows(&self) -> &[SocketAddr] {
        if self.believed() && !self.gone && self.bad == 0 { &self.vips } else { &[] }
    }

    /// Whether its host began anew since it was last heard of.
    fn began_anew(&mut self, uptime_s: Option<f64>) -> bool {
        let Some(now_s) = uptime_s else { return false };
        let before_s = self.uptime_s.replace(now_s);
        before_s.is_some_and(|before_s| now_s + UPTIME_SLACK_S < before_s)
    }

    /// What a report makes of its standing; `None`: it stays.
    fn weigh(&mut self, verdict: Result<(), Doubt>, anew: bool) -> Option<Standing> {
        let deaf = verdict.as_ref().is_err_and(Doubt::is_deaf);
        match verdict {
            Ok(()) | Err(Doubt::OtherAddress(_)) => {
                (self.bad, self.deaf) = (0, 0);
                Some(verdict.map_or_else(Standing::Doubted, |()| Standing::Confirmed))
            }
            // It says nothing of the program that another may have left in the kernel.
            Err(Doubt::NoProgram) if self.deaf > 0 && !anew => None,
            Err(doubt) => {
                self.deaf = if deaf { self.deaf.saturating_add(1) } else { 0 };
                self.bad = self.bad.saturating_add(1);
                let patient = self.believed() && !anew && self.bad < doubt.patience();
                (!patient).then_some(Standing::Doubted(doubt))
            }
        }
    }
}

/// The standing of each server.
#[derive(Debug, Default)]
pub(super) struct Trust {
    servers: Vec<Option<Record>>,
    /// The addresses whose connections are handed over.
    vips: Vec<SocketAddr>,
    /// Servers that do not get the connections of all of them: with none, nobody has to look.
    limited: usize,
}

/// A standing that became another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) server: String,
    pub(super) from: Standing,
    pub(super) to: Standing,
}

impl Turn {
    /// What it was before, in a word; `None`: nothing was known.
    pub(super) fn was(&self) -> Option<&'static str> {
        (self.from != Standing::Doubted(Doubt::Silent(None))).then(|| self.from.name())
    }

    /// Whether answers that the kernel repeats have to be taken back.
    pub(super) fn ends_hand_overs(&self) -> bool {
        let partly = matches!(self.from, Standing::Doubted(Doubt::OtherAddress(_)));
        let had = partly || !matches!(self.from, Standing::Doubted(_));
        had && matches!(self.to, Standing::Doubted(_))
    }
}

impl Trust {
    /// Connections of these addresses are handed over. Whether a server that took all of them does
    /// not any more: what the kernel repeats knows no addresses.
    pub(super) fn expect(&mut self, vips: &[SocketAddr]) -> bool {
        let before = self.limited;
        self.vips = vips.to_vec();
        self.count();
        self.limited > before
    }

    /// A server has joined, or is as it was.
    pub(super) fn place(&mut self, id: ServerId, identity: Identity) {
        if self.servers.len() <= id.index() {
            self.servers.resize(id.index() + 1, None);
        }
        let place = &mut self.servers[id.index()];
        if place.as_ref().is_some_and(|known| known.identity == identity) {
            return;
        }
        *place = Some(Record::new(identity));
        self.count();
    }

    /// Its agent has answered; what that changed.
    pub(super) fn heard(
        &mut self,
        id: ServerId,
        terms: &Terms,
        report: &LoadReport,
    ) -> Option<Turn> {
        let vips = std::mem::take(&mut self.vips);
        let known = self.record(id);
        let to = known.and_then(|known| {
            known.gone = false;
            let verdict = terms.judge(report, &known.identity.name, &vips);
            if let Some(theirs) = &report.takes_over {
                known.vips.clone_from(&theirs.vips);
            }
            let anew = known.began_anew(report.uptime_s);
            known.weigh(verdict, anew)
        });
        self.vips = vips;
        let turn = to.and_then(|to| self.set(id, to));
        self.count();
        turn
    }

    /// Its agent has not answered: that matters only to a server that was never confirmed, or was
    /// down since.
    pub(super) fn silent(&mut self, id: ServerId, why: &str) -> Option<Turn> {
        let known = self.record(id)?;
        let unheard = matches!(known.standing, Standing::Doubted(Doubt::Silent(_)));
        let lost = known.believed() && known.gone;
        if !unheard && !lost {
            return None;
        }
        self.set(id, Standing::Doubted(Doubt::Silent(Some(why.to_owned()))))
    }

    /// The supervisor has it down: its host may begin anew. Said as long as it is.
    pub(super) fn is_down(&mut self, id: ServerId) {
        let Some(known) = self.record(id).filter(|known| !known.gone) else { return };
        known.gone = true;
        self.count();
    }

    /// Its agent has said what it has. Whoever answered may be another than whoever reported last:
    /// it counts when the next report is as good.
    pub(super) fn listed(&mut self, id: ServerId, owned: Owned) {
        let Some(known) = self.record(id) else { return };
        let vips = known.knows().to_vec();
        known.listed = (!vips.is_empty()).then_some(Owned { vips, ..owned });
    }

    /// What it has, of the addresses that its agent knew before it was asked and knows still; once,
    /// just after a report.
    pub(super) fn borne_out(&mut self, id: ServerId) -> Option<Owned> {
        let known = self.record(id)?;
        let mut owned = known.listed.take()?;
        owned.vips.retain(|vip| known.knows().contains(vip));
        (!owned.vips.is_empty()).then_some(owned)
    }

    fn record(&mut self, id: ServerId) -> Option<&mut Record> {
        let place = self.servers.get_mut(id.index())?.as_mut();
        place.filter(|known| known.identity.agent.is_some())
    }

    /// One turn for each other kind of standing; what is said of the same may change.
    fn set(&mut self, id: ServerId, to: Standing) -> Option<Turn> {
        let known = self.record(id)?;
        let from = std::mem::replace(&mut known.standing, to.clone());
        let server = known.identity.name.clone();
        self.count();
        let kind = |one: &Standing| match one {
            Standing::Doubted(doubt) => Some(doubt.name()),
            _ => None,
        };
        let same = kind(&from) == kind(&to) && from != Standing::Doubted(Doubt::Silent(None));
        (!same).then_some(Turn { server, from, to })
    }

    fn count(&mut self) {
        let limited = |known: &&Record| !self.vips.iter().all(|vip| known.takes(*vip));
        self.limited = self.servers.iter().flatten().filter(limited).count();
    }

    /// What is known of a server.
    pub(super) fn standing(&self, id: ServerId) -> Option<&Standing> {
        self.known(id).map(|known| &known.standing)
    }

    fn known(&self, id: ServerId) -> Option<&Record> {
        self.servers.get(id.index())?.as_ref()
    }

    /// Whether a server may be handed the connections of an address.
    pub(super) fn takes(&self, id: ServerId, vip: SocketAddr) -> bool {
        self.known(id).is_none_or(|known| known.takes(vip))
    }

    /// Whether a server may be handed all connections: what the kernel repeats, it repeats for
    /// every address.
    pub(super) fn takes_all(&self, id: ServerId) -> bool {
        self.vips.iter().all(|vip| self.takes(id, *vip))
    }

    /// Whether all may.
    pub(super) fn all_take(&self) -> bool {
        self.limited == 0
    }

    /// Whether all that was last said of a server is good.
    pub(super) fn is_content(&self, id: ServerId) -> bool {
        let well = |known: &Record| {
            let doubted = matches!(known.standing, Standing::Doubted(_));
            !doubted && !known.gone && known.bad == 0
        };
        self.known(id).is_none_or(well)
    }

    /// Whether a server would hear that it is to give a connection of an address up. One whose
    /// agent only reports may have a program yet, for what is pinned stays: it keeps what it has,
    /// and that is not given up either.
    pub(super) fn hears(&self, id: ServerId, vip: SocketAddr) -> bool {
        let Some(known) = self.known(id) else { return true };
        match &known.standing {
            Standing::Doubted(Doubt::NoProgram) => false,
            Standing::Doubted(Doubt::OtherAddress(_)) => known.vips.contains(&vip),
            _ => !self.is_deaf(id),
        }
    }

    /// Whether what is sent to a server in an envelope is lost.
    pub(super) fn is_deaf(&self, id: ServerId) -> bool {
        matches!(self.standing(id), Some(Standing::Doubted(doubt)) if doubt.is_deaf())
    }

    /// Whether that is so for good, as far as can be told: connections there that need envelopes
    /// are given up.
    pub(super) fn is_lost(&self, id: ServerId) -> bool {
        self.is_deaf(id) && self.known(id).is_some_and(|known| known.deaf >= LOST_AFTER)
    }

    /// Whether its agent has only reported for so long that whatever program may be there takes no
    /// hand-over any more.
    pub(super) fn takes_nothing(&self, id: ServerId) -> bool {
        let silent = self.standing(id) == Some(&Standing::Doubted(Doubt::NoProgram));
        silent && self.known(id).is_some_and(|known| known.bad >= LOST_AFTER)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test says no")]
mod tests;

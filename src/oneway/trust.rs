//! Whether a server may be handed connections: what its agent says against what this front-end
//! needs.
//!
//! A hand-over to a host with another key, or without the program, is lost without a word, and the
//! client waits in vain. So a server whose agent is known gets none before the agent has confirmed
//! that its host takes them; its requests are relayed until then. Once it has, the agent may die:
//! what takes connections over is pinned in the kernel. Only a newer report takes that back.

use super::fabric::Terms;
use agent::LoadReport;
use policy::ServerId;
use std::net::SocketAddr;

/// Why a server gets no connections handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Its agent was not heard yet: why not, if it was asked.
    Silent(Option<String>),
    /// Its agent only reports.
    NoProgram,
    /// The program is not attached to these interfaces.
    Detached(Vec<String>),
    /// It opens no envelopes of ours, for they are sealed with another key.
    OtherKey,
    /// It opens envelopes of this version.
    OtherEnvelope(u8),
    /// It takes envelopes from this port.
    OtherPort(u16),
    /// It does not take over the connections of this address.
    OtherAddress(SocketAddr),
    /// The served program does not accept.
    Unhealthy(String),
    /// The doctor finds something that stops hand-overs.
    Fault(agent::Fault),
}

impl Doubt {
    /// Its name in metrics and status.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Silent(_) => "silent",
            Self::NoProgram => "no-program",
            Self::Detached(_) => "detached",
            Self::OtherKey => "other-key",
            Self::OtherEnvelope(_) => "other-envelope",
            Self::OtherPort(_) => "other-port",
            Self::OtherAddress(_) => "other-address",
            Self::Unhealthy(_) => "unhealthy",
            Self::Fault(_) => "fault",
        }
    }

    /// What is the matter, and what to do.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Silent(None) => "its agent has not been asked yet".to_owned(),
            Self::Silent(Some(why)) => format!(
                "its agent has not confirmed that it takes connections over: {why}; run `baton \
                 agent` there"
            ),
            Self::NoProgram => "its agent takes no connections over, it only reports; run `baton \
                                agent` there without --report-only, of this version"
                .to_owned(),
            Self::Detached(from) => format!(
                "its program is not attached to {}; start its agent again",
                from.join(" and ")
            ),
            Self::OtherKey => "its agent has another key; give both the same key of [oneway], and \
                               start the agent again"
                .to_owned(),
            Self::OtherEnvelope(theirs) => format!(
                "its agent reads envelopes of version {theirs}; run the same version of Baton there"
            ),
            Self::OtherPort(theirs) => format!(
                "its agent takes envelopes from UDP port {theirs}; give both the same port of \
                 [oneway], and start the agent again"
            ),
            Self::OtherAddress(vip) => format!(
                "its agent does not take over the connections of {vip}; give it the same \
                 configuration, and start it again"
            ),
            Self::Unhealthy(why) => format!("its agent says that it does not accept: {why}"),
            Self::Fault(fault) => {
                let agent::Fault { check, evidence, remedy, .. } = fault;
                format!("its agent's check {check} fails: {evidence}; {remedy}")
            }
        }
    }

    /// Whether letters to the server are lost, so that connections there cannot be moved either.
    pub(super) fn is_deaf(&self) -> bool {
        matches!(
            self,
            Self::Detached(_) | Self::OtherKey | Self::OtherEnvelope(_) | Self::OtherPort(_)
        )
    }
}

impl Terms {
    /// What a report has against hand-overs for connections to `vips`.
    pub(super) fn judge(&self, report: &LoadReport, vips: &[SocketAddr]) -> Result<(), Doubt> {
        let Some(theirs) = &report.takes_over else { return Err(Doubt::NoProgram) };
        if theirs.envelope != self.envelope {
            return Err(Doubt::OtherEnvelope(theirs.envelope));
        }
        if theirs.key_check != self.key_check {
            return Err(Doubt::OtherKey);
        }
        if theirs.port != self.port {
            return Err(Doubt::OtherPort(theirs.port));
        }
        if !theirs.attached {
            return Err(Doubt::Detached(theirs.detached_from.clone()));
        }
        if let Some(missing) = vips.iter().find(|vip| !theirs.vips.contains(vip)) {
            return Err(Doubt::OtherAddress(*missing));
        }
        if let Some(fault) = report.faults.iter().find(|fault| fault.stops) {
            return Err(Doubt::Fault(fault.clone()));
        }
        if !report.healthy {
            return Err(Doubt::Unhealthy(report.health.clone()));
        }
        Ok(())
    }
}

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody speaks for it: it is believed, as it always was.
    Unchecked,
    /// Its agent has confirmed that it takes connections over, and nothing since.
    Confirmed,
    /// It gets none.
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

/// The standing of each server.
#[derive(Debug, Default)]
pub(super) struct Trust {
    servers: Vec<Option<(Identity, Standing)>>,
    /// Servers that get no connections: with none, nobody has to look.
    doubted: usize,
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
        !matches!(self.from, Standing::Doubted(_)) && matches!(self.to, Standing::Doubted(_))
    }
}

impl Trust {
    /// A server has joined, or is as it was.
    pub(super) fn place(&mut self, id: ServerId, identity: Identity) {
        if self.servers.len() <= id.index() {
            self.servers.resize(id.index() + 1, None);
        }
        let place = &mut self.servers[id.index()];
        if place.as_ref().is_some_and(|(known, _)| *known == identity) {
            return;
        }
        let standing = match identity.agent {
            Some(_) => Standing::Doubted(Doubt::Silent(None)),
            None => Standing::Unchecked,
        };
        *place = Some((identity, standing));
        self.count();
    }

    /// Its agent has answered; what that changed. One that only reports says nothing of the program
    /// that another may have left in the kernel.
    pub(super) fn heard(&mut self, id: ServerId, verdict: Result<(), Doubt>) -> Option<Turn> {
        let unheard = matches!(self.standing(id)?, Standing::Doubted(Doubt::Silent(_)));
        if verdict == Err(Doubt::NoProgram) && !unheard {
            return None;
        }
        self.set(id, verdict.map_or_else(Standing::Doubted, |()| Standing::Confirmed))
    }

    /// Its agent has not answered: that matters only to a server that was never confirmed.
    pub(super) fn silent(&mut self, id: ServerId, why: &str) -> Option<Turn> {
        match self.standing(id)? {
            Standing::Doubted(Doubt::Silent(known)) if known.as_deref() != Some(why) => {
                let first = known.is_none();
                let turn = self.set(id, Standing::Doubted(Doubt::Silent(Some(why.to_owned()))));
                turn.filter(|_| first)
            }
            _ => None,
        }
    }

    fn set(&mut self, id: ServerId, to: Standing) -> Option<Turn> {
        let (identity, standing) = self.servers.get_mut(id.index())?.as_mut()?;
        if identity.agent.is_none() || *standing == to {
            return None;
        }
        let server = identity.name.clone();
        let from = std::mem::replace(standing, to.clone());
        self.count();
        Some(Turn { server, from, to })
    }

    fn count(&mut self) {
        let doubted = |one: &&(Identity, Standing)| matches!(one.1, Standing::Doubted(_));
        self.doubted = self.servers.iter().flatten().filter(doubted).count();
    }

    /// What is known of a server.
    pub(super) fn standing(&self, id: ServerId) -> Option<&Standing> {
        self.servers.get(id.index())?.as_ref().map(|(_, standing)| standing)
    }

    /// Whether a server may be handed connections.
    pub(super) fn takes(&self, id: ServerId) -> bool {
        !matches!(self.standing(id), Some(Standing::Doubted(_)))
    }

    /// Whether all may.
    pub(super) fn all_take(&self) -> bool {
        self.doubted == 0
    }

    /// Whether what is sent to a server in an envelope is lost.
    pub(super) fn is_deaf(&self, id: ServerId) -> bool {
        matches!(self.standing(id), Some(Standing::Doubted(doubt)) if doubt.is_deaf())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::TakesOver;

    fn vip() -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 100], 80))
    }

    fn terms() -> Terms {
        Terms { key_check: "k".to_owned(), envelope: 1, port: 7117 }
    }

    fn well() -> LoadReport {
        let takes_over = TakesOver {
            key_check: "k".to_owned(),
            envelope: 1,
            port: 7117,
            vips: vec![vip()],
            attached: true,
            ..TakesOver::default()
        };
        LoadReport { takes_over: Some(takes_over), healthy: true, ..LoadReport::default() }
    }

    fn but(change: impl FnOnce(&mut TakesOver)) -> LoadReport {
        let mut report = well();
        change(report.takes_over.as_mut().unwrap());
        report
    }

    #[test]
    fn each_difference_that_would_lose_a_hand_over_is_a_doubt_with_its_remedy() {
        let judge = |report: &LoadReport| terms().judge(report, &[vip()]);
        assert_eq!(judge(&well()), Ok(()));
        let harmless = agent::Fault { check: "rp-filter".to_owned(), ..agent::Fault::default() };
        let fault = agent::Fault { stops: true, ..harmless.clone() };
        let with = |fault: agent::Fault| LoadReport { faults: vec![fault], ..well() };
        assert_eq!(judge(&with(harmless)), Ok(()), "it works");
        for (report, name, word) in [
            (LoadReport { takes_over: None, ..well() }, "no-program", "--report-only"),
            (but(|one| one.key_check.clear()), "other-key", "same key"),
            (but(|one| one.envelope = 2), "other-envelope", "version 2"),
            (but(|one| one.port = 9), "other-port", "port 9"),
            (but(|one| one.attached = false), "detached", "start its agent again"),
            (but(|one| one.vips.clear()), "other-address", "10.0.0.100:80"),
            (LoadReport { healthy: false, ..well() }, "unhealthy", "accept"),
            (with(fault), "fault", "rp-filter"),
        ] {
            let doubt = judge(&report).unwrap_err();
            assert_eq!(doubt.name(), name);
            assert!(doubt.sentence().contains(word), "{}", doubt.sentence());
        }
    }

    #[test]
    fn a_server_is_confirmed_by_its_agent_and_doubted_by_nothing_but_a_report() {
        let mut trust = Trust::default();
        let agent = Some("h:1".to_owned());
        let identity = Identity { name: "a".to_owned(), address: vip(), agent };
        let id = ServerId(1);
        assert!(trust.takes(id) && trust.all_take(), "of nobody nothing is held against him");
        trust.place(id, identity.clone());
        assert!(!trust.takes(id) && !trust.all_take());
        let turn = trust.silent(id, "refused").unwrap();
        assert_eq!((turn.was(), turn.to.name()), (None, "doubted"));
        assert_eq!(trust.silent(id, "timed out"), None, "it is said once");
        let turn = trust.heard(id, Ok(())).unwrap();
        assert_eq!((turn.server.as_str(), turn.to.name()), ("a", "confirmed"));
        assert!(!turn.ends_hand_overs());
        assert_eq!(trust.heard(id, Ok(())), None);
        assert_eq!(trust.silent(id, "gone"), None, "its program is pinned");
        trust.place(id, identity.clone());
        assert!(trust.takes(id) && trust.all_take(), "a reload changes nothing");
        assert!(trust.heard(id, Err(Doubt::OtherKey)).unwrap().ends_hand_overs());
        assert!(trust.is_deaf(id) && !trust.takes(id));
        assert!(!trust.heard(id, Err(Doubt::OtherPort(9))).unwrap().ends_hand_overs());
        assert_eq!(trust.heard(id, Err(Doubt::NoProgram)), None);
        trust.heard(id, Ok(()));
        assert_eq!(trust.heard(id, Err(Doubt::NoProgram)), None, "what is pinned goes on");
        let moved = Identity { address: SocketAddr::from(([10, 0, 0, 2], 80)), ..identity };
        trust.place(id, moved);
        assert!(!trust.takes(id), "another host has to say so itself");
        assert_eq!(trust.heard(id, Err(Doubt::NoProgram)).unwrap().to.name(), "doubted");
    }

    #[test]
    fn a_server_without_an_agent_is_believed_as_ever() {
        let mut trust = Trust::default();
        let identity = Identity { name: "a".to_owned(), address: vip(), agent: None };
        trust.place(ServerId(0), identity);
        assert!(trust.takes(ServerId(0)) && trust.all_take());
        assert_eq!(trust.heard(ServerId(0), Err(Doubt::OtherKey)), None);
        assert_eq!(trust.standing(ServerId(0)), Some(&Standing::Unchecked));
    }
}

//! What speaks against handing a server connections: what its agent says, held against what this
//! front-end needs.

use super::fabric::Terms;
use agent::LoadReport;
use std::net::SocketAddr;

/// Why a server gets no connections handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Its agent was not heard yet: why not, if it was asked.
    Silent(Option<String>),
    /// The agent that is asked speaks for the server of this name.
    OtherServer(String),
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
    /// It does not take over the connections of this address, and gets those of others.
    OtherAddress(SocketAddr),
    /// The doctor finds something that stops hand-overs.
    Fault(agent::Fault),
}

impl Doubt {
    /// Its name in metrics and status.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Silent(_) => "silent",
            Self::OtherServer(_) => "other-server",
            Self::NoProgram => "no-program",
            Self::Detached(_) => "detached",
            Self::OtherKey => "other-key",
            Self::OtherEnvelope(_) => "other-envelope",
            Self::OtherPort(_) => "other-port",
            Self::OtherAddress(_) => "other-address",
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
            Self::OtherServer(theirs) => format!(
                "the agent that is asked speaks for server {theirs}; give the server the address \
                 of its own agent"
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
            Self::Fault(fault) => {
                let agent::Fault { check, evidence, remedy, .. } = fault;
                format!("its agent's check {check} fails: {evidence}; {remedy}")
            }
        }
    }

    /// Reports in a row that say so before a server that is believed loses that: what comes and
    /// goes by itself must not stop hand-overs each time. What loses every hand-over does at once.
    pub(super) fn patience(&self) -> u32 {
        match self {
            Self::Fault(_) => 3,
            Self::NoProgram => 2,
            _ => 1,
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
    /// What a report has against hand-overs to the server `name` for connections to `vips`. Whether
    /// its Web server accepts is for health checks to say, which have their own patience.
    pub(super) fn judge(
        &self,
        report: &LoadReport,
        name: &str,
        vips: &[SocketAddr],
    ) -> Result<(), Doubt> {
        // Nothing is compared with an agent that does not say.
        if !report.server.is_empty() && report.server != name {
            return Err(Doubt::OtherServer(report.server.clone()));
        }
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
        if let Some(fault) = report.faults.iter().find(|fault| fault.stops) {
            return Err(Doubt::Fault(fault.clone()));
        }
        // The last, for others are still handed over.
        if let Some(missing) = vips.iter().find(|vip| !theirs.vips.contains(vip)) {
            return Err(Doubt::OtherAddress(*missing));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use agent::TakesOver;

    pub(in super::super) fn vip() -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 100], 80))
    }

    pub(in super::super) fn terms() -> Terms {
        Terms { key_check: "k".to_owned(), envelope: 1, port: 7117 }
    }

    pub(in super::super) fn well() -> LoadReport {
        let takes_over = TakesOver {
            key_check: "k".to_owned(),
            envelope: 1,
            port: 7117,
            vips: vec![vip()],
            attached: true,
            ..TakesOver::default()
        };
        LoadReport { takes_over: Some(takes_over), ..LoadReport::default() }
    }

    pub(in super::super) fn but(change: impl FnOnce(&mut TakesOver)) -> LoadReport {
        let mut report = well();
        change(report.takes_over.as_mut().unwrap());
        report
    }

    #[test]
    fn each_difference_that_would_lose_a_hand_over_is_a_doubt_with_its_remedy() {
        let judge = |report: &LoadReport| terms().judge(report, "a", &[vip()]);
        assert_eq!(judge(&well()), Ok(()));
        let named = LoadReport { server: "a".to_owned(), ..well() };
        assert_eq!(judge(&named), Ok(()), "whether it accepts is for health checks");
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
            (LoadReport { server: "b".to_owned(), ..well() }, "other-server", "server b"),
            (with(fault), "fault", "rp-filter"),
        ] {
            let doubt = judge(&report).unwrap_err();
            assert_eq!(doubt.name(), name);
            assert!(doubt.sentence().contains(word), "{}", doubt.sentence());
        }
    }
}

//! What a session asks for, page by page, and what its replies should be.
//!
//! A session is known by its number alone and made again for each page, so that a user who thinks
//! costs no memory for what is still to be asked.

use crate::reply::{Fault, Reply};
use crate::{Cause, Content, Manner, RunError, Scenario, Site};
use policy::Class;
use std::time::Duration;
use wire::http::emit::HeadBuilder;
use wire::http::{Method, RequestContext};
use workload::visits::{Object, Visit};
use workload::{Entry, Plan, Target};

/// One request of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ask {
    /// An object of a visit.
    Object(Object),
    /// A request of a trace.
    Entry(u32),
    /// The single object.
    One,
}

/// When a page is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// So long after the end of the page before.
    Think(Duration),
    /// So long after the session's beginning, but not before the end of the page before.
    Since(Duration),
}

/// The scenario's site, as one thread asks for it.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    site: &'a Site,
    host: String,
    closing: bool,
    classes: &'a [Class],
    content: Option<&'a Content>,
    visit: Visit,
    /// The number that `visit` has.
    number: Option<u64>,
    /// Where paths are made.
    path: String,
}

impl<'a> Source<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Result<Self, RunError> {
        let host = match &scenario.site {
            Site::One(one) => one.host.clone(),
            _ if scenario.host.is_empty() => scenario.address.to_string(),
            _ => scenario.host.clone(),
        };
        let source = Self {
            site: &scenario.site,
            host,
            closing: matches!(scenario.manner, Manner::Closing(_)),
            classes: &scenario.classes,
            content: scenario.content.as_ref(),
            visit: Visit::default(),
            number: None,
            path: String::new(),
        };
        let path = if let Site::One(one) = &scenario.site { &one.path } else { "/" };
        let head = HeadBuilder::request("GET", path, &mut Vec::new())
            .field("Host", source.host.as_bytes())
            .end();
        head.map_err(|_| RunError::Unsendable(format!("http://{}{path}", source.host)))?;
        Ok(source)
    }

    /// How many sessions there are; `None`: as many as one likes.
    pub(crate) fn sessions(&self) -> Option<u64> {
        match self.site {
            Site::Trace(plan, _) => Some(plan.sessions.len() as u64),
            _ => None,
        }
    }

    /// Fills `asks` with a page. True if the first request must be answered before the others can
    /// be sent, because it names them.
    pub(crate) fn page(&mut self, number: u64, page: u64, asks: &mut Vec<Ask>) -> bool {
        match self.site {
            Site::Visits(_) => {
                self.make(number);
                let page = self.visit.page(page as usize).expect("it has a pause, so it is there");
                asks.extend(page.objects.iter().copied().map(Ask::Object));
                true
            }
            Site::Trace(plan, _) => {
                let batch = plan.sessions.get(number as usize);
                let batch = batch.and_then(|session| session.batches().nth(page as usize));
                let batch = batch.expect("it has a pause, so it is there");
                asks.extend(batch.iter().copied().map(Ask::Entry));
                false
            }
            Site::One(_) => {
                asks.push(Ask::One);
                false
            }
        }
    }

    /// When the page with this number is due; `None`: there is no such page, the user leaves.
    pub(crate) fn pause(&mut self, number: u64, page: u64) -> Option<Pause> {
        match self.site {
            Site::Visits(_) => {
                self.make(number);
                self.visit.page(page as usize).map(|page| Pause::Think(page.think))
            }
            Site::Trace(plan, speed) => {
                let session = plan.sessions.get(number as usize)?;
                let first = session.batches().nth(page as usize)?[0];
                let Some(speed) = speed else { return Some(Pause::Think(Duration::ZERO)) };
                let at_ms = |request: u32| plan.trace.requests[request as usize].at_ms;
                let gap_ms = at_ms(first) - at_ms(session.requests()[0]);
                Some(Pause::Since(Duration::from_millis(gap_ms).div_f64(speed.max(1e-6))))
            }
            Site::One(one) => {
                (one.requests == 0 || page < one.requests).then_some(Pause::Think(Duration::ZERO))
            }
        }
    }

    /// Makes `visit` the one with this number.
    fn make(&mut self, number: u64) {
        if let Site::Visits(visits) = self.site
            && self.number != Some(number)
        {
            visits.visit(number, &mut self.visit);
            self.number = Some(number);
        }
    }

    /// Appends the request's head.
    pub(crate) fn write(&mut self, ask: Ask, out: &mut Vec<u8>) -> Result<(), Fault> {
        let start = out.len();
        let (method, path, host) = match (ask, self.site) {
            (Ask::Object(object), _) => {
                self.path.clear();
                crate::path::write(&object, &mut self.path).expect("a string takes everything");
                ("GET", &*self.path, &*self.host)
            }
            (Ask::Entry(number), Site::Trace(plan, _)) => {
                let (entry, target) = asked(plan, number);
                (plan.trace.method(entry), &*target.url, plan.trace.site(target))
            }
            (_, Site::One(one)) => ("GET", &*one.path, &*self.host),
            (_, Site::Visits(_) | Site::Trace(..)) => unreachable!("asks are of their own site"),
        };
        let head = HeadBuilder::request(method, path, out).field("Host", host.as_bytes());
        // A trace has no bodies; a server may want to be told so.
        let head = match Method::named(method) {
            Method::Post | Method::Put | Method::Patch => head.number("Content-Length", 0),
            _ => head,
        };
        head.end().map_err(|_| Fault::new(Cause::Unsendable, "no valid HTTP/1.1 request"))?;
        if self.closing {
            // The digit after "GET /path HTTP/1.".
            out[start + method.len() + path.len() + 2 + "HTTP/1.".len()] = b'0';
        }
        Ok(())
    }

    pub(crate) fn context(&self, ask: Ask) -> RequestContext {
        let method = match (ask, self.site) {
            (Ask::Entry(number), Site::Trace(plan, _)) => {
                Method::named(plan.trace.method(asked(plan, number).0))
            }
            _ => Method::Get,
        };
        RequestContext { method, upgrade: false }
    }

    pub(crate) fn class(&self, ask: Ask) -> Class {
        match (ask, self.site) {
            (Ask::Object(object), _) => object.class,
            (_, Site::One(one)) => one.class,
            (Ask::Entry(number), Site::Trace(plan, _)) => {
                let target = plan.trace.requests[number as usize].target;
                self.classes.get(target as usize).copied().unwrap_or(Class::STATIC)
            }
            _ => Class::STATIC,
        }
    }

    /// What content is checked against, if it is: site and URL.
    pub(crate) fn expected(&mut self, ask: Ask) -> Option<(&'a Content, &str, &str)> {
        let content = self.content?;
        let (site, url) = self.name(ask);
        Some((content, site, url))
    }

    /// Site and URL.
    pub(crate) fn name(&mut self, ask: Ask) -> (&str, &str) {
        match (ask, self.site) {
            (Ask::Entry(number), Site::Trace(plan, _)) => {
                let (_, target) = asked(plan, number);
                (plan.trace.site(target), &target.url)
            }
            (Ask::Object(object), _) => {
                self.path.clear();
                crate::path::write(&object, &mut self.path).expect("a string takes everything");
                (&self.host, &self.path)
            }
            (_, Site::One(one)) => (&self.host, &one.path),
            _ => (&self.host, ""),
        }
    }

    /// The status that a reply should have.
    fn status(&self, ask: Ask) -> u16 {
        match (ask, self.site) {
            (Ask::Entry(number), Site::Trace(plan, _)) => match asked(plan, number).0.status {
                // Requests are sent without conditions and ranges: who answers has to send all.
                206 | 304 => 200,
                status => status,
            },
            _ => 200,
        }
    }

    /// The length that a whole body should have, where that is known. Of a log it is what the URL
    /// says: the size that was logged is that of the server that was asked then.
    fn bytes(&self, ask: Ask) -> Option<u64> {
        match (ask, self.site) {
            (Ask::Object(object), _) => Some(object.bytes),
            (Ask::Entry(number), Site::Trace(plan, _)) => {
                crate::path::bytes(&asked(plan, number).1.url)
            }
            (_, Site::One(one)) => crate::path::bytes(&one.path),
            _ => None,
        }
    }

    /// What is wrong with a reply that came to its end, `surplus` bytes before the next one.
    pub(crate) fn verdict(&self, ask: Ask, reply: &Reply, surplus: usize) -> Result<(), Fault> {
        let status = self.status(ask);
        if self.content.is_some() && reply.status != status {
            // An answer of another status, be it 204, has nothing of what should be there.
            return Err(Fault::new(Cause::Status, format!("{}, not {status}", reply.status)));
        }
        let class = status / 100;
        if reply.status / 100 != class {
            return Err(Fault::new(Cause::Status, format!("{}, not {class}xx", reply.status)));
        }
        if surplus > 0 {
            return Err(Fault::new(Cause::LongBody, format!("{surplus} bytes too many")));
        }
        if self.content.is_none() || reply.status != 200 {
            // What tells of an error is nothing of the target's.
            return Ok(());
        }
        let whole = self.context(ask).method == Method::Get;
        if let Some(bytes) = self.bytes(ask).filter(|_| whole)
            && reply.body_bytes != bytes
        {
            let detail = format!("{} bytes, not {bytes}", reply.body_bytes);
            return Err(Fault::new(Cause::Size, detail));
        }
        match reply.wrong_at {
            Some(offset) => {
                Err(Fault::new(Cause::Content, format!("in the piece at offset {offset}")))
            }
            None => Ok(()),
        }
    }
}

/// The request with this number, and what it names.
fn asked(plan: &Plan, number: u32) -> (&Entry, &Target) {
    let entry = &plan.trace.requests[number as usize];
    (entry, plan.trace.target(entry))
}

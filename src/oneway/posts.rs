//! Where the programs are to be, and whether they are there: taken off by somebody, or with an
//! interface that was made anew, they are put back, and both is said.

use super::bridge::Bridge;
use control::Event;
use control::view::InterfaceView;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was seen of each interface.
#[derive(Default)]
pub(super) struct Posts(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    posts: BTreeMap<String, Post>,
    /// So many times more rows are written anew: they may name an interface by a number that it had
    /// before, or one that servers are behind only until the interface that came back has its
    /// addresses and routes.
    unsure: u32,
}

#[derive(Default)]
struct Post {
    /// Whether the program is missing.
    off: bool,
    /// Why it cannot be put back.
    fault: Option<String>,
    /// Times that it was put back.
    restored: u64,
}

impl Posts {
    /// Looks at each interface and puts back what is missing. What there is to say of it.
    pub(super) fn look(&self, bridge: &Bridge) -> Vec<Event> {
        let mut events = Vec::new();
        let mut seen = self.seen();
        for (interface, there) in bridge.fabric().attachments() {
            let post = seen.posts.entry(interface.clone()).or_default();
            let missing = !there.unwrap_or(!post.off);
            if missing && !post.off {
                events.push(event(&interface, Some("attached"), "detached", OFF.to_owned()));
            }
            post.off = missing;
            if !missing {
                post.fault = None;
                continue;
            }
            match bridge.fabric().attach(&interface) {
                Ok(()) => {
                    *post = Post { restored: post.restored + 1, ..Post::default() };
                    seen.unsure = LOOKS;
                    events.push(event(&interface, Some("detached"), "attached", BACK.to_owned()));
                }
                Err(error) => {
                    let fault = Some(error.to_string());
                    if post.fault != fault {
                        let message = format!("it cannot be attached again: {error}");
                        events.push(event(&interface, None, "detached", message));
                    }
                    post.fault = fault;
                }
            }
        }
        if seen.unsure > 0 {
            bridge.write_rows();
            seen.unsure -= 1;
        }
        events
    }

    /// Everything as it was seen last.
    pub(super) fn view(&self) -> Vec<InterfaceView> {
        let seen = self.seen();
        let view = |(interface, post): (&String, &Post)| InterfaceView {
            interface: interface.clone(),
            attached: !post.off,
            fault: post.fault.clone(),
            restored: post.restored,
        };
        seen.posts.iter().map(view).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks, of which there is about one a second, within which an interface that came back has its
/// addresses and routes.
const LOOKS: u32 = 60;

/// What it means that the program is missing.
const OFF: &str = "the front-end's program was taken off, or the interface was made anew: until it \
                   is back, new connections are relayed, and those handed over are reset";
const BACK: &str = "the front-end's program was attached again: connections are handed over";

fn event(interface: &str, from: Option<&str>, to: &str, message: String) -> Event {
    Event {
        subject: format!("interface {interface}"),
        from: from.map(str::to_owned),
        to: Some(to.to_owned()),
        message,
        ..Event::default()
    }
}

//! A connection that has changed its protocol (101): bytes both ways until both sides have ended.

use crate::client::Client;
use crate::pool::Upstream;
use crate::pump::Pump;
use crate::settings::Timeouts;
use crate::worker::Worker;
use core::future::poll_fn;
use core::task::Poll;

/// Bytes that went through a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// To the server.
    pub(crate) up: u64,
    /// To the client.
    pub(crate) down: u64,
}

/// Runs a tunnel to its end: both sides closed, one of them gone, or silence for too long: sooner
/// when one side has ended, for the other may never notice (HAProxy's `timeout client-fin`).
/// `to_client` are bytes that came behind the head of the reply.
pub(crate) async fn run(
    client: &mut Client,
    mut upstream: Upstream,
    to_client: Vec<u8>,
    worker: &Worker,
    timeouts: &Timeouts,
) -> Moved {
    let (mut up, mut down) = (Pump::tunnel(), Pump::tunnel());
    up.owe(&core::mem::take(&mut client.inbox));
    down.owe(&to_client);
    let (mut up_ended, mut down_ended) = (false, false);
    client.watch.arm(timeouts.tunnel);
    poll_fn(|cx| {
        let mut progress = false;
        let whole = !up_ended && !down_ended;
        if !up_ended {
            let (from, to) = (&mut client.socket, &mut upstream.socket);
            match up.poll(cx, from, to, worker, &mut progress) {
                Poll::Ready(Ok(())) => {
                    up_ended = true;
                    upstream.socket.shutdown_write();
                }
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => {}
            }
        }
        if !down_ended {
            let (from, to) = (&mut upstream.socket, &mut client.socket);
            match down.poll(cx, from, to, worker, &mut progress) {
                Poll::Ready(Ok(())) => {
                    down_ended = true;
                    client.socket.shutdown_write();
                }
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => {}
            }
        }
        let half = up_ended || down_ended;
        if progress || (whole && half) {
            let sooner = timeouts.tunnel_half_closed.min(timeouts.tunnel);
            client.watch.arm(if half { sooner } else { timeouts.tunnel });
        }
        if (up_ended && down_ended) || client.watch.expired(cx) {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
    Moved { up: up.moved, down: down.moved }
}

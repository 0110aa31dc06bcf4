//! The table of addresses that clients connect to: the same on a front-end and on a server.

use crate::layout::{Listener, ListenerKey};
use crate::object::{self, Error, Loaded};
use crate::{Delivery, front::code};
use libbpf_rs::MapCore;
use std::net::SocketAddr;

/// Begins, or with `None` ends, to look after the connections of an address. The ports are those
/// that server and agent listen on.
pub(crate) fn set(
    loaded: &Loaded,
    vip: SocketAddr,
    delivery: Option<Delivery>,
    server_port: u16,
    agent_port: u16,
) -> Result<(), Error> {
    let (map, key) = (loaded.map("listeners"), ListenerKey::new(vip));
    let Some(delivery) = delivery else {
        let _gone = map.delete(bytemuck::bytes_of(&key));
        return Ok(());
    };
    let value = Listener {
        delivery: code(delivery),
        reserved: 0,
        server_port: server_port.to_be_bytes(),
        agent_port: agent_port.to_be_bytes(),
        number: 0,
    };
    object::put(map, &key, &value)
}

/// The addresses in the table.
pub(crate) fn all(loaded: &Loaded) -> Vec<SocketAddr> {
    let keys = loaded.map("listeners").keys();
    keys.filter_map(|key| bytemuck::try_pod_read_unaligned::<ListenerKey>(&key).ok())
        .map(|key| key.vip())
        .collect()
}

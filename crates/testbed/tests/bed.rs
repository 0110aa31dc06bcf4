//! Method: a bed is made for real, as root, and looked at from inside: who reaches whom, who
//! answers what, with every byte of every file compared; then it is removed, and everywhere
//! where it could have left something is looked.

// Helpers are no tests in the eyes of clippy.
#![allow(clippy::unwrap_used)]

mod site;

use site::{get, up};
use testbed::{Plan, Variant, content};

/// Every server directly, by either protocol.
fn each_server_serves(variant: Variant) {
    let Some(bed) = up(&Plan::new(3).wired(variant)) else { return };
    for number in 1..=3 {
        for address in bed.server(number).each() {
            for file in &bed.plan().files {
                let reply = get(&bed, address, &file.path).unwrap();
                assert!(reply.head.starts_with("HTTP/1.1 200 "), "{}", reply.head);
                assert_eq!(reply.field("X-Served-By"), Some(&*format!("server{number}")));
                assert_eq!(reply.body.len() as u64, file.bytes, "{}", file.path);
                assert!(content::verify(&file.path, 0, &reply.body), "{}", file.path);
            }
        }
    }
}

#[test]
fn each_server_serves_every_file_to_the_client_among_neighbours() {
    each_server_serves(Variant::Bridge);
}

#[test]
fn each_server_serves_every_file_to_the_client_behind_a_router() {
    each_server_serves(Variant::Routed);
}

//! The paths by which the objects of visits are asked for.
//!
//! They say class and size, so that an emulated server and a switch's rules know both from the
//! URL alone, and a real server's document tree can be written from them. A file's size belongs to
//! it and is part of its path; a program's replies differ in size, which its query asks for.
//! Secure objects have paths like the others: this client does not encipher.

use policy::Class;
use std::fmt;
use workload::visits::{Object, Visits};

/// The path, and for a program the query, of an object: `/static/bytes/5234/1000000000011`,
/// `/cpu/program-2000200000007?size=5234`.
pub fn path(object: &Object) -> String {
    let mut path = String::with_capacity(48);
    write(object, &mut path).expect("a string takes everything");
    path
}

pub(crate) fn write(object: &Object, out: &mut impl fmt::Write) -> fmt::Result {
    let class = Class::NAMES.get(object.class.index()).unwrap_or(&Class::NAMES[0]);
    let (target, bytes) = (object.target.0, object.bytes);
    if object.program {
        write!(out, "/{class}/program-{target:x}?size={bytes}")
    } else {
        write!(out, "/{class}/bytes/{bytes}/{target:x}")
    }
}

/// The bytes that such a path says its body has, if it does.
pub(crate) fn bytes(path: &str) -> Option<u64> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let asked = query.split('&').find_map(|part| part.strip_prefix("size="));
    let named = || {
        let mut parts = path.split('/').skip_while(|part| *part != "bytes");
        parts.nth(1)
    };
    asked.or_else(named)?.parse().ok()
}

/// Every file of the visits' site: path, bytes, class.
pub fn files(visits: &Visits) -> impl Iterator<Item = (String, u64, Class)> {
    visits.files().map(|file| (path(&file), file.bytes, file.class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_how_long_its_body_is() {
        let table = [
            ("/static/bytes/5234/17", Some(5234)),
            ("/bytes/8", Some(8)),
            ("/cpu/program-17?a=1&size=44", Some(44)),
            ("/bytes/", None),
            ("/bytes/many/x", None),
            ("/index.html", None),
        ];
        for (path, wanted) in table {
            assert_eq!(bytes(path), wanted, "{path}");
        }
    }
}

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

/// The bytes that such a path says its body has, if it does: as emulated servers read it, the path
/// before the query.
pub(crate) fn bytes(path: &str) -> Option<u64> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits)
    };
    let named = path.split_once("/bytes/").and_then(|(_, rest)| rest.split('/').next());
    let asked = || query.split('&').find_map(|part| part.strip_prefix("size="));
    named.and_then(number).or_else(|| asked().and_then(number))
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
            ("/bytes/+5/x", None),
            ("/bytes/5/x?size=9", Some(5)),
            ("/bytes/many/x?size=9", Some(9)),
            ("/x?size=-1", None),
            ("/index.html", None),
        ];
        for (path, wanted) in table {
            assert_eq!(bytes(path), wanted, "{path}");
        }
    }
}

//! A request head as the rules see it.

use rules::{Facts, Scheme};
use wire::http::RequestHead;

/// A head off the wire.
pub struct Asked<'a, 'b, 's>(pub &'a RequestHead<'b, 's>);

impl Facts for Asked<'_, '_, '_> {
    fn method(&self) -> &str {
        self.0.method_name
    }

    fn scheme(&self) -> Scheme {
        Scheme::Http
    }

    fn host(&self) -> &str {
        self.0.authority.unwrap_or("")
    }

    fn path(&self) -> &str {
        self.0.path
    }

    fn query(&self) -> Option<&str> {
        self.0.query
    }

    fn field(&self, name: &str) -> Option<&[u8]> {
        self.0.field(name)
    }
}

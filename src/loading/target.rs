//! Who is asked: a URL.

use std::net::{SocketAddr, ToSocketAddrs};

/// A URL whose host was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host and port as the user wrote them: what `Host` says.
    pub authority: String,
    /// Where it is.
    pub address: SocketAddr,
    /// Path and query; `/` where none was written.
    pub path: String,
}

/// Why a URL cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unaskable {
    /// It is none, or of another scheme: what to write.
    #[error("{0}")]
    Written(String),
    /// Nobody knows the host.
    #[error("{0}")]
    Unknown(String),
}

impl Target {
    /// Reads `http://HOST[:PORT][/PATH]` and looks the host up.
    ///
    /// # Errors
    /// When it is not such a URL, or there is no such host.
    pub fn new(url: &str) -> Result<Self, Unaskable> {
        let (authority, path) = split(url)?;
        let (host, port) = host_and_port(url, authority)?;
        let found = (host, port).to_socket_addrs().map_err(|error| {
            Unaskable::Unknown(format!("{url}: there is no host {host:?}: {error}"))
        })?;
        // IPv4 first: a server on a machine's own address often listens there alone.
        let mut addresses: Vec<SocketAddr> = found.collect();
        addresses.sort_by_key(SocketAddr::is_ipv6);
        let Some(address) = addresses.first().copied() else {
            return Err(Unaskable::Unknown(format!("{url}: the host {host:?} has no address")));
        };
        Ok(Self { authority: authority.to_owned(), address, path })
    }

    /// Whether a single object is named, and not a site.
    pub fn is_object(&self) -> bool {
        self.path != "/"
    }
}

/// Authority and path of a URL.
fn split(url: &str) -> Result<(&str, String), Unaskable> {
    let wrong =
        |what: &str| Unaskable::Written(format!("{url:?} {what}; write http://HOST[:PORT][/PATH]"));
    let rest = match url.split_once("://") {
        Some(("http", rest)) => rest,
        Some(("https", _)) => {
            return Err(wrong("is for TLS, which is not spoken here"));
        }
        Some((scheme, _)) => return Err(wrong(&format!("begins with {scheme:?}, not http"))),
        None => url,
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or("");
    if authority.is_empty() {
        return Err(wrong("names no host"));
    }
    if authority.contains('@') {
        return Err(wrong("has a user name, which is not sent"));
    }
    let printable = |byte: u8| byte.is_ascii_graphic();
    if !url.bytes().all(printable) {
        return Err(wrong("has blanks or letters that URLs write as %XX"));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok((authority, path))
}

fn host_and_port<'a>(url: &str, authority: &'a str) -> Result<(&'a str, u16), Unaskable> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or(port))),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let Some(port) = port else { return Ok((host, 80)) };
    match port.parse() {
        Ok(0) | Err(_) => Err(Unaskable::Written(format!(
            "{url:?}: {port:?} is no port; write a number from 1 to 65535"
        ))),
        Ok(port) => Ok((host, port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_host_port_and_path() {
        let table = [
            ("http://127.0.0.1", "127.0.0.1", "127.0.0.1:80", "/"),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080", "127.0.0.1:8080", "/"),
            ("127.0.0.1:8080/a?b=1#c", "127.0.0.1:8080", "127.0.0.1:8080", "/a?b=1"),
            ("http://127.0.0.1?b", "127.0.0.1", "127.0.0.1:80", "/?b"),
            ("http://[::1]:81/x", "[::1]:81", "[::1]:81", "/x"),
        ];
        for (url, authority, address, path) in table {
            let target = Target::new(url).unwrap();
            assert_eq!(target.authority, authority, "{url}");
            assert_eq!(target.address, address.parse().unwrap(), "{url}");
            assert_eq!(target.path, path, "{url}");
        }
    }

    #[test]
    fn what_is_no_such_url_is_said() {
        let table = [
            ("https://a", "is for TLS"),
            ("ftp://a", "begins with \"ftp\""),
            ("http://", "names no host"),
            ("http:///x", "names no host"),
            ("http://u@a/", "has a user name"),
            ("http://a/b c", "has blanks"),
            ("http://127.0.0.1:http/", "\"http\" is no port"),
            ("http://127.0.0.1:0/", "\"0\" is no port"),
            ("http://127.0.0.1:65536/", "\"65536\" is no port"),
        ];
        for (url, part) in table {
            let Err(Unaskable::Written(said)) = Target::new(url) else { panic!("{url} is fine?") };
            assert!(said.contains(part), "{url}: {said}");
        }
        assert!(matches!(Target::new("http://none.invalid/"), Err(Unaskable::Unknown(_))));
    }
}

//! Addresses as people write them: `:8080`, `127.0.0.1:80`, `[::1]:80`, `app.internal:8080`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Why an address was refused: cause and remedy.
pub(crate) type Refusal = (String, &'static str);

/// The port of a server whose address has none.
const PORT_HTTP: u16 = 80;

/// An address to listen on. No names but `localhost`: where to listen must not hang on a resolver.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, Refusal> {
    let remedy = "write ADDRESS:PORT, such as \"127.0.0.1:8080\", or \":8080\" for all addresses";
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err((format!("{text:?} has no port"), remedy));
    };
    let Ok(port) = port.parse() else {
        return Err((format!("{text:?}: {port:?} is no port"), remedy));
    };
    let ip = match host {
        "" | "*" => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => match unbracketed(host).parse() {
            Ok(ip) => ip,
            Err(_) => return Err((format!("{text:?}: {host:?} is no IP address"), remedy)),
        },
    };
    Ok(SocketAddr::new(ip, port))
}

/// The address of a server: `host:port`, the port filled in.
pub(crate) fn server(text: &str) -> Result<String, Refusal> {
    let remedy = "write HOST:PORT, such as \"10.0.0.1:80\"";
    if text.contains('/') {
        return Err((format!("{text:?} is more than an address"), remedy));
    }
    let (host, port) = match text.rsplit_once(':') {
        _ if text.ends_with(']') || text.parse::<Ipv6Addr>().is_ok() => (text, None),
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let port = match port.map(str::parse) {
        None => PORT_HTTP,
        Some(Ok(0)) | Some(Err(_)) => {
            return Err((format!("{text:?} has no port from 1 to 65535"), remedy));
        }
        Some(Ok(port)) => port,
    };
    if let Ok(ip) = unbracketed(host).parse::<Ipv6Addr>() {
        return Ok(format!("[{ip}]:{port}"));
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let dotted = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if host.is_empty()
        || !host.chars().all(allowed)
        || (dotted && host.parse::<Ipv4Addr>().is_err())
    {
        return Err((format!("{text:?}: {host:?} is neither an address nor a name"), remedy));
    }
    Ok(format!("{host}:{port}"))
}

fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_listen_on_are_numbers() {
        let table = [
            (":8080", Some("[::]:8080")),
            ("*:80", Some("[::]:80")),
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            ("[::1]:80", Some("[::1]:80")),
            ("localhost:80", Some("127.0.0.1:80")),
            ("8080", None),
            ("1.2.3:80", None),
            (":99999", None),
            ("example.com:80", None),
            ("http://1.2.3.4:80", None),
        ];
        for (text, wanted) in table {
            assert_eq!(listen(text).ok().map(|a| a.to_string()).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn servers_may_have_names_and_do_without_a_port() {
        let table = [
            ("10.0.0.1:8080", Some("10.0.0.1:8080")),
            ("10.0.0.1", Some("10.0.0.1:80")),
            ("app_1.internal:81", Some("app_1.internal:81")),
            ("::1", Some("[::1]:80")),
            ("[::1]:81", Some("[::1]:81")),
            ("http://a:80", None),
            ("a:0", None),
            ("a:b", None),
            (":80", None),
            ("10.0.0:80", None),
            ("300.0.0.1:80", None),
            ("a b:80", None),
        ];
        for (text, wanted) in table {
            assert_eq!(server(text).ok().as_deref(), wanted, "{text}");
        }
    }
}

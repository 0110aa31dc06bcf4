//! Method: texts and files as an operator writes them, and what is said of them.

use super::*;
use crate::config::agents::agent;

#[test]
fn a_key_is_its_digits_in_order_and_never_shown() {
    let key = Key::parse(" 000102030405060708090A0b0c0d0e0f\n").unwrap();
    assert_eq!(key.expose(), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(format!("{key:?}"), "(secret)");
    for wrong in
        ["", "00", "+00102030405060708090A0b0c0d0e0f", &"0".repeat(33), "g".repeat(32).as_str()]
    {
        assert_eq!(Key::parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn a_key_that_others_may_read_is_warned_of() {
    let name = format!("baton-key-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let (key, file) = (folder.join("key"), folder.join("baton.toml"));
    std::fs::write(&key, "000102030405060708090a0b0c0d0e0f\n").unwrap();
    let text = "[listen.web]\naddress = \"10.0.0.1:80\"\ndelivery = \"handoff\"\n[server.a]\n\
                address = \"10.0.0.2:80\"\n[oneway]\ninterfaces = [\"eth0\"]\nkey_file = \"key\"\n";
    std::fs::write(&file, text).unwrap();
    let told = [0o600, 0o400, 0o640, 0o604].map(|mode| {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let loaded = crate::config::Config::load(&file, &[]).unwrap();
        loaded.warnings.to_string().contains("chmod 600 key")
    });
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(told, [false, false, true, true]);
}

#[test]
fn every_key_of_a_relay_is_one() {
    let known = |(section, name): &(&str, &str)| {
        let section = crate::config::keys::section(section).expect("it is a section");
        section.keys.iter().any(|key| key.name == *name)
    };
    assert!(OF_THE_SWITCH.iter().chain(OF_A_RELAY).all(known));
}

#[test]
fn an_agent_has_a_port() {
    assert_eq!(agent("10.0.0.1:7118").ok().as_deref(), Some("10.0.0.1:7118"));
    assert!(agent("10.0.0.1").is_err() && agent("http://a:1").is_err());
}

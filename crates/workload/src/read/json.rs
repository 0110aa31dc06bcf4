//! Formats whose lines are JSON objects.
//!
//! serde_json walks over the line; what a format does not name is passed over, and what it names is
//! taken as it stands, so a line without escapes costs no allocation. Names come from the manuals
//! of Traefik ("Access Logs"), Caddy ("Logging"), Envoy Gateway and Istio (their default access
//! logs), nginx (its variables, which is what people call their fields) and our own.

use super::field::{Draft, Field, Habits};
use super::language::VARIABLES;
use super::stamp::Calendar;
use super::value::Unit;
use super::{Cause, Format, Parse};
use crate::Record;
use serde::Deserializer as _;
use serde::de::{
    DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Fields by their name.
type Names = &'static [(&'static str, Field)];

/// A JSON format.
struct Shape {
    fields: Names,
    /// The object in the object that has fields, too.
    inner: Option<(&'static str, Names)>,
    habits: Habits,
    /// How sure a line makes that has all that is needed, 0 to 100.
    sure: u8,
}

const AT_START: Habits = Habits { at_end: false, absolute: false, timed: true, answered: true };

const BATON_SHAPE: Shape = Shape {
    fields: &[
        ("time_ms", Field::At),
        ("client", Field::Client),
        ("method", Field::Method),
        ("host", Field::Site),
        ("path", Field::Url),
        ("status", Field::Status),
        ("bytes", Field::Bytes),
        ("server", Field::Server),
        ("expect", Field::Hit),
        ("queue_ms", Field::Waited(Unit::Millis)),
        ("connect_ms", Field::Waited(Unit::Millis)),
        ("first_byte_ms", Field::Served(Unit::Millis)),
        ("total_ms", Field::Took(Unit::Millis)),
    ],
    inner: None,
    habits: AT_START,
    sure: 99,
};

const TRAEFIK_SHAPE: Shape = Shape {
    fields: &[
        ("StartUTC", Field::At),
        ("ClientHost", Field::Client),
        ("RequestMethod", Field::Method),
        ("RequestHost", Field::Site),
        ("RequestPath", Field::Url),
        ("DownstreamStatus", Field::Status),
        ("DownstreamContentSize", Field::Bytes),
        ("Duration", Field::Took(Unit::Nanos)),
        ("OriginDuration", Field::Served(Unit::Nanos)),
        ("ServiceAddr", Field::Server),
    ],
    inner: None,
    habits: AT_START,
    sure: 99,
};

const CADDY_SHAPE: Shape = Shape {
    fields: &[
        ("msg", Field::Event("handled request")),
        ("ts", Field::At),
        ("status", Field::Status),
        ("size", Field::Bytes),
        ("duration", Field::Took(Unit::Seconds)),
    ],
    inner: Some((
        "request",
        &[
            ("remote_ip", Field::Client),
            ("client_ip", Field::Client),
            ("method", Field::Method),
            ("host", Field::Site),
            ("uri", Field::Url),
        ],
    )),
    habits: Habits { at_end: true, ..AT_START },
    sure: 99,
};

const ENVOY_SHAPE: Shape = Shape {
    fields: &[
        ("start_time", Field::At),
        ("downstream_remote_address", Field::Peer),
        ("x_forwarded_for", Field::Forwarded),
        ("x-forwarded-for", Field::Forwarded),
        ("method", Field::Method),
        ("authority", Field::Site),
        (":authority", Field::Site),
        ("path", Field::Url),
        ("x-envoy-origin-path", Field::Url),
        ("response_code", Field::Status),
        ("bytes_sent", Field::Bytes),
        ("duration", Field::Took(Unit::Millis)),
        ("upstream_service_time", Field::Served(Unit::Millis)),
        ("x-envoy-upstream-service-time", Field::Served(Unit::Millis)),
        ("upstream_host", Field::Server),
    ],
    inner: None,
    habits: AT_START,
    sure: 98,
};

const NGINX_SHAPE: Shape =
    Shape { fields: VARIABLES, inner: None, habits: Habits { at_end: true, ..AT_START }, sure: 95 };

pub(super) const BATON: Format = Format {
    name: "baton-json",
    about: "Baton's own access log, `access = \"json\"`",
    parser: || parser(&BATON_SHAPE),
};

pub(super) const TRAEFIK: Format = Format {
    name: "traefik-json",
    about: "Traefik's access log in JSON",
    parser: || parser(&TRAEFIK_SHAPE),
};

pub(super) const CADDY: Format = Format {
    name: "caddy-json",
    about: "Caddy's access log (JSON); its lines of other events are passed over",
    parser: || parser(&CADDY_SHAPE),
};

pub(super) const ENVOY: Format = Format {
    name: "envoy-json",
    about: "Envoy's access log in JSON, with the names that Envoy Gateway and Istio use",
    parser: || parser(&ENVOY_SHAPE),
};

pub(super) const NGINX: Format = Format {
    name: "nginx-json",
    about: "JSON whose names are nginx's variables (remote_addr, request_uri, request_time ...)",
    parser: || parser(&NGINX_SHAPE),
};

fn parser(shape: &'static Shape) -> Box<dyn Parse> {
    Box::new(Objects { shape, calendar: Calendar::default() })
}

#[derive(Clone)]
struct Objects {
    shape: &'static Shape,
    calendar: Calendar,
}

impl Parse for Objects {
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Option<Record<'a>>, Cause> {
        let mut draft = Draft::default();
        let mut found = Ok(());
        let object = Object {
            fields: self.shape.fields,
            inner: self.shape.inner,
            outer: true,
            draft: &mut draft,
            calendar: &mut self.calendar,
            found: &mut found,
        };
        let mut json = serde_json::Deserializer::from_slice(line);
        object.deserialize(&mut json).and_then(|()| json.end()).map_err(|_| Cause::Json)?;
        match found {
            Err(Cause::Event) => return Ok(None),
            found => found?,
        }
        draft.record(self.shape.habits)
    }

    fn sure(&mut self, line: &[u8]) -> Option<u8> {
        match self.line(line) {
            Ok(Some(_)) => Some(self.shape.sure),
            Ok(None) => None,
            Err(_) => Some(0),
        }
    }

    fn fork(&self) -> Box<dyn Parse> {
        Box::new(self.clone())
    }
}

/// One object of a line, its values on their way into a draft.
struct Object<'d, 'a> {
    fields: Names,
    inner: Option<(&'static str, Names)>,
    /// This is the line itself.
    outer: bool,
    draft: &'d mut Draft<'a>,
    calendar: &'d mut Calendar,
    found: &'d mut Result<(), Cause>,
}

impl<'a> DeserializeSeed<'a> for Object<'_, 'a> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Object<'_, 'a> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(name) = map.next_key_seed(Text)? {
            if let Some(&(_, field)) = self.fields.iter().find(|(known, _)| *known == name) {
                let value = plain(map.next_value::<&'a RawValue>()?);
                let set = value.and_then(|value| self.draft.set(field, value, self.calendar));
                *self.found = (*self.found).and(set);
            } else if let Some((_, fields)) = self.inner.filter(|(known, _)| *known == name) {
                map.next_value_seed(Object {
                    fields,
                    inner: None,
                    outer: false,
                    draft: self.draft,
                    calendar: self.calendar,
                    found: self.found,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    // An inner object may be something else in another program's log: then it says nothing.
    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<(), S::Error> {
        if self.outer {
            return Err(S::Error::invalid_type(Unexpected::Seq, &self));
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A name that stays a slice of the line if nothing in it is escaped.
struct Text;

impl<'a> DeserializeSeed<'a> for Text {
    type Value = Cow<'a, str>;

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Text {
    type Value = Cow<'a, str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A value as other formats would log it: a text without its quotes, a number as it is, `null` as
/// nothing.
fn plain(value: &RawValue) -> Result<Cow<'_, [u8]>, Cause> {
    let text = value.get();
    if !text.starts_with('"') {
        return Ok(Cow::Borrowed(if text == "null" { b"" } else { text.as_bytes() }));
    }
    if memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(&text.as_bytes()[1..text.len() - 1]));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let plain = json.deserialize_str(Text).map_err(|_| Cause::Json)?;
    Ok(Cow::Owned(plain.into_owned().into_bytes()))
}

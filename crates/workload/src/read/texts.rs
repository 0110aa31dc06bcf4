//! The rows of formats whose lines are a pattern. Sources: the servers' manuals (nginx
//! `ngx_http_log_module`, Apache `mod_log_config`, HAProxy "HTTP log format", Envoy "Access
//! logging", Traefik "Access Logs", AWS "Access logs for your Application Load Balancer", Squid
//! "Features/LogFormat").

use super::field::{Field, Habits};
use super::pattern::Pattern;
use super::value::Unit;
use super::{Format, Parse};
use crate::Record;
use std::time::Duration;

/// How Common, Combined and all their extensions begin.
macro_rules! common {
    ($end:literal) => {
        concat!(r#"$remote_addr $skip [$time_local] "$request" $status $body_bytes_sent"#, $end)
    };
}

const AT_START: Habits = Habits { at_end: false, absolute: false, timed: true, answered: true };
const AT_END: Habits = Habits { at_end: true, ..AT_START };

/// What Baton writes behind a combined line.
const DECISION: &[(&str, Field)] = &[
    ("server", Field::Server),
    ("expect", Field::Hit),
    ("first_byte_ms", Field::Served(Unit::Millis)),
    ("queue_ms", Field::Waited(Unit::Millis)),
    ("connect_ms", Field::Waited(Unit::Millis)),
    ("total_ms", Field::Took(Unit::Millis)),
];

/// Names that nginx's own articles give to its times.
const NGINX_NAMES: &[(&str, Field)] = &[
    ("rt", Field::Took(Unit::Seconds)),
    ("urt", Field::Served(Unit::Seconds)),
    ("request_time", Field::Took(Unit::Seconds)),
    ("upstream_response_time", Field::Served(Unit::Seconds)),
    ("upstream_addr", Field::Servers),
    ("upstream_cache_status", Field::Hit),
    ("cs", Field::Hit),
];

/// What the lines of a format cannot say for certain, by its name.
pub(super) const DOUBTS: &[(&str, &str)] =
    &[("apache-us", MICROS), ("apache-vhost-us", MICROS), ("apache-s", SECONDS)];

const MICROS: &str = "the number at the end of its lines is taken for microseconds; if it is no \
                      time, --format clf passes it over";
const SECONDS: &str = "the number at the end of its lines is taken for seconds; if it is no time, \
                       --format clf passes it over";

fn row(
    text: &str,
    named: &'static [(&'static str, Field)],
    habits: Habits,
    weigh: fn(&Record<'_>) -> u8,
) -> Box<dyn Parse> {
    Pattern::with(text, named, habits).expect("every row is a pattern").sure(weigh)
}

/// Spans of time that look as if nginx wrote them: seconds with a fraction.
fn like_seconds(record: &Record<'_>) -> u8 {
    match record.took {
        None => 0,
        Some(Duration::ZERO) => 71,
        Some(took) if took.subsec_millis() != 0 => 97,
        Some(took) => {
            if took.as_secs() < 600 {
                60
            } else {
                5
            }
        }
    }
}

/// Whole seconds, as Apache's %T: few. A number at the end of a line may be something else.
fn like_whole_seconds(record: &Record<'_>) -> u8 {
    match record.took {
        Some(took) if took.subsec_nanos() == 0 && !ported(record) => match took.as_secs() {
            0..=2 => 72,
            3..=60 => 65,
            61..600 => 30,
            _ => 5,
        },
        _ => 0,
    }
}

/// Microseconds, as Apache's %D: no request takes less than some ten of them. A number at the end
/// of a line may be something else.
fn like_micros(record: &Record<'_>) -> u8 {
    let Some(took) = record.took.filter(|took| took.subsec_nanos().is_multiple_of(1000)) else {
        return 0;
    };
    match took.as_micros() {
        _ if ported(record) => 0,
        0..10 => 25,
        10..50 => 65,
        _ => 75,
    }
}

/// Whether the client is `name:port`, as the site of another format is. An address of version 6 has
/// more colons.
fn ported(record: &Record<'_>) -> bool {
    let port = record.client.split_once(':').map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// How sure a line makes, less if what stands for the client may be a site.
fn unported(record: &Record<'_>, sure: u8) -> u8 {
    if ported(record) { sure / 2 } else { sure }
}

/// Only lines that say where they were decided are Baton's.
fn with_server_or_time(record: &Record<'_>) -> u8 {
    if record.took.is_some() { 99 } else { 0 }
}

pub(super) const CLF: Format = Format {
    name: "clf",
    about: "Common Log Format with anything behind it: client - - [time zone] \"request\" status \
            bytes ...",
    parser: || row(common!(" $rest"), &[], AT_START, |record| unported(record, 60)),
};

pub(super) const COMMON: Format = Format {
    name: "common",
    about: "Common Log Format (Apache, nginx, Caddy's and others'): client - - [time zone] \
            \"request\" status bytes",
    parser: || row(common!(""), &[], AT_START, |record| unported(record, 95)),
};

pub(super) const COMBINED: Format = Format {
    name: "combined",
    about: "Combined Log Format: common with \"referrer\" \"agent\"",
    parser: || {
        let text = common!(r#" "$referer" "$agent""#);
        row(text, &[], AT_START, |record| unported(record, 96))
    },
};

pub(super) const NGINX: Format = Format {
    name: "nginx",
    about: "nginx's combined with $request_time",
    parser: || row(common!(r#" "$r" "$agent" $request_time"#), &[], AT_END, like_seconds),
};

pub(super) const NGINX_UPSTREAM: Format = Format {
    name: "nginx-upstream",
    about: "nginx's combined with $request_time and $upstream_response_time",
    parser: || {
        let end = common!(r#" "$r" "$agent" $request_time $upstream_response_time"#);
        row(end, &[], AT_END, |record| like_seconds(record).min(98) + 1)
    },
};

pub(super) const NGINX_MAIN: Format = Format {
    name: "nginx-main",
    about: "nginx.conf's own format `main`: combined with \"$http_x_forwarded_for\"",
    parser: || row(common!(r#" "$r" "$agent" "$http_x_forwarded_for""#), &[], AT_END, |_| 97),
};

pub(super) const NGINX_NAMED: Format = Format {
    name: "nginx-named",
    about: "nginx's combined with rt=, urt= or upstream_cache_status= behind it",
    parser: || {
        let text = common!(r#" "$r" "$agent""#);
        row(text, NGINX_NAMES, AT_END, |record| if record.took.is_some() { 97 } else { 0 })
    },
};

pub(super) const NGINX_INGRESS: Format = Format {
    name: "nginx-ingress",
    about: "the default of Kubernetes' ingress-nginx: combined, times, upstreams, request id",
    parser: || {
        let text = common!(r#" "$r" "$agent" $length $request_time [$name] [$other] "#);
        let end = "$upstream_addr $upstream_length $upstream_response_time $upstream_status $id";
        row(&[text, end].concat(), &[], AT_END, |_| 99)
    },
};

pub(super) const APACHE_MICROS: Format = Format {
    name: "apache-us",
    about: "Apache's combined with %D, microseconds",
    parser: || row(common!(r#" "$r" "$agent" $took_us"#), &[], AT_START, like_micros),
};

pub(super) const APACHE_SECONDS: Format = Format {
    name: "apache-s",
    about: "Apache's combined with %T, seconds",
    parser: || row(common!(r#" "$r" "$agent" $took_s"#), &[], AT_START, like_whole_seconds),
};

pub(super) const APACHE_VHOST: Format = Format {
    name: "apache-vhost",
    about: "Apache's vhost_combined: site:port before a combined line",
    parser: || {
        let text = concat!("$host:$site_port ", common!(r#" "$r" "$agent""#));
        row(text, &[], AT_START, |record| if record.site.is_empty() { 0 } else { 97 })
    },
};

pub(super) const APACHE_VHOST_MICROS: Format = Format {
    name: "apache-vhost-us",
    about: "Apache's vhost_combined with %D, microseconds",
    parser: || {
        let text = concat!("$host:$site_port ", common!(r#" "$r" "$agent" $took_us"#));
        row(
            text,
            &[],
            AT_START,
            |record| if record.site.is_empty() { 0 } else { like_micros(record) },
        )
    },
};

pub(super) const BATON_COMBINED: Format = Format {
    name: "baton-combined",
    about: "Baton's own access log, `access = \"combined\"`: combined with the decision behind it",
    parser: || row(common!(r#" "$r" "$agent""#), DECISION, AT_START, with_server_or_time),
};

pub(super) const HAPROXY: Format = Format {
    name: "haproxy",
    about: "HAProxy's `option httplog`, behind syslog's words or not",
    parser: || {
        let text =
            r#"$peer [$time_local] $frontend $backend/$server $a/$b/$c/$served_ms/$took_ms "#;
        let end = r#"$status $bytes_sent $cookie $cookie $term $connections $queues "$request""#;
        row(&[text, end].concat(), &[], AT_START, |_| 99)
    },
};

pub(super) const ENVOY: Format = Format {
    name: "envoy",
    about: "Envoy's default format string",
    parser: || {
        row(
            "[%START_TIME%] \"%REQ(:METHOD)% %REQ(:PATH)% %PROTOCOL%\" %RESPONSE_CODE% %FLAGS% \
             %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \
             \"%REQ(X-FORWARDED-FOR)%\" \"%AGENT%\" \"%ID%\" \"%REQ(:AUTHORITY)%\" \
             \"%UPSTREAM_HOST%\"",
            &[],
            AT_START,
            |_| 99,
        )
    },
};

pub(super) const ISTIO: Format = Format {
    name: "istio",
    about: "Istio's default text format: Envoy's with details and clusters",
    parser: || {
        row(
            "[%START_TIME%] \"%REQ(:METHOD)% %REQ(:PATH)% %PROTOCOL%\" %RESPONSE_CODE% %FLAGS% \
             %DETAILS% %TERMINATION% \"%FAILURE%\" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% \
             %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \"%AGENT%\" \"%ID%\" \
             \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\" %CLUSTER% %LOCAL% %TO% \
             %DOWNSTREAM_REMOTE_ADDRESS% %NAME% %ROUTE%",
            &[],
            AT_START,
            |_| 99,
        )
    },
};

pub(super) const TRAEFIK: Format = Format {
    name: "traefik",
    about: "Traefik's access log in its common format: combined, count, router, server, time",
    parser: || {
        let end = common!(r#" "$r" "$agent" $count "$router" "$server" $took_ms"#);
        row(end, &[], AT_START, |_| 98)
    },
};

pub(super) const ALB: Format = Format {
    name: "alb",
    about: "access logs of AWS Application Load Balancers",
    parser: || {
        let text = "$type $time_iso8601 $elb $peer $server $took_s $served_s $took_s $status $code \
                    $received $bytes_sent \"$request\" \"$agent\" $cipher $tls $group \"$trace\" \
                    \"$domain\" \"$certificate\" $priority $began $rest";
        row(text, &[], Habits { absolute: true, ..AT_END }, |_| 99)
    },
};

pub(super) const SQUID: Format = Format {
    name: "squid",
    about: "Squid's native log: time elapsed client code/status bytes method URL user peer/host \
            type",
    parser: || {
        let text = "$msec $took_ms $remote_addr $hit/$status $bytes_sent $request_method \
                    $request_uri $user $how/$server $type";
        row(text, &[], Habits { absolute: true, ..AT_END }, |_| 97)
    },
};

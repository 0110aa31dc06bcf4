//! Every key of the configuration: the one list that reading, defaults, error messages,
//! `baton schema` and docs/configuration.md share.
//!
//! A default is written as in a file and is read by the same code as a file, so what the reference
//! says is what happens.

use super::kind::Kind;
use distributor::Delivery;

/// A table of the configuration.
#[derive(Debug)]
pub struct Section {
    /// Its name; empty for keys outside of any table.
    pub name: &'static str,
    /// How it is written.
    pub form: Form,
    /// What it is for.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// How a section is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Keys before the first table.
    Top,
    /// `[section]`, once.
    One,
    /// `[section]` with further keys that depend on others: the parameters of the policy.
    Open,
    /// `[section.NAME]`, one for each thing.
    Named,
    /// `[[section]]`, one for each, in order.
    Many,
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What holds when it is not there.
    pub preset: Preset,
    /// What it does, in sentences.
    pub about: &'static str,
}

/// What holds when a key is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// This value, as it would be written.
    Is(&'static str),
    /// It must be there.
    Needed,
    /// Nothing is set; this says what follows.
    Unset(&'static str),
}

use Kind::{Count, Flag, Percent, Size, Span, Text, Texts, Word};
use Preset::{Is, Needed, Unset};

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
const KIB: u64 = 1 << 10;
const TIB: u64 = 1 << 40;
const FIELDS_CAP: u64 = wire::http::FIELDS_CAP as u64;

/// The greatest weight of a server, in the configuration and from an operator.
pub const WEIGHT_MAX: u32 = 65_535;

const fn key(name: &'static str, kind: Kind, preset: Preset, about: &'static str) -> Key {
    Key { name, kind, preset, about }
}

const fn table(
    name: &'static str,
    form: Form,
    about: &'static str,
    keys: &'static [Key],
) -> Section {
    Section { name, form, about, keys }
}

/// The section called `name`.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

/// Every section, in the order of the reference.
#[rustfmt::skip]
pub const SECTIONS: &[Section] = &[
    table("", Form::Top, "Keys that stand in no table.", TOP),
    table("listen", Form::Named, "Where clients connect: `[listen.NAME]`, one table for each \
        listener. The name is free; logs and metrics show it.", LISTEN),
    table("server", Form::Named, "Who answers: `[server.NAME]`, one table for each server. The \
        name is the server's identity: hash policies place servers by it, so a server that moves \
        to another address under its old name keeps its targets.", SERVER),
    table("agents", Form::One, "How servers' agents are asked for their reports, whatever the \
        delivery: policies that go by reports have them from there.", AGENTS),
    table("policy", Form::Open, "How a server is chosen. The other keys of this table are the \
        parameters of the chosen policy: `baton policies` lists them.", POLICY),
    table("classes", Form::One, "Classes of your own, beside the five fixed ones: static, light, \
        cpu, disk, cpu+disk.", CLASSES),
    table("rule", Form::Many, "What a request is: `[[rule]]`, tried in order. All matchers of a \
        rule must match. Of a list, any entry of method, host and the path keys may match; of \
        query, header and cookie every entry must. The first matching rule that names a class \
        decides the class, the first that gives a target decides the target. Without a rule the \
        class is static and the target host+path+query.", RULE),
    table("limits", Form::One, "Bounds on what clients may send and hold.", LIMITS),
    table("timeouts", Form::One, "How long each phase may take.", TIMEOUTS),
    table("queue", Form::One, "Where requests wait when their server is full.", QUEUE),
    table("retry", Form::One, "Further attempts, on another server: only while nothing has \
        reached the client, and only for idempotent requests or such as were not sent.", RETRY),
    table("health", Form::One, "How servers are checked.", HEALTH),
    table("ejection", Form::One, "How requests that fail take a server out.", EJECTION),
    table("oneway", Form::One, "One way: connections that are handed to the server that answers, \
        which replies to the client directly. Needed by listeners whose `delivery` is handoff, \
        multi-handoff or forward; see docs/operating.md.", ONEWAY),
    table("slow_start", Form::One, "How a server that comes back, or joins, gets its share.",
        SLOW_START),
    table("log", Form::One, "What is written down.", LOG),
    table("admin", Form::One, "Where operators ask and act: metrics, status, drain, explain.",
        ADMIN),
    table("forwarded", Form::One, "What servers learn of clients, and clients of us.", FORWARDED),
];

#[rustfmt::skip]
const TOP: &[Key] = &[
    key("workers", Count(0, 1024, &[]), Is("0"), "Threads that serve, each with its own listening \
        sockets; 0 is one for each core."),
    key("include", Texts, Unset("nothing is included"), "Further files, relative to this one; `*` \
        stands for any part of a file's name. Their tables are added to those here: a key may be \
        set once only, rules follow in the order of file names."),
];

#[rustfmt::skip]
const LISTEN: &[Key] = &[
    key("address", Texts, Needed, "`ADDRESS:PORT`, one or several. `:8080` is every address of \
        the machine, IPv6 and IPv4."),
    key("delivery", Word(Delivery::NAMES), Is("\"relay\""), "How requests reach their server. \
        relay: through the switch, both ways. splice: the same, by the kernel alone where it can. \
        handoff: the connection is handed to the server of its first request and stays. \
        multi-handoff: it moves on with later requests, when nothing is left to say. forward: it \
        stays with the first server, whose agent fetches from the others. The last three need \
        [oneway] and addresses of their own."),
    key("congestion", Text, Unset("the system's default"), "TCP congestion control of client \
        connections, such as \"cubic\" or \"bbr\". In virtual machines the pacing timers of bbr \
        cost much CPU on large replies."),
    key("defer_accept", Flag, Is("true"), "Whether to be woken only when a client's first bytes \
        are here (TCP_DEFER_ACCEPT). Right for HTTP, where clients speak first."),
    key("backlog", Count(1, 65_535, &[]), Is("4096"), "Connections that the kernel may hold \
        until they are accepted; net.core.somaxconn bounds it too."),
];

#[rustfmt::skip]
const SERVER: &[Key] = &[
    key("address", Text, Needed, "`HOST:PORT`. A name is resolved when the configuration is read; \
        without a port it is 80."),
    key("weight", Count(1, WEIGHT_MAX as u64, &[]), Is("1"), "Its share relative to the \
        other servers."),
    key("capacity", Count(1, 1_000_000, &[]), Unset("thresholds that are \"auto\" take their \
        papers' values"), "Requests it works on at once without visible delay. Policy parameters \
        that are \"auto\" follow it."),
    key("max_inflight", Count(1, 1_000_000, &["off"]), Unset("max_inflight of [queue]"),
        "Requests it is given at once; others wait in its queue."),
    key("agent", Text, Unset("nobody is asked"), "`HOST:PORT` of its `baton agent`, which reports \
        its load, whether its host takes connections over, and those that it has. What reports \
        below a path is `HOST:PORT/PREFIX`: GET /PREFIX/load is asked."),
];

#[rustfmt::skip]
const AGENTS: &[Key] = &[
    key("period", Span(100, HOUR, &[]), Is("\"1s\""), "How often each is asked. A report is \
        believed for three of these; then the policy takes the server for idle."),
];

#[rustfmt::skip]
const ONEWAY: &[Key] = &[
    key("interfaces", Texts, Needed, "The network interfaces of this machine by which clients come \
        and servers are reached, such as [\"eth0\"]."),
    key("key", Text, Unset("key_file"), "What front-end and servers know each other's messages by: \
        32 hexadecimal digits, such as `openssl rand -hex 16` gives, the same in every agent; \
        better \"${BATON_ONEWAY_KEY}\" than in the file."),
    key("key_file", Text, Unset("key"), "A file that holds the key, relative to this one."),
    key("port", Count(1, 65_535, &[]), Is("7117"), "The UDP port of the messages between front-end \
        and servers."),
    key("network", Word(&["neighbours", "routed"]), Is("\"neighbours\""), "Where servers are. \
        neighbours: on the same layer-2 network, where segments of a connection that was handed \
        over travel as they are. routed: behind routers, and every segment travels in an \
        envelope."),
    key("early", Flag, Is("false"), "Whether SYNs are answered in the driver of the interfaces \
        (XDP), so that a flood of them does not reach the stack. For real network cards; those \
        whose driver cannot do it are answered as otherwise, and it is said."),
    key("idle", Span(SECOND, 30 * DAY, &[]), Is("\"1h\""), "A connection that was handed over, \
        without a segment of the client; then it is forgotten."),
    key("flows_max", Count(1024, 16_000_000, &[]), Is("1000000"), "Connections handed over at \
        once, some 190 bytes of kernel memory each, taken at the start; beyond, the relay takes \
        them."),
    key("memos_max", Count(1024, 16_000_000, &[]), Is("1000000"), "Answers that the kernel may \
        repeat, some 64 bytes of kernel memory each; the oldest go first."),
    key("agent_period", Span(100, HOUR, &[]), Unset("period of [agents]"), "How often agents are \
        asked: the same as period of [agents], which is the better place."),
    key("pin", Text, Is("\"/sys/fs/bpf/baton\""), "A folder in a file system of type bpf, where \
        the kernel's tables outlive the process. Of each switch of a machine its own."),
];

#[rustfmt::skip]
const POLICY: &[Key] = &[
    key("name", Text, Is("\"lard-r\""), "Which policy: `baton policies` lists them with their \
        papers."),
    key("seed", Count(0, u64::MAX, &[]), Is("1"), "Where the random numbers of policies start: \
        the same seed and requests give the same decisions."),
    key("admission", Count(1, 10_000_000, &["off", "auto"]), Is("\"off\""), "Requests let into \
        the whole cluster at once (LARD's S); others wait. \"auto\" derives it from the policy's \
        thresholds and the servers that are up."),
];

#[rustfmt::skip]
const CLASSES: &[Key] = &[
    key("names", Texts, Unset("the fixed classes only"), "Names of 1 to 32 characters of a-z, \
        0-9, -, _ and +; at most 59."),
];

#[rustfmt::skip]
const RULE: &[Key] = &[
    key("name", Text, Unset("rule- and its number"), "What metrics, `baton explain` and the status \
        page call it. Counters of a named rule go on when rules are added before it."),
    key("method", Texts, Unset("any"), "Methods, in capitals."),
    key("scheme", Word(&["http", "https"]), Unset("any"), "How the client came."),
    key("host", Texts, Unset("any"), "Hosts without port: exact, or \"*.example.com\" for all \
        names below it, not itself. Capitals do not count."),
    key("path", Texts, Unset("any"), "Whole paths. Paths are compared as sent: percent-encoding \
        is left untouched."),
    key("path_prefix", Texts, Unset("any"), "Beginnings of paths; \"/a\" also begins \"/ab\"."),
    key("path_suffix", Texts, Unset("any"), "Ends of paths, such as \".php\"."),
    key("path_glob", Texts, Unset("any"), "Globs of whole paths: `*` is any part of a segment, \
        `**` any segments, `?` one character; [a-z] and {a,b} too."),
    key("path_regex", Texts, Unset("any"), "Regular expressions, found anywhere in the path \
        unless anchored by ^ and $. Matched in linear time."),
    key("query", Texts, Unset("any"), "Parameters that must be there: \"name\", \"name=value\", \
        or with `*` for any part of the value."),
    key("header", Texts, Unset("any"), "Header fields that must be there, likewise."),
    key("cookie", Texts, Unset("any"), "Cookies that must be there, likewise."),
    key("class", Text, Unset("later rules decide; else static"), "The class of matching \
        requests: which resource they lean on (CAP)."),
    key("target", Text, Unset("later rules decide; else host+path+query"), "What names the \
        content: parts joined by +, of host, path, query, query:NAME,NAME (only these \
        parameters, in any order), header:NAME and cookie:NAME. When none of the parts is in a \
        request, its target is host+path+query."),
    key("delivery", Word(&["relay"]), Unset("the listener's"), "Matching requests pass through the \
        switch, on listeners too that hand connections over: for what it must see, limit, retry \
        or mark."),
];

#[rustfmt::skip]
const LIMITS: &[Key] = &[
    key("head", Size(KIB, 64 * KIB, &[]), Is("\"16KiB\""), "A request's head; 431 beyond."),
    key("url", Size(256, 64 * KIB, &[]), Is("\"8KiB\""), "A request's URL; 414 beyond."),
    key("fields", Count(8, FIELDS_CAP, &[]), Is("100"), "Header fields of a request; 431 beyond."),
    key("body", Size(0, 1024 * TIB, &["none"]), Is("\"none\""), "A request's body; 413 beyond. \
        Bodies are passed on as they come and are not kept."),
    key("connections", Count(1, 10_000_000, &[]), Is("20000"), "Client connections at once; \
        beyond it new ones wait in the kernel's queue."),
    key("server_idle_connections", Count(0, 65_535, &[]), Is("256"), "Unused connections kept to \
        each server, by each worker."),
];

#[rustfmt::skip]
const TIMEOUTS: &[Key] = &[
    key("head", Span(1, HOUR, &[]), Is("\"10s\""), "From the first byte of a request to the end \
        of its head; 408 beyond."),
    key("body", Span(1, DAY, &[]), Is("\"30s\""), "Without a byte of a body, either way."),
    key("connect", Span(1, HOUR, &[]), Is("\"2s\""), "To connect to a server."),
    key("first_byte", Span(1, DAY, &[]), Is("\"30s\""), "From the end of a request to the first \
        byte of its reply; 504 beyond."),
    key("idle", Span(1, DAY, &[]), Is("\"60s\""), "A client's connection between requests."),
    key("server_idle", Span(1, DAY, &[]), Is("\"30s\""), "An unused connection to a server. Keep \
        it shorter than the servers' own, or requests meet connections that close."),
    key("tunnel", Span(1, 30 * DAY, &[]), Is("\"1h\""), "A tunnel (WebSocket) without a byte \
        either way."),
    key("tunnel_half_closed", Span(1, 30 * DAY, &[]), Is("\"30s\""), "The same, once one side has \
        ended: the other may never notice."),
    key("drain", Span(0, 30 * DAY, &[]), Is("\"30s\""), "How long open requests may take to end \
        after SIGTERM."),
];

#[rustfmt::skip]
const QUEUE: &[Key] = &[
    key("max_inflight", Count(1, 1_000_000, &["off"]), Is("\"off\""), "Requests given to one \
        server at once, for servers that do not say their own."),
    key("length", Count(0, 1_000_000, &[]), Is("1024"), "Requests that may wait for one server; \
        503 beyond."),
    key("deadline", Span(1, HOUR, &[]), Is("\"5s\""), "How long a request may wait; 503 beyond."),
];

#[rustfmt::skip]
const RETRY: &[Key] = &[
    key("attempts", Count(0, 16, &[]), Is("2"), "Attempts after the first; 0 never tries again."),
    key("budget", Percent(100), Is("\"20%\""), "Retries in proportion to requests over time, so \
        that a cluster in trouble is not asked twice as much."),
];

#[rustfmt::skip]
const HEALTH: &[Key] = &[
    key("kind", Word(&["http", "tcp", "off"]), Is("\"http\""), "What a check is: a GET that must \
        be answered in time, a connection that must be accepted, or none."),
    key("path", Text, Is("\"/\""), "What is asked for."),
    key("host", Text, Unset("the server's address"), "The Host that is asked for."),
    key("expect", Text, Is("\"200-499\""), "Statuses of a good answer, such as \"200\" or \
        \"200-399\". A 404 of \"/\" shows a server that works, so it is good by default: with a \
        path of your own, say \"200-299\"."),
    key("interval", Span(10, DAY, &[]), Is("\"2s\""), "Between checks of a server."),
    key("timeout", Span(1, HOUR, &[]), Is("\"1s\""), "How long an answer may take."),
    key("rise", Count(1, 1000, &[]), Is("2"), "Good checks in a row that make a server up."),
    key("fall", Count(1, 1000, &[]), Is("3"), "Bad checks in a row that make it down."),
];

#[rustfmt::skip]
const EJECTION: &[Key] = &[
    key("failures", Count(1, 1_000_000, &["off"]), Is("5"), "Requests failed in a row (refused, \
        reset, timed out, or answered by 502, 503 or 504) that take a server out for a while. \
        A 500 is the application's: it does not count."),
    key("time", Span(1, DAY, &[]), Is("\"10s\""), "For how long the first time; each further \
        time it is twice as long."),
    key("time_max", Span(1, DAY, &[]), Is("\"5m\""), "For how long at most."),
    key("share", Percent(100), Is("\"50%\""), "Share of the servers that may be out at once for \
        this; one may always be, and one always stays."),
    key("panic", Percent(100), Is("\"50%\""), "When fewer than this share of servers is up, \
        ejected ones are used all the same: the whole load would take the others down too."),
];

#[rustfmt::skip]
const SLOW_START: &[Key] = &[
    key("time", Span(0, DAY, &["off"]), Is("\"30s\""), "From a tenth of its share to all of it."),
];

#[rustfmt::skip]
const LOG: &[Key] = &[
    key("access", Word(&["off", "json", "combined"]), Is("\"off\""), "A line for each request \
        with the decision: policy, class, target, server, reason, loads, times."),
    key("path", Text, Is("\"-\""), "The access log's file; \"-\" is standard output. Opened anew \
        at SIGHUP."),
    key("level", Word(&["error", "warn", "info", "debug"]), Is("\"info\""), "Which events of \
        the switch itself are written to standard error."),
];

#[rustfmt::skip]
const ADMIN: &[Key] = &[
    key("socket", Text, Is("\"auto\""), "A Unix socket (mode 0600). \"auto\" is \
        $XDG_RUNTIME_DIR/baton/admin.sock, or /run/baton/admin.sock without that variable; \
        \"off\" is none."),
    key("address", Text, Unset("no TCP"), "Also listen on `ADDRESS:PORT`; needs a token."),
    key("token", Text, Unset("none"), "Who asks by TCP must send it: `Authorization: Bearer \
        TOKEN`. At least 16 characters; better \"${BATON_TOKEN}\" than in the file."),
    key("token_file", Text, Unset("none"), "A file that holds the token, \
        relative to this one."),
];

#[rustfmt::skip]
const FORWARDED: &[Key] = &[
    key("x_forwarded", Flag, Is("true"), "Send X-Forwarded-For, -Proto and -Host to servers."),
    key("forwarded", Flag, Is("false"), "Send Forwarded (RFC 7239) to servers."),
    key("via", Text, Is("\"auto\""), "Our name in Via; \"auto\" is one of its own for each \
        process, such as baton-5e1c93d0; \"off\" sends none. A request that comes with our name \
        goes in a circle and gets 508: switches that stand in a row must not share one."),
    key("request_id", Flag, Is("true"), "Send X-Request-Id to the server and the client."),
    key("trust", Flag, Is("false"), "Believe and continue what clients send in these fields, \
        and in X-Forwarded-Port and X-Real-IP, which are removed otherwise. Only behind another \
        proxy: else clients choose their address."),
];

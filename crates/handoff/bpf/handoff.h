/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel's programs and user space share: the layout of every map's keys and values, and
 * the envelope on the wire. src/layout.rs has the same in Rust; both sides assert the sizes. A struct
 * that changes needs another LAYOUT there: maps outlive the process.
 *
 * Addresses are 16 bytes; IPv4 is ::ffff:a.b.c.d, so that one table serves both. Ports and
 * addresses are in network order, all else in host order, but for the envelope.
 */
#ifndef BATON_HANDOFF_H
#define BATON_HANDOFF_H

#include <linux/types.h>

/* Slots of servers, as in the policy's cluster; a bound of the kernel's arrays. */
#define SERVERS_MAX 256
/* "No server": in flows that no book counts any more. */
#define NOBODY 0xffffffffu
/* Verdict: the relay on this front-end takes the connection. */
#define RELAY 0xfffffffeu
/* Verdict on a connection, not on a segment: its client is silent, no book counts it any more. */
#define CLOSE 0xfffffffdu
/* Rotations, one for each class that has its own; and turns in one of them. */
#define WHEELS_MAX 64
#define WHEEL_RELAY 0xffff
/* In a wheel's cursor: turns may be taken. One word with them, so that a wheel is taken back and its
 * turns are counted at the same instant. */
#define WHEEL_OUT (1ull << 63)
#define TURNS_MAX 256
/* Window scale that the front-end offers for all servers: a SYN is answered before one is chosen. */
#define WSCALE 7
/* No window scaling. */
#define WSCALE_NONE 15
/* One connection in the books: policy::Load::ONE. */
#define LOAD_ONE 720720ull

#define ENVELOPE_MAGIC 0xba71
#define ENVELOPE_VERSION 1

enum kind {
	KIND_PLAIN = 0,		/* a segment, nothing else: only where there is a router between */
	KIND_HANDOFF = 1,	/* create the socket from this segment */
	KIND_QUERY = 2,		/* release the connection if it is at rest; otherwise deliver this */
	KIND_RELEASED = 3,	/* back to the front-end: it was at rest and the socket is gone */
	KIND_TAGGED = 4,	/* the request in this segment is for the server named in `server` */
};

/* Bits of envelope.flags and flow.options. */
#define OPT_SACK 1
#define OPT_TRACK 2	/* the connection may move: watch its messages */
#define OPT_AGENT 4	/* for the agent's relay, not for the server itself */

/* The front-end's to a server's kernel and back: behind IPv4/IPv6 and UDP, before the client's
 * packet. In network order but for the keyed hash, which is the machine's own: front-ends and servers
 * of a site have the same order of bytes. It is over what precedes it, the client's addresses
 * and the segment's sequence number. */
struct envelope {
	__u16 magic;
	__u8 version;
	__u8 kind;
	__u32 seq;		/* of the segment it is for: a kernel may cut a large one in several */
	__u32 connection;	/* first sequence number of the client's stream: which connection */
	__u16 mss;
	__u8 wscale;
	__u8 flags;
	__u32 server;		/* TAGGED: who holds the target; low half of the hash of its name, for
				 * slots are each front-end's own */
	__u32 mac_high;
	__u32 mac_low;
};

/* A client's connection. */
struct flow_key {
	__u32 client[4];
	__u32 vip[4];
	__u16 client_port;
	__u16 vip_port;
};

enum flow_state {
	FLOW_OPEN = 0,
	FLOW_CLOSING = 1,
	FLOW_HALF = 2,		/* the client has said all, */
	FLOW_WAITING = 3,	/* and waits for the reply so long that no book counts it any more */
};

/* What the front-end knows of a connection that it handed over. */
struct flow {
	__u64 seen_ns;		/* last packet of the client, CLOCK_MONOTONIC */
	__u64 opened_ns;
	__u32 counted;		/* the slot whose book counts it; taken out by exchange, so once */
	__u32 holder;		/* slot of the server that has it */
	__u32 connection;	/* as in the envelope */
	__u32 mark_seq;		/* the segment that carries the hand-over to the holder */
	__u32 next_seq;		/* first byte of the client not seen yet */
	__u32 decided_seq;	/* the segment that was decided last, */
	__u32 decided;		/* and for whom: a retransmission gets the same answer */
	__u32 decided_ack;	/* what the last request that was looked at acknowledged */
	__u32 client_ack;	/* up to where the client has the replies, */
	__u32 data_ack;		/* and had them when it last sent anything */
	__u32 reserved;
	__u32 ifindex;		/* where its packets come from */
	__u32 requests;
	__u32 moves;
	__u16 mss;
	__u8 wscale;
	__u8 options;
	__u8 state;
	__u8 delivery;
	__u8 resyn;		/* when a SYN came: the client may have begun anew */
	__u8 asked;		/* when the segment decided for ASK was asked about */
};

enum delivery {
	DELIVERY_RELAY = 0,
	DELIVERY_HANDOFF = 2,
	DELIVERY_MULTI = 3,
	DELIVERY_FORWARD = 4,
};

struct listener_key {
	__u32 vip[4];
	__u16 port;
	__u16 reserved;
};

/* An address that clients connect to. On a server: where its program listens. */
struct listener {
	__u8 delivery;
	__u8 reserved;
	__u16 server_port;	/* of the listening socket on the server */
	__u16 agent_port;	/* of the agent's relay there */
	__u16 number;
};

enum server_state {
	SERVER_NONE = 0,
	SERVER_UP = 1,
	SERVER_DRAINING = 2,
	SERVER_DOWN = 3,
	SERVER_DOUBTED = 4,	/* as draining, and a hand-over may be lost there */
	SERVER_DEAF = 5,	/* as draining, and whatever comes in an envelope is lost there */
};

struct server {
	__u32 address[4];
	__u32 front[4];		/* our own address on the way to it */
	__u32 ifindex;
	__u16 port;		/* of its Web server, and of its agent's relay; for user space */
	__u16 agent_port;
	__u8 state;
	__u8 routed;		/* behind a router: everything travels in envelopes */
	__u16 reserved;
	__u32 padding;
	__u64 name;		/* hash of its name: a successor finds its slots again */
};

/* The books of one server, changed by atomics from both sides. */
struct book {
	__u64 open;		/* connections handed over and not closed */
	__u64 begun;		/* ever */
	__u64 chosen;		/* serial number of the last one */
	__u64 load;		/* the desk's own: relayed requests, in units of LOAD_ONE */
	__u64 reserved[4];	/* a cache line each */
};

/* What both sides agree on. */
struct page {
	__u64 epoch;		/* of the cluster: memos and wheels of another one do not count */
	__u64 serial;
	__u64 reserved[6];
};

enum memo_kind { MEMO_TARGET = 0, MEMO_WHEEL = 1, MEMO_RELAY = 2 };

/* Keyed hash of the request line and the Host field. */
struct memo_key {
	__u64 low, high;
};

/* An answer that may be repeated: policy::Guard. */
struct memo {
	__u64 epoch;
	__u64 load_max;
	__u64 until_ns;		/* CLOCK_MONOTONIC */
	__u64 target;		/* for the log */
	__u32 server;
	__u8 kind;
	__u8 wheel;
	__u8 class;
	__u8 reserved;
};

struct wheel {
	__u64 epoch;
	__u64 cursor;		/* WHEEL_OUT, and turns taken since it was put out */
	__u64 until_ns;		/* CLOCK_MONOTONIC */
	__u32 length;
	__u32 reserved;
	__u16 servers[TURNS_MAX];	/* WHEEL_RELAY: the relay's turn */
};

/* One decision that the kernel repeated, for the log. */
struct event {
	struct flow_key flow;
	__u32 server;
	__u64 target;
	__u64 at_ns;
	__u8 kind;		/* enum memo_kind */
	__u8 class;
	__u8 first;		/* of its connection */
	__u8 reserved;
	__u32 holder;		/* who had the connection; NOBODY: it is the first */
};

/* What is known on a server of a connection that it was given. */
struct owned {
	__u64 created_ns;
	__u64 released_ns;
	__u32 connection;
	__u32 mark_seq;		/* the segment that its socket was made from */
	__u32 first_ack;	/* first byte of the replies */
	__u32 client_end;	/* up to where the client's bytes have come */
	__u32 released_seq;	/* the segment that it was released at last */
	__u32 request_end;	/* where the running request ends, */
	__u32 reply_at;		/* the next reply's head or chunk begins, */
	__u32 reply_end;	/* and the last whole reply ended */
	__u8 phase;		/* enum phase */
	__u8 released;
	__u8 no_body;		/* the running request is HEAD */
	__u8 open;		/* its head is not whole yet */
	__u8 track;
	__u8 reserved[3];
};

enum phase {
	PHASE_HEAD = 0,		/* a reply's head is to come at reply_at */
	PHASE_CHUNK = 1,	/* the size of a chunk is to come at reply_at */
	PHASE_REST = 2,		/* the reply ends at reply_end: both sides are at rest there */
	PHASE_UNSURE = 3,	/* pipelined, or an end that cannot be told: it stays */
};

struct tag_key {
	struct flow_key flow;
	__u32 seq;		/* of the request's first byte */
};

/* Counters: the names in src/layout.rs are these, in lower case. */
enum count {
	COUNT_SYN_ANSWERED,
	COUNT_ACK_ABSORBED,
	COUNT_FIN_ANSWERED,
	COUNT_PROBE_ANSWERED,	/* keep-alive before the first request */
	COUNT_COOKIE_REFUSED,
	COUNT_HANDED_OVER,
	COUNT_HANDED_AGAIN,	/* the same segment, retransmitted */
	COUNT_FORWARDED,
	COUNT_REPEATED,		/* answered from a memo or a wheel */
	COUNT_ASKED,
	COUNT_ANSWERED,		/* came back with a verdict */
	COUNT_UNANSWERED,	/* came back without: dropped, the client repeats it */
	COUNT_QUERIED,
	COUNT_MOVED,
	COUNT_TAGGED,
	COUNT_STAYED_PIPELINED,
	COUNT_LOCAL_NOT_HTTP,
	COUNT_LOCAL_SPLIT_HEAD,
	COUNT_LOCAL_PIPELINED,
	COUNT_LOCAL_VERDICT,
	COUNT_LOCAL_FULL,	/* no room for another flow */
	COUNT_LOCAL_REFUSED,	/* the relay's socket could not be made */
	COUNT_CLOSED,
	COUNT_REOPENED,		/* the client used the port again */
	COUNT_RESET_DOWN,	/* its server is down */
	COUNT_FORGED,		/* envelope with a wrong hash: dropped */
	COUNT_UNKNOWN_RELEASE,	/* released, but not asked for: dropped */
	COUNT_MALFORMED,
	COUNT_EVENTS_LOST,
	COUNT_ADOPTED,		/* from here on: servers */
	COUNT_ADOPT_REFUSED,
	COUNT_NO_LISTENER,
	COUNT_STALE_KILLED,
	COUNT_GHOST,		/* a late copy of a hand-over: dropped */
	COUNT_DUPLICATE,
	COUNT_RELEASED,
	COUNT_RELEASED_AGAIN,
	COUNT_KEPT,		/* asked to release, not at rest: delivered here */
	COUNT_ORPHAN,		/* for the VIP, without a socket and not marked: dropped */
	COUNT_RESET_GONE,	/* the server has closed it: the stack resets the client */
	COUNT_UNSURE,		/* connections whose messages could not be followed */
	COUNT_LATE_MARK,	/* marked, but not the segment it is for */
	COUNT_ASKED_ALREADY,	/* another copy of a segment that is held: dropped */
	COUNT_AGENT_GONE,	/* for the agent's relay, which is not there: the server itself has it */
	COUNT_END,
};

/* What an operator sets: read-only data, written before loading. */
struct site {
	__u64 key[2];		/* of envelopes, shared by the whole site */
	__u64 cookie_key[2];	/* of SYN cookies and memos, made from the other */
	__u32 tap_ifindex;	/* where held segments go; 0: nowhere */
	__u16 port;		/* UDP, network order */
	__u16 mss4;		/* offered to clients, host order */
	__u16 mss6;
	__u8 log;		/* whether repeated decisions are told */
	__u8 reserved[5];
};

#define SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)
SIZE(envelope, 28);
SIZE(flow_key, 36);
SIZE(flow, 80);
SIZE(listener_key, 20);
SIZE(listener, 8);
SIZE(server, 56);
SIZE(book, 64);
SIZE(page, 64);
SIZE(memo_key, 16);
SIZE(memo, 40);
SIZE(wheel, 544);
SIZE(event, 64);
SIZE(owned, 56);
SIZE(tag_key, 40);
SIZE(site, 48);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The connections that were handed over, and the ways a segment of one goes: to its server, in an
 * envelope or not, back to its client, or to user space. */
#ifndef BATON_FLOW_H
#define BATON_FLOW_H

#include "adopt.h"
#include "decide.h"
#include "envelop.h"
#include "reply.h"

#define PASS TC_ACT_UNSPEC

/* A held segment came back: the relay takes it. Only within this kernel. */
#define MARK_RELAY 0xba700003
#define MARK_RELAY_AGAIN 0xba700004

/* All room is taken at the start: to get it when a connection begins costs two thirds of a
 * microsecond, for the allocator refills itself by an interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1048576);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SERVERS_MAX);
	__type(key, __u32);
	__type(value, struct server);
} servers SEC(".maps");

/* What is known while one packet is looked at. Not on the stack, which has 512 bytes for all. */
struct passage {
	struct packet p;
	struct options o;
	struct options known;	/* from the handshake */
	struct standing standing;
	struct letter letter;
	struct flow fresh;
	union usual usual;
	__u32 ifindex;		/* where the client's packets come from */
	__u32 verdict;		/* of user space, or ASK when it has not been asked */
	__u8 answered;		/* came from the TAP */
	__u8 delivery;
	__u8 from_server;	/* came in a letter */
	__u64 now_ns;		/* one reading of the coarse clock for all */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct passage);
} passages SEC(".maps");

/* First segments about which user space is asked: what comes with them, or again, waits for it. */
struct pending {
	__u32 seq;
	__u8 asked;		/* see asked_at() */
	__u8 reserved[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_key);
	__type(value, struct pending);
} pendings SEC(".maps");

/* A time in units of 67 ms, which go round. */
static __always_inline __u8 asked_at(__u64 now_ns)
{
	return now_ns >> 26;
}

/* The largest window that we offer: what is further from the client's place is not its own. */
#define WINDOW (65535u << WSCALE)

/* And so is what acknowledges more than a client's window can have let in, or much less than before. */
#define ACKED_AHEAD (128u << 20)

static __always_inline int in_window(const struct flow *flow, const struct packet *p)
{
	return p->seq - flow->next_seq + WINDOW <= 2 * WINDOW &&
	       (!(p->flags & ACK) || p->ack - flow->client_ack + WINDOW <= WINDOW + ACKED_AHEAD);
}

/* A SYN came on a port in use. For as long as its answer is good, and no longer, the client may begin
 * anew: in units of 8.6 s, of which the answer lives 16; never zero. */
static __always_inline __u8 resyn_at(__u64 now_ns)
{
	return (now_ns >> 33 & 0x7f) | 0x80;
}

static __always_inline int resyn_recent(const struct flow *flow, __u64 now_ns)
{
	return flow->resyn && ((resyn_at(now_ns) - flow->resyn) & 0x7f) <= 16;
}

/* Taken out of the books once, whoever is first to see it end, or to take it for one that has. */
static __always_inline void leave_books(struct flow *flow, __u8 state)
{
	__u32 counted = __sync_lock_test_and_set(&flow->counted, NOBODY);

	flow->state = state;
	if (counted != NOBODY) {
		book_close(counted);
		count(COUNT_CLOSED);
	}
}

static __always_inline void close_flow(struct flow *flow)
{
	leave_books(flow, FLOW_CLOSING);
}

/* It did not end: what seemed to be its last word was no word of its client's, or not for the server. */
static __always_inline void open_again(struct flow *flow)
{
	__u32 slot = flow->holder;

	flow->state = FLOW_OPEN;
	if (__sync_val_compare_and_swap(&flow->counted, NOBODY, slot) == NOBODY)
		book_open_again(slot);
}

static __always_inline void fill_envelope(struct envelope *e, const struct flow *flow,
					  const struct packet *p, __u8 kind, __u32 server)
{
	e->magic = bpf_htons(ENVELOPE_MAGIC);
	e->version = ENVELOPE_VERSION;
	e->kind = kind;
	e->seq = bpf_htonl(p->seq);
	e->connection = bpf_htonl(flow->connection);
	e->mss = bpf_htons(flow->mss);
	e->wscale = flow->wscale;
	e->flags = flow->options;
	e->server = bpf_htonl(server);
	envelope_seal(&p->key, e);
}

static __noinline int send_letter(struct __sk_buff *skb, const struct packet *p,
				     const struct flow *flow, const struct server *to, __u8 kind)
{
	struct envelope e = {};

	fill_envelope(&e, flow, p, kind, 0);
	if (envelop(skb, to, p, &e))
		return drop(COUNT_MALFORMED);
	return bpf_redirect_neigh(to->ifindex, NULL, 0, 0);
}

/* To the holder's relay, with the name of the server that has the target. */
static __noinline int send_tagged(struct __sk_buff *skb, const struct packet *p,
				  const struct flow *flow, const struct server *to,
				  const struct server *target)
{
	struct envelope e = {};

	count(COUNT_TAGGED);
	fill_envelope(&e, flow, p, KIND_TAGGED, (__u32)target->name);
	if (envelop(skb, to, p, &e))
		return drop(COUNT_MALFORMED);
	return bpf_redirect_neigh(to->ifindex, NULL, 0, 0);
}

/* Whether it does not arrive as it is: behind a router, or of the other family. */
static __always_inline int needs_letter(const struct server *to, const struct packet *p)
{
	return to->routed || p->v6 == is_v4(to->address);
}

/* To the holder as it is, or in an envelope where it would not arrive otherwise. */
static __noinline int send_plain(struct __sk_buff *skb, const struct packet *p,
				      const struct flow *flow, const struct server *to)
{
	struct bpf_redir_neigh next = {};

	count(COUNT_FORWARDED);
	if (needs_letter(to, p))
		return send_letter(skb, p, flow, to, KIND_PLAIN);
	if (p->v6) {
		next.nh_family = AF_INET6;
		__builtin_memcpy(next.ipv6_nh, to->address, 16);
	} else {
		next.nh_family = AF_INET;
		next.ipv4_nh = to->address[3];
	}
	return bpf_redirect_neigh(to->ifindex, &next, sizeof(next), 0);
}

/* The client gets a RST: seq is what it expects next. */
static __noinline int reset_client(struct __sk_buff *skb, const struct passage *t,
					struct flow *flow)
{
	close_flow(flow);
	count(COUNT_RESET_DOWN);
	if (t->p.flags & RST || turn_round(skb, &t->p, RST | ACK))
		return TC_ACT_SHOT;
	/* Turned round it has the addresses of whoever sent it: a server, if that gave it up. */
	if (skb->ifindex == flow->ifindex && !t->from_server)
		return bpf_redirect(skb->ifindex, 0);
	return bpf_redirect_neigh(flow->ifindex, NULL, 0, 0);
}

/* Out to user space, which decides and sends it back. Who sent it, and to whom, is not needed any more:
 * in the place of these addresses the frame says from which interface it came, and which segment is
 * asked about. The TAP may cut it up; its other parts only follow the first. */
static __noinline int ask(struct __sk_buff *skb, const struct passage *t)
{
	__u8 note[2 * ETH_ALEN] = { 0x02, 0xba, 0, 0, 0, 0, 0x02, 0xba };

	if (t->answered)
		return drop(COUNT_UNANSWERED);
	__builtin_memcpy(note + 2, &t->p.seq, 4);
	__builtin_memcpy(note + ETH_ALEN + 2, &t->ifindex, 4);
	if (bpf_skb_store_bytes(skb, 0, note, sizeof(note), 0))
		return TC_ACT_SHOT;
	count(COUNT_ASKED);
	return bpf_redirect(site.tap_ifindex, 0);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* A connection that is no flow yet: the end of its handshake, its first request. */
#ifndef BATON_STRANGER_H
#define BATON_STRANGER_H

#include "relay.h"
#include "scan.h"

/* What the payload of a segment is. */
enum looks { LOOKS_REQUEST, LOOKS_NOT_HTTP, LOOKS_SPLIT, LOOKS_PIPELINED, LOOKS_UNCLEAR };

static __noinline enum looks look_at(struct __sk_buff *skb, const struct packet *p,
					  struct scan **found)
{
	struct scan *s = scan_load(skb, p->payload, p->length);
	enum method method;

	*found = s;
	if (!s)
		return LOOKS_NOT_HTTP;
	method = method_of((__u32)word_at(s, 0));
	if (method == METHOD_NONE)
		return LOOKS_NOT_HTTP;
	scan_head(s);
	/* Whole, and not only because the kernel has put segments together. */
	if (!s->end || (skb->gso_size && s->end > skb->gso_size))
		return LOOKS_SPLIT;
	/* Where the body ends is for those to say who read all of HTTP. */
	if (s->encoded || s->has_length > 1 || s->content_length > 0x7fffffff)
		return LOOKS_UNCLEAR;
	if (s->end + s->content_length < p->length)
		return LOOKS_PIPELINED;
	return LOOKS_REQUEST;
}

/* The first request of a connection was decided: it becomes a flow and is handed over. */
static __noinline int open_flow(struct __sk_buff *skb, struct passage *t, __u32 slot)
{
	struct server *server = bpf_map_lookup_elem(&servers, &slot);
	struct flow *flow = &t->fresh;

	if (!server || server->state != SERVER_UP)
		return ask(skb, t);
	*flow = (struct flow){
		.seen_ns = t->now_ns,
		.counted = slot,
		.holder = slot,
		.connection = t->p.seq,
		.mark_seq = t->p.seq,
		.next_seq = t->p.seq + t->p.length,
		.decided_seq = t->p.seq,
		.decided = slot,
		.decided_ack = t->p.ack,
		.client_ack = t->p.ack,
		.ifindex = t->ifindex,
		.requests = 1,
		.mss = t->known.mss,
		.wscale = t->known.wscale,
		.delivery = t->delivery,
	};
	flow->opened_ns = flow->seen_ns;
	flow->data_ack = t->p.ack;
	if (t->p.flags & FIN)
		flow->state = FLOW_HALF;
	flow->options = (t->known.sack ? OPT_SACK : 0) |
			(t->delivery == DELIVERY_MULTI ? OPT_TRACK : 0) |
			(t->delivery == DELIVERY_FORWARD ? OPT_AGENT : 0);
	if (bpf_map_update_elem(&flows, &t->p.key, flow, BPF_NOEXIST)) {
		/* Another copy of this segment was faster, or there is no room. */
		if (bpf_map_lookup_elem(&flows, &t->p.key))
			return TC_ACT_SHOT;
		return relay(skb, t, COUNT_LOCAL_FULL);
	}
	book_open(slot, 1);
	count(COUNT_HANDED_OVER);
	return send_letter(skb, &t->p, flow, server, KIND_HANDOFF);
}

/* A keep-alive probe before the first request repeats the byte before it: modulo 2^22. */
#define PROBE 0x3fffff

/* A segment with this cookie's offset that does not begin a connection. */
static __always_inline int not_the_first(struct __sk_buff *skb, struct passage *t, __u32 offset)
{
	if (offset == PROBE && t->p.length <= 1 && !(t->p.flags & FIN)) {
		t->p.length = 1;
		if (turn_round(skb, &t->p, ACK))
			return TC_ACT_SHOT;
		count(COUNT_PROBE_ANSWERED);
		return bpf_redirect(skb->ifindex, 0);
	}
	/* The relay's connections are the stack's own; it resets what is nobody's. */
	if (offset >= EARLY_MAX && !bpf_map_lookup_elem(&pendings, &t->p.key)) {
		own_seen(&t->p.key, t->now_ns);
		return PASS;
	}
	look(skb, &t->p, &t->standing);
	if (t->standing.found == FOUND_LIVE)
		return PASS;
	/* It overtook the first segment, or that one is held: it comes again. */
	return drop(COUNT_ORPHAN);
}

/* User space decides whose a new connection is, and is asked once. */
static __always_inline int ask_first(struct __sk_buff *skb, struct passage *t)
{
	struct pending *pending = bpf_map_lookup_elem(&pendings, &t->p.key);
	struct pending fresh = { .seq = t->p.seq, .asked = asked_at(t->now_ns) };

	if (pending && pending->seq == t->p.seq && (__u8)(fresh.asked - pending->asked) < 2)
		return drop(COUNT_ASKED_ALREADY);
	bpf_map_update_elem(&pendings, &t->p.key, &fresh, BPF_ANY);
	return ask(skb, t);
}

/* A segment of a connection that is no flow: a handshake's end, a first request, or the relay's. */
static __always_inline int stranger(struct __sk_buff *skb, struct passage *t)
{
	struct scan *s;
	__u32 slot = t->verdict;
	__u32 offset;

	if (t->p.flags & RST || !(t->p.flags & ACK))
		return PASS;
	offset = cookie_offset(&t->p, &t->known, t->now_ns);
	if (offset)
		return not_the_first(skb, t, offset);
	if (!t->p.length && !(t->p.flags & FIN)) {
		count(COUNT_ACK_ABSORBED);
		return TC_ACT_SHOT;
	}
	if (may_be_own(&t->p.key, t->now_ns)) {
		look(skb, &t->p, &t->standing);
		if (t->standing.found == FOUND_LIVE) {
			own_seen(&t->p.key, t->now_ns);
			return PASS;
		}
	}
	if (!t->p.length) {
		if (turn_round(skb, &t->p, FIN | ACK))
			return TC_ACT_SHOT;
		count(COUNT_FIN_ANSWERED);
		return bpf_redirect(skb->ifindex, 0);
	}
	if (t->answered)
		bpf_map_delete_elem(&pendings, &t->p.key);
	if (slot == ASK) {
		switch (look_at(skb, &t->p, &s)) {
		case LOOKS_NOT_HTTP:
			return relay(skb, t, COUNT_LOCAL_NOT_HTTP);
		case LOOKS_SPLIT:
			return relay(skb, t, COUNT_LOCAL_SPLIT_HEAD);
		case LOOKS_UNCLEAR:
			return ask_first(skb, t);
		case LOOKS_PIPELINED:
			if (t->delivery != DELIVERY_HANDOFF)
				return relay(skb, t, COUNT_LOCAL_PIPELINED);
			break;
		case LOOKS_REQUEST:
			break;
		}
		slot = decide(&t->p.key, NOBODY, t->now_ns);
	}
	if (slot == RELAY)
		return relay(skb, t, COUNT_LOCAL_VERDICT);
	if (slot == ASK)
		return ask_first(skb, t);
	return open_flow(skb, t, slot);
}

#endif

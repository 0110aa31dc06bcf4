/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On the front-end: answers SYNs, reads the first segment of each connection (of each request, where
 * connections may move), hands it to the server that shall answer, and passes the rest on. Runs on the
 * interfaces of clients and servers, and on the TAP through which held segments come back.
 */
#include "acquaintance.h"

char _license[] SEC("license") = "GPL";

/* The holder gave the connection up at this segment: it is taken to the one it was decided for, in the
 * same envelope. */
static __always_inline int released(struct __sk_buff *skb, struct passage *t, struct letter *letter)
{
	struct flow *flow = bpf_map_lookup_elem(&flows, &letter->inner.key);
	struct server *server;
	__u32 slot;

	if (!flow || flow->decided_seq != letter->inner.seq || flow->decided == ASK ||
	    flow->connection != bpf_ntohl(letter->envelope.connection))
		return drop(COUNT_UNKNOWN_RELEASE);
	slot = flow->decided;
	if (slot == RELAY) {
		if (take_out(skb, letter))
			return TC_ACT_SHOT;
		relayed_for(&letter->inner.key, COUNT_LOCAL_VERDICT, COUNT_LOCAL_VERDICT);
		skb->mark = MARK_RELAY;
		return bpf_redirect(flow->ifindex, BPF_F_INGRESS);
	}
	__u32 before = flow->holder;
	/* Once, should this have been said twice at the same time. */
	if (flow->mark_seq != letter->inner.seq && before != slot &&
	    __sync_val_compare_and_swap(&flow->holder, before, slot) == before) {
		/* Not open if it was closed meanwhile: nobody would close it again. */
		int open = __sync_val_compare_and_swap(&flow->counted, before, slot) == before;
		if (open)
			book_close(before);
		book_open(slot, open);
		*(volatile __u32 *)&flow->mark_seq = letter->inner.seq;
		flow->moves++;
		count(COUNT_MOVED);
	}
	slot = flow->holder;
	server = bpf_map_lookup_elem(&servers, &slot);
	if (!server)
		return TC_ACT_SHOT;
	if (server->state == SERVER_DOWN || server->state == SERVER_NONE) {
		if (take_out(skb, letter))
			return TC_ACT_SHOT;
		t->p = letter->inner;
		t->from_server = 1;
		return reset_client(skb, t, flow);
	}
	letter_becomes(letter, KIND_HANDOFF);
	if (address_anew(skb, server, letter))
		/* The client sends it again, and then it goes there from the beginning. */
		return drop(COUNT_MALFORMED);
	return bpf_redirect_neigh(server->ifindex, NULL, 0, 0);
}

static __always_inline int letter_came(struct __sk_buff *skb, struct passage *t)
{
	struct letter *letter = &t->letter;

	switch (open_letter(skb, &t->p, letter)) {
	case OPENED_MALFORMED:
		return drop(COUNT_MALFORMED);
	case OPENED_FORGED:
		return drop(COUNT_FORGED);
	case OPENED:
		break;
	}
	if (letter->envelope.kind != KIND_RELEASED ||
	    letter->inner.seq != bpf_ntohl(letter->envelope.seq))
		return drop(COUNT_MALFORMED);
	return released(skb, t, letter);
}

/* A reply was too large for some router: its server has to know. */
static __noinline int too_large(struct __sk_buff *skb, struct passage *t)
{
	struct server *holder;
	struct flow *flow;
	__u32 slot;

	if (parse_too_large(skb, &t->p))
		return PASS;
	flow = bpf_map_lookup_elem(&flows, &t->p.key);
	if (!flow)
		return PASS;
	slot = flow->holder;
	holder = bpf_map_lookup_elem(&servers, &slot);
	if (!holder || holder->state == SERVER_DOWN || holder->state == SERVER_NONE)
		return PASS;
	return send_plain(skb, &t->p, flow, holder);
}

/* What user space wrote where the addresses of the frame were. */
static __always_inline int read_note(struct __sk_buff *skb, struct passage *t)
{
	__u8 note[2 * ETH_ALEN];

	if (bpf_skb_load_bytes(skb, 0, note, sizeof(note)) || note[0] != 0x02 || note[1] != 0xba)
		return -1;
	__builtin_memcpy(&t->verdict, note + 2, 4);
	__builtin_memcpy(&t->ifindex, note + ETH_ALEN + 2, 4);
	t->answered = 1;
	count(COUNT_ANSWERED);
	return 0;
}

/* The listener was given up: what was handed over keeps its way, all else is the stack's; also a
 * connection that the stack has made on the port of one of ours. */
static __always_inline int given_up(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	if (!flow) {
		own_seen(&t->p.key, t->now_ns);
		return 1;
	}
	if (t->p.flags & SYN) {
		flow->resyn = resyn_at(t->now_ns);
		return 1;
	}
	if (!resyn_recent(flow, t->now_ns))
		return 0;
	look(skb, &t->p, &t->standing);
	if (t->standing.found != FOUND_LIVE)
		return 0;
	own_seen(&t->p.key, t->now_ns);
	close_flow(flow);
	bpf_map_delete_elem(&flows, &t->p.key);
	return 1;
}

/* What is not plainly of a flow. GO_ON: it is after all. */
static __noinline int otherwise(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	struct listener *listener = listener_of(&t->p.key);

	if (!listener)
		return PASS;
	t->delivery = listener->delivery;
	if (skb->mark == MARK_RELAY || skb->mark == MARK_RELAY_AGAIN) {
		bpf_skb_change_type(skb, 0 /* PACKET_HOST */);
		return relay_here(skb, t, flow);
	}
	if (t->delivery == DELIVERY_RELAY && given_up(skb, t, flow))
		return PASS;
	if (t->p.flags & SYN) {
		if (t->p.flags & (ACK | RST | FIN))
			return drop(COUNT_MALFORMED);
		if (flow)
			flow->resyn = resyn_at(t->now_ns);
		return answer_syn(skb, &t->p, &t->usual, t->now_ns);
	}
	if (!flow || begins_anew(t, flow))
		return stranger(skb, t);
	return GO_ON;
}

SEC("tc")
int front_ingress(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct passage *t = bpf_map_lookup_elem(&passages, &zero);
	struct flow *flow;
	__u32 bytes;

	if (!t)
		return PASS;
	t->ifindex = skb->ifindex;
	t->verdict = ASK;
	t->answered = 0;
	t->from_server = 0;
	bytes = parse_ip(skb, &t->p, ETH_HLEN);
	if (!bytes)
		return PASS;
	if (is_letter(skb, &t->p))
		return letter_came(skb, t);
	if (is_icmp(&t->p))
		return too_large(skb, t);
	if (t->p.protocol != IPPROTO_TCP || parse_tcp(skb, &t->p, bytes))
		return PASS;
	if (skb->mark == MARK_KILL)
		return be_killer(skb, &t->p, 0);
	if (skb->ifindex == site.tap_ifindex && read_note(skb, t))
		return TC_ACT_SHOT;
	t->now_ns = bpf_ktime_get_coarse_ns();
	/* Most packets are of a flow, and then no other table is needed. */
	flow = bpf_map_lookup_elem(&flows, &t->p.key);
	if (!flow || t->p.flags & SYN || flow->resyn || flow->state != FLOW_OPEN || skb->mark) {
		int fate = otherwise(skb, t, flow);
		if (fate != GO_ON || !flow)
			return fate;
	}
	return acquaintance(skb, t, flow);
}

#include "early.h"

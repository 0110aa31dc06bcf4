/* SPDX-License-Identifier: GPL-2.0 */
/* To the relay on this front-end, by the same call as a server takes a connection over. */
#ifndef BATON_RELAY_H
#define BATON_RELAY_H

#include "flow.h"

/* When connections of this machine's own sockets were last seen here, by a hash of their addresses and
 * ports that need not tell them apart: to search for a socket costs as much as to scan a request, and
 * where nothing is relayed there is none. In units of 8.6 s as resyn_at() has them; zero: never. */
#define OWN_CELLS 16384

struct own {
	__u8 seen[OWN_CELLS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct own);
} owns SEC(".maps");

/* A socket that says nothing for a quarter of an hour is forgotten, and then only the cookie, one
 * chance in 2^22, keeps its next segment from being taken for a first one. */
#define OWN_UNITS 105

static __always_inline __u8 *own_cell(const struct flow_key *key)
{
	__u32 zero = 0;
	struct own *own = bpf_map_lookup_elem(&owns, &zero);
	__u32 ports = (__u32)key->client_port << 16 | key->vip_port;
	__u32 hash = (key->client[3] ^ key->client[1] ^ key->vip[3] ^ ports) * 0x9e3779b1u;

	return own ? &own->seen[(hash >> 16) & (OWN_CELLS - 1)] : NULL;
}

/* A socket of this machine has, or is about to have, this connection. */
static __always_inline void own_seen(const struct flow_key *key, __u64 now_ns)
{
	__u8 *cell = own_cell(key);

	if (cell)
		*cell = resyn_at(now_ns);
}

static __always_inline int may_be_own(const struct flow_key *key, __u64 now_ns)
{
	__u8 *cell = own_cell(key);

	return !cell || (*cell && ((resyn_at(now_ns) - *cell) & 0x7f) <= OWN_UNITS);
}

/* Why connections are on their way to the relay, which takes that out for its log: a value of enum
 * count, COUNT_ANSWERED for what user space knows better. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_key);
	__type(value, __u32);
} reasons SEC(".maps");

/* Counted, and noted before there is a socket to be accepted. */
static __always_inline void relayed_for(const struct flow_key *key, __u32 why, __u32 noted)
{
	count(why);
	/* Without room nobody hears why: it is relayed all the same. */
	bpf_map_update_elem(&reasons, key, &noted, BPF_ANY);
}

/* The relay on this machine gets the connection, by the same call as a server does. `flow`: what it
 * was until now, if it was given back in the middle; the handshake is too long ago to be proved. */
static __noinline int relay_here(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	struct options *known = &t->known;

	own_seen(&t->p.key, t->now_ns);
	look(skb, &t->p, &t->standing);
	if (t->standing.found == FOUND_LIVE)
		return TC_ACT_OK;
	if (t->standing.found == FOUND_TIME_WAIT) {
		if (skb->mark == MARK_RELAY_AGAIN)
			return drop(COUNT_LOCAL_REFUSED);
		kill_socket(skb);
		skb->mark = MARK_RELAY_AGAIN;
		return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
	}
	parse_options(skb, &t->p, &t->o);
	if (flow) {
		known->mss = flow->mss;
		known->wscale = flow->wscale;
		known->sack = !!(flow->options & OPT_SACK);
	} else if (!cookie_check(&t->p, known, t->now_ns)) {
		return drop(COUNT_COOKIE_REFUSED);
	}
	t->o.mss = known->mss;
	t->o.sack = known->sack;
	t->o.wscale = known->wscale;
	if (adopt(skb, &t->p, &t->o, t->p.key.vip_port) != ADOPTED)
		return drop(COUNT_LOCAL_REFUSED);
	if (flow) {
		close_flow(flow);
		bpf_map_delete_elem(&flows, &t->p.key);
	}
	return TC_ACT_OK;
}

/* Sends it to the relay, through the interface of the client: only there it comes from where the
 * client is, as rp_filter may ask. */
static __always_inline int relay(struct __sk_buff *skb, struct passage *t, __u32 why)
{
	relayed_for(&t->p.key, why, t->verdict == RELAY ? COUNT_ANSWERED : why);
	own_seen(&t->p.key, t->now_ns);
	if (skb->ifindex == t->ifindex)
		return relay_here(skb, t, NULL);
	skb->mark = MARK_RELAY;
	return bpf_redirect(t->ifindex, BPF_F_INGRESS);
}

#endif

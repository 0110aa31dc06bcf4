/* SPDX-License-Identifier: GPL-2.0 */
/* To the relay on this front-end, by the same call as a server takes a connection over. */
#ifndef BATON_RELAY_H
#define BATON_RELAY_H

#include "flow.h"

/* The relay on this machine gets the connection, by the same call as a server does. `flow`: what it
 * was until now, if it was given back in the middle; the handshake is too long ago to be proved. */
static __noinline int relay_here(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	struct options *known = &t->known;

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
	count(why);
	if (skb->ifindex == t->ifindex)
		return relay_here(skb, t, NULL);
	skb->mark = MARK_RELAY;
	return bpf_redirect(t->ifindex, BPF_F_INGRESS);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taking a connection over: the kernel makes an established socket of a listener from the client's
 * own segment, payload included (bpf_sk_assign_tcp_reqsk, Linux 6.9). Used on servers, and on the
 * front-end for its own relay. And getting rid of a socket quietly: a RST with exactly the next
 * expected sequence number, injected at our own ingress, ends it without a packet on the wire.
 */
#ifndef BATON_ADOPT_H
#define BATON_ADOPT_H

#include "packet.h"

/* Marks a packet that we sent to ourselves: a sign within this kernel, never from the network. */
#define MARK_KILL 0xba700001

/* IPv6's least MTU without its headers. */
#define MSS6_MIN 1220

static __always_inline struct bpf_sock *find_socket(struct __sk_buff *skb, const struct packet *p,
						    __u16 port)
{
	struct bpf_sock_tuple tuple = {};

	if (p->v6) {
		__builtin_memcpy(tuple.ipv6.saddr, p->key.client, 16);
		__builtin_memcpy(tuple.ipv6.daddr, p->key.vip, 16);
		tuple.ipv6.sport = p->key.client_port;
		tuple.ipv6.dport = port;
		return bpf_skc_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	}
	tuple.ipv4.saddr = p->key.client[3];
	tuple.ipv4.daddr = p->key.vip[3];
	tuple.ipv4.sport = p->key.client_port;
	tuple.ipv4.dport = port;
	return bpf_skc_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
}

enum found { FOUND_NONE, FOUND_LIVE, FOUND_TIME_WAIT };

/* What there is of a connection. */
struct standing {
	enum found found;
	__u32 rcv_nxt;
	__u32 write_seq;
	__u8 established;
	__u8 ahead;		/* it has what comes behind something that has not come */
};

/* Looks for a socket of this very connection; a listener is none. */
static __noinline void look(struct __sk_buff *skb, const struct packet *p,
				 struct standing *standing)
{
	struct bpf_sock *sk = find_socket(skb, p, p->key.vip_port);

	__builtin_memset(standing, 0, sizeof(*standing));
	if (!sk)
		return;
	if (sk->state == LISTEN) {
		bpf_sk_release(sk);
		return;
	}
	if (sk->state == TIME_WAIT) {
		struct tcp_timewait_sock *tw = bpf_skc_to_tcp_timewait_sock(sk);
		standing->found = FOUND_TIME_WAIT;
		if (tw)
			standing->rcv_nxt =
				BPF_CORE_READ((struct sock_common *)tw, skc_tw_rcv_nxt);
		bpf_sk_release(sk);
		return;
	}
	standing->found = FOUND_LIVE;
	standing->established = sk->state == ESTABLISHED;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (tp) {
		standing->rcv_nxt = tp->rcv_nxt;
		standing->write_seq = tp->write_seq;
		standing->ahead = !!tp->out_of_order_queue.rb_node;
	}
	bpf_sk_release(sk);
}

enum adopted { ADOPTED, ADOPT_NO_LISTENER, ADOPT_REFUSED };

/* Makes the socket: who listens on `port` (network order) will accept it. */
static __noinline enum adopted adopt(struct __sk_buff *skb, const struct packet *p,
					  const struct options *o, __u16 port)
{
	struct bpf_tcp_req_attrs attrs = {
		.rcv_tsval = o->tsval,
		.rcv_tsecr = o->tsecr,
		.mss = o->mss,
		.rcv_wscale = WSCALE,
		.snd_wscale = o->wscale,
		.wscale_ok = o->wscale != WSCALE_NONE,
		.sack_ok = o->sack,
		.tstamp_ok = o->timestamps,
	};
	struct bpf_sock *listener = find_socket(skb, p, port);
	struct tcp_sock *sk;
	int refused = -1;

	if (!listener)
		return ADOPT_NO_LISTENER;
	if (listener->state != LISTEN) {
		bpf_sk_release(listener);
		return ADOPT_NO_LISTENER;
	}
	/* The least that the kernel takes; who offers less with IPv6 does without its MTU of 1280. */
	if (p->v6 && attrs.mss < MSS6_MIN)
		attrs.mss = MSS6_MIN;
	if (o->wscale == WSCALE_NONE) {
		attrs.rcv_wscale = 0;
		attrs.snd_wscale = 0;
	}
	sk = bpf_skc_to_tcp_sock(listener);
	if (sk)
		refused = bpf_sk_assign_tcp_reqsk(skb, (struct sock *)sk, &attrs, sizeof(attrs));
	bpf_sk_release(listener);
	return refused ? ADOPT_REFUSED : ADOPTED;
}

/* Makes the packet at ETH_HLEN a RST with sequence number `seq`. Payload may stay: nobody reads it. The
 * options become payload too: time stamps older than those of the socket in the way would save it. */
static __always_inline int become_rst(struct __sk_buff *skb, const struct packet *p, __u32 seq)
{
	__u32 sum = p->l4 + __builtin_offsetof(struct tcphdr, check);
	__u32 at = p->l4 + 12;
	__u32 old_seq = bpf_htonl(p->seq);
	__u16 old_flags, flags;

	seq = bpf_htonl(seq);
	if (bpf_skb_load_bytes(skb, at, &old_flags, sizeof(old_flags)))
		return -1;
	flags = bpf_htons(sizeof(struct tcphdr) / 4 << 12 | RST | ACK);
	return bpf_l4_csum_replace(skb, sum, old_flags, flags, sizeof(flags)) ||
	       bpf_l4_csum_replace(skb, sum, old_seq, seq, sizeof(seq)) ||
	       bpf_skb_store_bytes(skb, at, &flags, sizeof(flags), 0) ||
	       bpf_skb_store_bytes(skb, p->l4 + 4, &seq, sizeof(seq), 0);
}

/* Sends a copy of this packet to our own ingress, there to end the socket in the way. */
static __always_inline void kill_socket(struct __sk_buff *skb)
{
	__u32 mark = skb->mark;

	skb->mark = MARK_KILL;
	bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	skb->mark = mark;
}

/* The copy has come: p is a packet of the connection, at ETH_HLEN. `live`: what is in the way may be
 * more than a connection in TIME_WAIT. */
static __always_inline int be_killer(struct __sk_buff *skb, const struct packet *p, int live)
{
	struct standing standing;

	look(skb, p, &standing);
	if (standing.found == FOUND_NONE || (standing.found == FOUND_LIVE && !live) ||
	    become_rst(skb, p, standing.rcv_nxt))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

#endif

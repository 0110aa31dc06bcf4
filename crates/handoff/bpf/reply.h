/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments that the front-end answers by itself: the client's packet is turned round. Checksums are
 * changed by differences, which is right for packets whose checksum the sender left to the hardware
 * too (their checksum field must stay what it is).
 */
#ifndef BATON_REPLY_H
#define BATON_REPLY_H

#include "cookie.h"
#include "maps.h"

/* Routers that an answer may pass, however many the question has passed. */
#define HOPS 64

/* RFC 1624: the checksum by the difference of the one word that changes. */
static __always_inline void renew_hops(struct iphdr *ip)
{
	__u16 *word = (__u16 *)&ip->ttl, old = *word;
	__u32 sum;

	ip->ttl = HOPS;
	sum = (__u16)~ip->check + (__u16)~old + *word;
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~(sum + (sum >> 16));
}

/* The same in a packet whose headers lie elsewhere. A function of its own: the stack is short. */
static __noinline int renew_hops_at(struct __sk_buff *skb, const struct packet *p)
{
	__u8 hops = HOPS;
	__u16 old, new;

	if (p->v6)
		return bpf_skb_store_bytes(skb, p->l3 + 7, &hops, 1, BPF_F_RECOMPUTE_CSUM);
	if (bpf_skb_load_bytes(skb, p->l3 + 8, &old, 2))
		return -1;
	new = (old & bpf_htons(0xff)) | bpf_htons(HOPS << 8);
	return bpf_skb_store_bytes(skb, p->l3 + 8, &new, 2, 0) ||
	       bpf_l3_csum_replace(skb, p->l3 + 10, old, new, 2);
}

/* Sender and receiver change places: in the frame, the IP header and the ports. No sum changes but
 * for the hops. */
static __always_inline int turn_addresses(struct __sk_buff *skb, const struct packet *p)
{
	struct ethhdr eth, back;
	__u16 ports[2] = { p->key.vip_port, p->key.client_port };
	__u32 addresses[8];

	if (bpf_skb_load_bytes(skb, 0, &eth, sizeof(eth)))
		return -1;
	back = eth;
	__builtin_memcpy(back.h_dest, eth.h_source, ETH_ALEN);
	__builtin_memcpy(back.h_source, eth.h_dest, ETH_ALEN);
	if (bpf_skb_store_bytes(skb, 0, &back, sizeof(back), 0) ||
	    bpf_skb_store_bytes(skb, p->l4, ports, sizeof(ports), 0) || renew_hops_at(skb, p))
		return -1;
	if (p->v6) {
		__builtin_memcpy(addresses, p->key.vip, 16);
		__builtin_memcpy(addresses + 4, p->key.client, 16);
		return bpf_skb_store_bytes(skb, p->l3 + 8, addresses, 32, 0);
	}
	addresses[0] = p->key.vip[3];
	addresses[1] = p->key.client[3];
	return bpf_skb_store_bytes(skb, p->l3 + 12, addresses, 8, 0);
}

/* Sets the length in the IP header, from `old` bytes of TCP to `new`; the pseudo-header has it too. */
static __always_inline int set_length(struct __sk_buff *skb, const struct packet *p, __u32 old,
				      __u32 new)
{
	__u16 total_old, total;

	if (bpf_l4_csum_replace(skb, p->l4 + 16, bpf_htons(old), bpf_htons(new),
				BPF_F_PSEUDO_HDR | 2))
		return -1;
	if (p->v6) {
		total = bpf_htons(new);
		return bpf_skb_store_bytes(skb, p->l3 + 4, &total, 2, 0);
	}
	total_old = bpf_htons(p->l4 - p->l3 + old);
	total = bpf_htons(p->l4 - p->l3 + new);
	return bpf_l3_csum_replace(skb, p->l3 + 10, total_old, total, 2) ||
	       bpf_skb_store_bytes(skb, p->l3 + 2, &total, 2, 0);
}

/* The header of every answer to a SYN: options that the client did not offer are left empty. */
#define ANSWER_BYTES 40

struct answer {
	struct tcphdr tcp;
	__u8 options[ANSWER_BYTES - sizeof(struct tcphdr)];
};

static __always_inline void fill_answer(struct answer *answer, const struct packet *p,
					const struct options *o, __u64 now_ns)
{
	__u32 stamps[2] = { bpf_htonl((__u32)(now_ns / 1000000)), bpf_htonl(o->tsval) };
	__u16 mss = p->v6 ? site.mss6 : site.mss4;

	__builtin_memset(&answer->tcp, 0, sizeof(answer->tcp));
	answer->tcp.source = p->key.vip_port;
	answer->tcp.dest = p->key.client_port;
	answer->tcp.seq = bpf_htonl(cookie_make(&p->key, p->seq, o, now_ns));
	answer->tcp.ack_seq = bpf_htonl(p->seq + 1);
	answer->tcp.doff = ANSWER_BYTES / 4;
	answer->tcp.syn = 1;
	answer->tcp.ack = 1;
	answer->tcp.window = 0xffff;
	__builtin_memset(answer->options, 1, sizeof(answer->options));
	answer->options[0] = 2;
	answer->options[1] = 4;
	answer->options[2] = mss >> 8;
	answer->options[3] = mss & 255;
	if (o->sack) {
		answer->options[4] = 4;
		answer->options[5] = 2;
	}
	if (o->timestamps) {
		answer->options[6] = 8;
		answer->options[7] = 10;
		__builtin_memcpy(answer->options + 8, stamps, sizeof(stamps));
	}
	if (o->wscale != WSCALE_NONE) {
		answer->options[17] = 3;
		answer->options[18] = 3;
		answer->options[19] = WSCALE;
	}
}

/* The frames in which nearly all SYNs come, and their answers go: with 20 bytes of TCP options, as
 * many as the answer has, and without IP's. */
struct usual4 {
	__u16 unused;		/* so that what follows is aligned */
	struct ethhdr eth;
	struct iphdr ip;
	struct answer answer;
};

struct usual6 {
	__u16 unused;
	struct ethhdr eth;
	struct ipv6hdr ip;
	struct answer answer;
};

/* Room for one of them: not on the stack, which is short. */
union usual {
	struct usual4 v4;
	struct usual6 v6;
};

static __always_inline void turn_ethernet(struct ethhdr *to, const struct ethhdr *from)
{
	__builtin_memcpy(to->h_dest, from->h_source, ETH_ALEN);
	__builtin_memcpy(to->h_source, from->h_dest, ETH_ALEN);
	to->h_proto = from->h_proto;
}

/* What the sum of the answer has more than that of the SYN, but for the checksum itself. */
static __always_inline __u32 sum_gained(const struct answer *old, const struct answer *new)
{
	const __u32 *from = (const __u32 *)old, *to = (const __u32 *)new;
	__u64 sum = 0;

#pragma unroll
	for (int i = 0; i < ANSWER_BYTES / 4; i++)
		sum += (__u64)to[i] + (__u32)~from[i];
	/* The checksum is no part of it: the answer's is zero still. */
	sum += old->tcp.check;
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (sum & 0xffffffff) + (sum >> 32);
}

/* Answers a usual SYN in one write: calls are what an answer costs. GO_ON for all others. Not inline:
 * beside that of others there is no room for its stack. */
static __noinline int answer_usual4(struct __sk_buff *skb, const struct packet *p,
				    struct usual4 *new)
{
	const struct ethhdr *eth = (void *)(long)skb->data;
	const struct iphdr *ip = (void *)(eth + 1);
	const struct answer *old = (void *)(ip + 1);
	__u32 bytes = sizeof(*new) - 2, sum;

	if ((void *)(old + 1) > (void *)(long)skb->data_end || skb->len != bytes ||
	    p->payload != bytes || p->l4 != bytes - sizeof(new->answer))
		return GO_ON;
	turn_ethernet(&new->eth, eth);
	new->ip = *ip;
	renew_hops(&new->ip);
	new->ip.saddr = p->key.vip[3];
	new->ip.daddr = p->key.client[3];
	sum = sum_gained(old, &new->answer);
	new->answer.tcp.check = old->tcp.check;
	return bpf_skb_store_bytes(skb, 0, &new->eth, bytes, 0) ||
	       bpf_l4_csum_replace(skb, p->l4 + 16, 0, sum, 0);
}

static __noinline int answer_usual6(struct __sk_buff *skb, const struct packet *p,
				    struct usual6 *new)
{
	const struct ethhdr *eth = (void *)(long)skb->data;
	const struct ipv6hdr *ip = (void *)(eth + 1);
	const struct answer *old = (void *)(ip + 1);
	__u32 bytes = sizeof(*new) - 2, sum;
	__u16 hops;

	if ((void *)(old + 1) > (void *)(long)skb->data_end || skb->len != bytes ||
	    p->payload != bytes)
		return GO_ON;
	sum = sum_gained(old, &new->answer);
	turn_ethernet(&new->eth, eth);
	new->ip = *ip;
	new->ip.hop_limit = HOPS;
	/* No checksum of its own that would make up for it in the sum that hardware made, if it did. */
	hops = *(__u16 *)&new->ip.nexthdr;
	bpf_csum_update(skb, hops + (__u16)~*(__u16 *)&ip->nexthdr);
	__builtin_memcpy(&new->ip.saddr, p->key.vip, 16);
	__builtin_memcpy(&new->ip.daddr, p->key.client, 16);
	new->answer.tcp.check = old->tcp.check;
	return bpf_skb_store_bytes(skb, 0, &new->eth, bytes, 0) ||
	       bpf_l4_csum_replace(skb, p->l4 + 16, 0, sum, 0);
}

/* Answers any other: its length changes, or where its headers lie. */
static __noinline int answer_unusual(struct __sk_buff *skb, const struct packet *p,
				     const struct answer *answer)
{
	__u8 old[60] = {};
	__u32 bytes = p->payload - p->l4;

	if (bytes < sizeof(struct tcphdr) || bytes > sizeof(old) ||
	    bpf_skb_load_bytes(skb, p->l4, old, bytes))
		return -1;
	((struct tcphdr *)old)->check = 0;
	__s64 sum = bpf_csum_diff((__be32 *)old, sizeof(old), (__be32 *)answer, sizeof(*answer), 0);

	return sum < 0 || bpf_l4_csum_replace(skb, p->l4 + 16, 0, sum, 0) ||
	       set_length(skb, p, bytes, sizeof(*answer)) || turn_addresses(skb, p) ||
	       bpf_skb_change_tail(skb, p->l4 + sizeof(*answer), 0) ||
	       bpf_skb_store_bytes(skb, p->l4, answer, 16, 0) ||
	       bpf_skb_store_bytes(skb, p->l4 + 18, (__u8 *)answer + 18, sizeof(*answer) - 18, 0);
}

/* The options of a SYN. All current Linux kernels write the same twenty bytes, which are read without
 * steps. */
static __always_inline void syn_options(struct __sk_buff *skb, const struct packet *p,
					struct options *o)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	__u32 at = p->l4 + sizeof(struct tcphdr);

	/* As in parse_tcp. */
	asm volatile("" : "+r"(at));
	if (at <= 256 && p->payload - p->l4 == ANSWER_BYTES && data + at + 20 <= end) {
		const __u8 *b = data + at;
		if (b[0] == 2 && b[1] == 4 && b[4] == 4 && b[5] == 2 && b[6] == 8 && b[7] == 10 &&
		    b[16] == 1 && b[17] == 3 && b[18] == 3) {
			o->mss = b[2] << 8 | b[3];
			o->sack = 1;
			o->timestamps = 1;
			o->tsval = bpf_ntohl(*(__u32 *)(b + 8));
			o->tsecr = bpf_ntohl(*(__u32 *)(b + 12));
			o->wscale = b[19] > 14 ? 14 : b[19];
			return;
		}
	}
	parse_options(skb, p, o);
}

/* Answers a SYN without keeping anything of it. */
static __noinline int answer_syn(struct __sk_buff *skb, const struct packet *p, union usual *usual,
				 __u64 now_ns)
{
	struct answer *answer = p->v6 ? &usual->v6.answer : &usual->v4.answer;
	struct options o = {};
	int refused;

	/* Data in a SYN belongs to Fast Open, which we do not offer. */
	if (p->length)
		return drop(COUNT_MALFORMED);
	syn_options(skb, p, &o);
	fill_answer(answer, p, &o, now_ns);
	refused = p->v6 ? answer_usual6(skb, p, &usual->v6) : answer_usual4(skb, p, &usual->v4);
	if (refused == GO_ON)
		refused = answer_unusual(skb, p, answer);
	if (refused)
		return drop(COUNT_MALFORMED);
	count(COUNT_SYN_ANSWERED);
	return bpf_redirect(skb->ifindex, 0);
}

/* Turns a segment into an answer with these numbers and flags; payload may stay behind a RST. */
static __noinline int turn_round(struct __sk_buff *skb, const struct packet *p, __u16 flags)
{
	__u32 sum = p->l4 + 16;
	__u32 seq_old = bpf_htonl(p->seq), seq = bpf_htonl(p->ack);
	__u32 ack_old = bpf_htonl(p->ack);
	__u32 ack = bpf_htonl(p->seq + p->length + !!(p->flags & FIN));
	__u16 word_old, word;
	__u32 stamp[3];

	if (bpf_skb_load_bytes(skb, p->l4 + 12, &word_old, 2))
		return -1;
	word = (word_old & bpf_htons(0xf000)) | bpf_htons(flags);
	if (bpf_l4_csum_replace(skb, sum, word_old, word, 2) ||
	    bpf_l4_csum_replace(skb, sum, seq_old, seq, 4) ||
	    bpf_l4_csum_replace(skb, sum, ack_old, ack, 4) || turn_addresses(skb, p) ||
	    bpf_skb_store_bytes(skb, p->l4 + 12, &word, 2, 0) ||
	    bpf_skb_store_bytes(skb, p->l4 + 4, &seq, 4, 0) ||
	    bpf_skb_store_bytes(skb, p->l4 + 8, &ack, 4, 0))
		return -1;
	/* Time stamps, where everybody puts them: theirs for ours and ours for theirs. */
	if (p->payload - p->l4 < 32 || bpf_skb_load_bytes(skb, p->l4 + 20, stamp, sizeof(stamp)) ||
	    stamp[0] != bpf_htonl(0x0101080a))
		return 0;
	__u32 swapped[2] = { stamp[2], stamp[1] };
	return bpf_skb_store_bytes(skb, p->l4 + 24, swapped, sizeof(swapped), 0);
}

#endif

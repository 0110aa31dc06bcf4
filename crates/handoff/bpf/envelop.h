/* SPDX-License-Identifier: GPL-2.0 */
/* Putting a packet into an envelope: the front-end does. */
#ifndef BATON_ENVELOP_H
#define BATON_ENVELOP_H

#include "envelope.h"

struct outer4 {
	struct iphdr ip;
	struct udphdr udp;
	struct envelope envelope;
};

struct outer6 {
	struct ipv6hdr ip;
	struct udphdr udp;
	struct envelope envelope;
};

static __always_inline __u16 ip_checksum(const struct iphdr *ip)
{
	const __u16 *words = (const __u16 *)ip;
	__u32 sum = 0;

	for (int i = 0; i < 10; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline void fill_udp(struct udphdr *udp, __u32 hash, __u32 bytes)
{
	/* The source port spreads connections over the receiver's queues. */
	udp->source = bpf_htons(0xc000 | (hash & 0x3fff));
	udp->dest = site.port;
	udp->len = bpf_htons(bytes);
	udp->check = 0;
}

static __always_inline void fill_ip4(struct iphdr *ip, __u32 from, __u32 to, __u32 bytes)
{
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = bpf_htons(bytes);
	ip->saddr = from;
	ip->daddr = to;
	ip->check = ip_checksum(ip);
}

/* Writes the headers of an envelope to `server` around `inner` bytes of IP; room is there already.
 * `v6`: what the Ethernet header says of what follows it now. */
static __always_inline int write_outer(struct __sk_buff *skb, const struct server *server,
				       const struct packet *p, const struct envelope *e, __u32 inner,
				       int v6)
{
	__u32 hash = p->key.client[3] ^ p->key.client_port;

	if (is_v4(server->address)) {
		struct outer4 outer = { .envelope = *e };
		__u16 proto = bpf_htons(ETH_P_IP);
		fill_udp(&outer.udp, hash, inner + sizeof(outer) - sizeof(outer.ip));
		fill_ip4(&outer.ip, server->front[3], server->address[3], inner + sizeof(outer));
		return bpf_skb_store_bytes(skb, ETH_HLEN, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM) ||
		       (v6 && bpf_skb_store_bytes(skb, 12, &proto, sizeof(proto), 0));
	}
	struct outer6 outer = { .envelope = *e };
	__u16 proto = bpf_htons(ETH_P_IPV6);
	__u32 bytes = inner + sizeof(outer) - sizeof(outer.ip);
	fill_udp(&outer.udp, hash, bytes);
	outer.ip.version = 6;
	outer.ip.hop_limit = 64;
	outer.ip.nexthdr = IPPROTO_UDP;
	outer.ip.payload_len = bpf_htons(bytes);
	__builtin_memcpy(&outer.ip.saddr, server->front, 16);
	__builtin_memcpy(&outer.ip.daddr, server->address, 16);
	return bpf_skb_store_bytes(skb, ETH_HLEN, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM) ||
	       (!v6 && bpf_skb_store_bytes(skb, 12, &proto, sizeof(proto), 0));
}

static __always_inline __u32 outer_bytes(const struct server *server)
{
	return is_v4(server->address) ? sizeof(struct outer4) : sizeof(struct outer6);
}

/* Puts the packet at ETH_HLEN into an envelope to `server`. */
static __always_inline int envelop(struct __sk_buff *skb, const struct server *server,
			      const struct packet *p, const struct envelope *e)
{
	__u32 inner = skb->len - ETH_HLEN;
	__u64 flags = BPF_F_ADJ_ROOM_ENCAP_L4_UDP;

	flags |= is_v4(server->address) ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 :
					  BPF_F_ADJ_ROOM_ENCAP_L3_IPV6;
	if (bpf_skb_adjust_room(skb, outer_bytes(server), BPF_ADJ_ROOM_MAC, flags))
		return -1;
	return write_outer(skb, server, p, e, inner, p->v6);
}

/* Sends a letter on to `server` as it is but for its kind. -1 if the new address has another form than
 * the one the letter came by. */
static __noinline int address_anew(struct __sk_buff *skb, const struct server *server,
				   const struct letter *letter)
{
	__u32 outer = outer_bytes(server);

	if (letter->v6 == is_v4(server->address))
		return -1;
	return write_outer(skb, server, &letter->inner, &letter->envelope, skb->len - ETH_HLEN - outer,
			   letter->v6);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SYNs answered in the driver (XDP), before the kernel makes anything of the frame: what a flood meets.
 * All else goes up: the calls that look for sockets by a segment and make them are at tc only. The
 * answer is the same as tc's; here it is written as a whole, so its checksum is, too.
 */
#ifndef BATON_EARLY_H
#define BATON_EARLY_H

/* The sum of the pseudo-header and the answer. */
static __always_inline __u16 answer_checksum(const struct packet *p, struct answer *answer)
{
	struct {
		__u32 vip[4];
		__u32 client[4];
		__u32 length;
		__u32 protocol;
	} pseudo = {
		.length = bpf_htonl(sizeof(*answer)),
		.protocol = bpf_htonl(IPPROTO_TCP),
	};
	__s64 sum;

	if (p->v6) {
		__builtin_memcpy(pseudo.vip, p->key.vip, 16);
		__builtin_memcpy(pseudo.client, p->key.client, 16);
	} else {
		pseudo.vip[0] = p->key.vip[3];
		pseudo.client[0] = p->key.client[3];
	}
	sum = bpf_csum_diff(NULL, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);
	sum = bpf_csum_diff(NULL, 0, (__be32 *)answer, sizeof(*answer), sum);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Writes the answer where the SYN was; the frame has its length already. */
static __always_inline int write_answer(struct xdp_md *ctx, const struct packet *p,
					struct answer *answer)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	__u8 mac[ETH_ALEN];

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
	if (p->v6) {
		struct ipv6hdr *ip = (void *)(eth + 1);
		struct answer *out = (void *)(ip + 1);
		if ((void *)(out + 1) > end)
			return XDP_DROP;
		__builtin_memcpy(&ip->saddr, p->key.vip, 16);
		__builtin_memcpy(&ip->daddr, p->key.client, 16);
		ip->hop_limit = HOPS;
		ip->payload_len = bpf_htons(sizeof(*answer));
		*out = *answer;
		return XDP_TX;
	}
	struct iphdr *ip = (void *)(eth + 1);
	struct answer *out = (void *)(ip + 1);
	if ((void *)(out + 1) > end)
		return XDP_DROP;
	ip->saddr = p->key.vip[3];
	ip->daddr = p->key.client[3];
	ip->ttl = HOPS;
	ip->tot_len = bpf_htons(sizeof(*ip) + sizeof(*answer));
	ip->check = 0;
	ip->check = ip_checksum(ip);
	*out = *answer;
	return XDP_TX;
}

/* Reads the SYN for one of our listeners; 0 if this is none. IPv4 options are tc's business. */
static __always_inline int early_syn(struct xdp_md *ctx, struct packet *p)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	__u32 bytes;

	if ((void *)(tcp + 1) > end)
		return 0;
	p->l3 = ETH_HLEN;
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		if (ip->ihl != 5 || ip->protocol != IPPROTO_TCP ||
		    ip->frag_off & bpf_htons(0x3fff))
			return 0;
		p->v6 = 0;
		p->l4 = ETH_HLEN + sizeof(*ip);
		map_v4(p->key.client, ip->saddr);
		map_v4(p->key.vip, ip->daddr);
		bytes = bpf_ntohs(ip->tot_len) - sizeof(*ip);
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip6 = (void *)(eth + 1);
		tcp = (void *)(ip6 + 1);
		if ((void *)(tcp + 1) > end || ip6->nexthdr != IPPROTO_TCP)
			return 0;
		p->v6 = 1;
		p->l4 = ETH_HLEN + sizeof(*ip6);
		__builtin_memcpy(p->key.client, &ip6->saddr, 16);
		__builtin_memcpy(p->key.vip, &ip6->daddr, 16);
		/* IPv4 in disguise has no business on a network. */
		if (is_v4(p->key.client) || is_v4(p->key.vip))
			return 0;
		bytes = bpf_ntohs(ip6->payload_len);
	} else {
		return 0;
	}
	p->flags = ((__u8 *)tcp)[13];
	if ((p->flags & (SYN | ACK | RST | FIN)) != SYN || tcp->doff < 5 ||
	    bytes != tcp->doff * 4)
		return 0;
	p->key.client_port = tcp->source;
	p->key.vip_port = tcp->dest;
	p->seq = bpf_ntohl(tcp->seq);
	p->payload = p->l4 + tcp->doff * 4;
	return 1;
}

SEC("xdp.frags")
int front_early(struct xdp_md *ctx)
{
	struct raw_options raw = {};
	struct answer answer = {};
	struct options o = {};
	struct packet p = {};
	struct listener *listener;
	struct flow *flow;
	__u64 now_ns;

	if (!early_syn(ctx, &p))
		return XDP_PASS;
	listener = listener_of(&p.key);
	if (!listener || listener->delivery == DELIVERY_RELAY)
		return XDP_PASS;
	now_ns = bpf_ktime_get_coarse_ns();
	flow = bpf_map_lookup_elem(&flows, &p.key);
	if (flow)
		flow->resyn = resyn_at(now_ns);
	raw.length = p.payload - p.l4 - sizeof(struct tcphdr);
	if (raw.length == 0 || raw.length > OPTIONS_MAX ||
	    bpf_xdp_load_bytes(ctx, p.l4 + sizeof(struct tcphdr), raw.bytes, raw.length))
		raw.length = 0;
	read_options(&raw, &o);
	fill_answer(&answer, &p, &o, now_ns);
	answer.tcp.check = answer_checksum(&p, &answer);
	if (bpf_xdp_adjust_tail(ctx, p.l4 + sizeof(answer) - bpf_xdp_get_buff_len(ctx)))
		return XDP_PASS;
	count(COUNT_SYN_ANSWERED);
	return write_answer(ctx, &p, &answer);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* One TCP segment of a client, or of a server to one: addresses, numbers, where the payload is. */
#ifndef BATON_PACKET_H
#define BATON_PACKET_H

#include "handoff.h"
#include "kernel.h"

/* What a step says when it has not settled the packet's fate. Others are TC_ACT_*. */
#define GO_ON (-2)

#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

struct packet {
	struct flow_key key;
	__u32 seq;
	__u32 ack;
	__u32 l3;		/* offsets from the start of the frame */
	__u32 l4;
	__u32 payload;
	__u32 length;		/* of the payload, bytes */
	__u8 flags;
	__u8 v6;
	__u8 protocol;
};

static __always_inline void map_v4(__u32 out[4], __u32 address)
{
	out[0] = 0;
	out[1] = 0;
	out[2] = bpf_htonl(0xffff);
	out[3] = address;
}

static __always_inline int is_v4(const __u32 address[4])
{
	return !address[0] && !address[1] && address[2] == bpf_htonl(0xffff);
}

/* Makes sure that `bytes` of the frame can be read at skb->data. */
static __always_inline int pull(struct __sk_buff *skb, __u32 bytes)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;

	if (data + bytes <= end)
		return 0;
	return bpf_skb_pull_data(skb, bytes);
}

/* Reads the IP header at `l3`. Returns the bytes of the IP packet, or 0 if it is none, is a
 * fragment, or is cut off. `client` is who sent it. */
static __always_inline __u32 parse_ip(struct __sk_buff *skb, struct packet *p, __u32 l3)
{
	void *data, *end;

	/* Behind two headers at most; the verifier wants to see the bound. */
	if (l3 > 128)
		return 0;
	p->l3 = l3;
	if (pull(skb, l3 + sizeof(struct ipv6hdr)) && pull(skb, l3 + sizeof(struct iphdr)))
		return 0;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + l3;
	if ((void *)(ip + 1) > end)
		return 0;
	/* Other protocols behind the Ethernet header may begin with the same bits. */
	if (l3 == ETH_HLEN &&
	    skb->protocol != bpf_htons(ip->version == 4 ? ETH_P_IP : ETH_P_IPV6))
		return 0;
	if (ip->version == 4) {
		if (ip->ihl < 5 || ip->frag_off & bpf_htons(0x3fff))
			return 0;
		p->v6 = 0;
		p->protocol = ip->protocol;
		p->l4 = l3 + ip->ihl * 4;
		map_v4(p->key.client, ip->saddr);
		map_v4(p->key.vip, ip->daddr);
		/* Zero: a large segment that no 16 bits can measure. */
		return ip->tot_len ? bpf_ntohs(ip->tot_len) : skb->len - l3;
	}
	struct ipv6hdr *ip6 = data + l3;
	if (ip->version != 6 || (void *)(ip6 + 1) > end)
		return 0;
	p->v6 = 1;
	p->protocol = ip6->nexthdr;
	p->l4 = l3 + sizeof(*ip6);
	__builtin_memcpy(p->key.client, &ip6->saddr, 16);
	__builtin_memcpy(p->key.vip, &ip6->daddr, 16);
	/* Not on any wire (RFC 4942, 2.2): they would be taken for IPv4. */
	if (is_v4(p->key.client) || is_v4(p->key.vip))
		return 0;
	return ip6->payload_len ? bpf_ntohs(ip6->payload_len) + sizeof(*ip6) : skb->len - l3;
}

/* Reads the TCP header behind it. 0, or -1 if it is none that makes sense. */
static __always_inline int parse_tcp(struct __sk_buff *skb, struct packet *p, __u32 ip_bytes)
{
	void *data, *end;
	__u32 l4 = p->l4;

	/* One variable from here on: of a copy the verifier would not know the bound. */
	asm volatile("" : "+r"(l4));
	/* 15 words of IPv4 header are the most. */
	if (l4 > 256 || pull(skb, l4 + sizeof(struct tcphdr)))
		return -1;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	struct tcphdr *tcp = data + l4;
	if ((void *)(tcp + 1) > end || tcp->doff < 5)
		return -1;
	p->key.client_port = tcp->source;
	p->key.vip_port = tcp->dest;
	p->seq = bpf_ntohl(tcp->seq);
	p->ack = bpf_ntohl(tcp->ack_seq);
	p->flags = ((__u8 *)tcp)[13];
	p->payload = l4 + tcp->doff * 4;
	__u32 headers = p->payload - p->l3;
	if (ip_bytes < headers || p->l3 + ip_bytes > skb->len)
		return -1;
	p->length = ip_bytes - headers;
	return 0;
}

/* A router says that a reply was too large for its way (RFC 1191, RFC 8201): to the VIP, which here
 * is the front-end, but it is the holder of the connection that has to hear it. */
#define ICMP_UNREACHABLE 3
#define ICMP_TOO_LARGE 4
#define ICMP6_TOO_LARGE 2

/* Reads such a message; the key is that of the connection whose reply is quoted in it. */
static __noinline int parse_too_large(struct __sk_buff *skb, struct packet *p)
{
	struct {
		__u8 type, code;
		__u16 sum;
		__u32 mtu;
	} icmp;
	__u32 quoted = p->l4 + sizeof(icmp);
	__u16 ports[2];

	if (bpf_skb_load_bytes(skb, p->l4, &icmp, sizeof(icmp)))
		return -1;
	if (p->v6) {
		struct ipv6hdr ip;
		if (icmp.type != ICMP6_TOO_LARGE || bpf_skb_load_bytes(skb, quoted, &ip, sizeof(ip)) ||
		    ip.nexthdr != IPPROTO_TCP)
			return -1;
		__builtin_memcpy(p->key.vip, &ip.saddr, 16);
		__builtin_memcpy(p->key.client, &ip.daddr, 16);
		quoted += sizeof(ip);
	} else {
		struct iphdr ip;
		if (icmp.type != ICMP_UNREACHABLE || icmp.code != ICMP_TOO_LARGE ||
		    bpf_skb_load_bytes(skb, quoted, &ip, sizeof(ip)) ||
		    ip.protocol != IPPROTO_TCP || ip.ihl != 5)
			return -1;
		map_v4(p->key.vip, ip.saddr);
		map_v4(p->key.client, ip.daddr);
		quoted += sizeof(ip);
	}
	if (bpf_skb_load_bytes(skb, quoted, ports, sizeof(ports)))
		return -1;
	p->key.vip_port = ports[0];
	p->key.client_port = ports[1];
	p->seq = 0;
	p->length = 0;
	return 0;
}

static __always_inline int is_icmp(const struct packet *p)
{
	return p->protocol == (p->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
}

/* What of a client's options matters to us. */
struct options {
	__u32 tsval;
	__u32 tsecr;
	__u16 mss;
	__u8 wscale;		/* WSCALE_NONE: not offered */
	__u8 sack;
	__u8 timestamps;
};

#define OPTIONS_MAX 40
/* Of more kinds than there are, and enough padding between them. */
#define OPTIONS_STEPS 24

/* The options of a TCP header as they are, and room to read beyond their end. */
struct raw_options {
	__u8 bytes[OPTIONS_MAX + 12];
	__u32 length;
};

/* Reads the options; what is malformed ends the reading. */
__noinline int read_options(const struct raw_options *raw, struct options *o)
{
	__u32 at = 0;

	if (!raw || !o)
		return 0;
	o->mss = 536;
	o->wscale = WSCALE_NONE;
	for (int step = 0; step < OPTIONS_STEPS; step++) {
		if (at >= raw->length || at >= OPTIONS_MAX)
			return 0;
		__u8 kind = raw->bytes[at];
		if (kind == 0)
			return 0;
		if (kind == 1) {
			at++;
			continue;
		}
		const __u8 *body = raw->bytes + at + 2;
		__u8 size = raw->bytes[at + 1];
		if (kind == 2 && size == 4) {
			o->mss = body[0] << 8 | body[1];
		} else if (kind == 3 && size == 3) {
			/* RFC 7323: more counts as 14. */
			o->wscale = body[0] > 14 ? 14 : body[0];
		} else if (kind == 4 && size == 2) {
			o->sack = 1;
		} else if (kind == 8 && size == 10) {
			o->timestamps = 1;
			o->tsval = (__u32)body[0] << 24 | body[1] << 16 | body[2] << 8 | body[3];
			o->tsecr = (__u32)body[4] << 24 | body[5] << 16 | body[6] << 8 | body[7];
		}
		if (size < 2)
			return 0;
		at += size;
	}
	return 0;
}

/* Reads the options of the segment. */
static __noinline int parse_options(struct __sk_buff *skb, const struct packet *p,
				    struct options *o)
{
	struct raw_options raw = {};
	__u32 bytes = p->payload - p->l4 - sizeof(struct tcphdr);

	raw.length = bytes;
	if (bytes == 0 || bytes > OPTIONS_MAX ||
	    bpf_skb_load_bytes(skb, p->l4 + sizeof(struct tcphdr), raw.bytes, bytes))
		raw.length = 0;
	return read_options(&raw, o);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The envelope between front-end and server: put around a client's packet, sealed by a keyed hash,
 * checked and taken off. The outer header is of the family of the server's address, whatever
 * the client's. UDP's checksum is left out (RFC 6935 allows that for tunnels; the seal covers what
 * matters, and TCP's own checksum the rest).
 */
#ifndef BATON_ENVELOPE_H
#define BATON_ENVELOPE_H

#include "maps.h"
#include "packet.h"
#include "siphash.h"

#ifndef BPF_F_ADJ_ROOM_DECAP_L3_IPV4
#define BPF_F_ADJ_ROOM_DECAP_L3_IPV4 (1ull << 7)
#define BPF_F_ADJ_ROOM_DECAP_L3_IPV6 (1ull << 8)
#endif

/* The seal's first part: which segment of which connection. */
static __always_inline void seal_begin(struct sip *s, const struct flow_key *key,
				       const struct envelope *e)
{
	sip_begin(s, site.key[0], site.key[1]);
	sip_flow(s, key, e->seq);
	sip_word(s, (__u64)e->connection << 32 | (__u64)e->mss << 16 | e->wscale << 8 | e->flags);
}

/* Its last part, which a letter that is sent on has anew: what is to be done with it. */
static __always_inline __u64 seal_end(struct sip *s, const struct envelope *e)
{
	sip_word(s, (__u64)e->server << 16 | e->version << 8 | e->kind);
	return sip_end(s);
}

static __always_inline void put_seal(struct envelope *e, __u64 mac)
{
	e->mac_high = mac >> 32;
	e->mac_low = (__u32)mac;
}

static __always_inline void envelope_seal(const struct flow_key *key, struct envelope *e)
{
	struct sip s;

	seal_begin(&s, key, e);
	put_seal(e, seal_end(&s, e));
}

/* An envelope that came in. */
struct letter {
	struct envelope envelope;
	struct sip begun;	/* its seal as far as it is the same for all kinds */
	struct packet inner;
	__u32 at;		/* offset of the envelope in the frame */
	__u8 v6;		/* of the outer header */
};

/* Whether `outer` (parse_ip has been run on it) is an envelope. */
static __always_inline int is_letter(struct __sk_buff *skb, const struct packet *outer)
{
	__u32 at = outer->l4;
	struct udphdr *udp;

	if (outer->protocol != IPPROTO_UDP || !site.port)
		return 0;
	/* As in parse_tcp. */
	asm volatile("" : "+r"(at));
	if (at > 256 || pull(skb, at + sizeof(*udp)))
		return 0;
	udp = (void *)(long)skb->data + at;
	return (void *)(udp + 1) <= (void *)(long)skb->data_end && udp->dest == site.port;
}

enum opened { OPENED, OPENED_MALFORMED, OPENED_FORGED };

/* Reads an envelope and the packet in it, and checks the seal. */
static __always_inline enum opened open_letter(struct __sk_buff *skb,
					             const struct packet *outer, struct letter *letter)
{
	struct envelope *e = &letter->envelope;
	/* No options in the outer header: we send none. */
	__u32 ip_bytes = outer->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	if (outer->l4 != ETH_HLEN + ip_bytes)
		return OPENED_MALFORMED;
	letter->v6 = outer->v6;
	letter->at = ETH_HLEN + ip_bytes + sizeof(struct udphdr);
	if (bpf_skb_load_bytes(skb, letter->at, e, sizeof(*e)))
		return OPENED_MALFORMED;
	if (e->magic != bpf_htons(ENVELOPE_MAGIC) || e->version != ENVELOPE_VERSION)
		return OPENED_MALFORMED;
	__u32 bytes = parse_ip(skb, &letter->inner, letter->at + sizeof(*e));
	if (!bytes)
		return OPENED_MALFORMED;
	if (is_icmp(&letter->inner) ? parse_too_large(skb, &letter->inner) :
	    letter->inner.protocol != IPPROTO_TCP || parse_tcp(skb, &letter->inner, bytes))
		return OPENED_MALFORMED;
	seal_begin(&letter->begun, &letter->inner.key, e);
	struct sip s = letter->begun;
	__u64 mac = seal_end(&s, e);
	return e->mac_high == (__u32)(mac >> 32) && e->mac_low == (__u32)mac ? OPENED : OPENED_FORGED;
}

/* Makes a letter that was opened one of another kind. */
static __always_inline void letter_becomes(struct letter *letter, __u8 kind)
{
	struct sip s = letter->begun;

	letter->envelope.kind = kind;
	put_seal(&letter->envelope, seal_end(&s, &letter->envelope));
}

/* Takes the envelope off; the packet in it then begins at ETH_HLEN and `letter` says so. */
static __noinline int take_out(struct __sk_buff *skb, struct letter *letter)
{
	__s32 bytes = letter->at + sizeof(struct envelope) - ETH_HLEN;
	__u16 proto = bpf_htons(letter->inner.v6 ? ETH_P_IPV6 : ETH_P_IP);
	__u64 flags = 0;

	if (letter->v6 != letter->inner.v6)
		flags = letter->inner.v6 ? BPF_F_ADJ_ROOM_DECAP_L3_IPV6 :
					   BPF_F_ADJ_ROOM_DECAP_L3_IPV4;
	if (bpf_skb_adjust_room(skb, -bytes, BPF_ADJ_ROOM_MAC, flags))
		return -1;
	letter->inner.l3 -= bytes;
	letter->inner.l4 -= bytes;
	letter->inner.payload -= bytes;
	return bpf_skb_store_bytes(skb, 12, &proto, sizeof(proto), 0);
}

#endif

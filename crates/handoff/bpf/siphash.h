/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SipHash-1-3 (Aumasson, Bernstein, INDOCRYPT 2012: one round a word and three at the end) over whole
 * 64-bit words. What is hashed has a fixed length, or says its length, so the padding of the general
 * form is left out.
 */
#ifndef BATON_SIPHASH_H
#define BATON_SIPHASH_H

#include "packet.h"

struct sip {
	__u64 v0, v1, v2, v3;
};

static __always_inline __u64 rotl(__u64 x, int by)
{
	return x << by | x >> (64 - by);
}

static __always_inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v2 = rotl(s->v2, 32);
}

static __always_inline void sip_begin(struct sip *s, __u64 key0, __u64 key1)
{
	s->v0 = key0 ^ 0x736f6d6570736575ull;
	s->v1 = key1 ^ 0x646f72616e646f6dull;
	s->v2 = key0 ^ 0x6c7967656e657261ull;
	s->v3 = key1 ^ 0x7465646279746573ull;
}

static __always_inline void sip_word(struct sip *s, __u64 word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

static __always_inline __u64 sip_end(struct sip *s)
{
	s->v2 ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Three more rounds: another 64 bits, as in SipHash-128. */
static __always_inline __u64 sip_more(struct sip *s)
{
	s->v1 ^= 0xdd;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* A connection: two words where both addresses are IPv4, five otherwise. */
static __always_inline void sip_flow(struct sip *s, const struct flow_key *key, __u32 number)
{
	__u64 ports = (__u64)key->client_port << 48 | (__u64)key->vip_port << 32 | number;

	if (key->client[2] == bpf_htonl(0xffff) && !key->client[1] && !key->client[0]) {
		sip_word(s, (__u64)key->client[3] << 32 | key->vip[3]);
		sip_word(s, ports);
		return;
	}
	sip_word(s, (__u64)key->client[0] << 32 | key->client[1]);
	sip_word(s, (__u64)key->client[2] << 32 | key->client[3]);
	sip_word(s, (__u64)key->vip[0] << 32 | key->vip[1]);
	sip_word(s, (__u64)key->vip[2] << 32 | key->vip[3]);
	sip_word(s, ports);
}

#endif

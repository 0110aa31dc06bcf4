/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sequence number with which a SYN is answered holds all that must be known of the client when
 * its first request comes, and proves that it saw the answer: nothing is stored for a SYN.
 * The idea is D. J. Bernstein's (SYN cookies, 1996). From the top: 22 bits of keyed hash plus the
 * client's own sequence number, 2 of time in steps of 69 seconds, 3 of MSS, 1 of SACK, 4 of window
 * scale. A sum, so that of a segment that overtook the first one it can be told what it is.
 */
#ifndef BATON_COOKIE_H
#define BATON_COOKIE_H

#include "maps.h"
#include "packet.h"
#include "siphash.h"

/* No sum of 22 bits. */
#define NO_COOKIE 0xffffffffu

/* Before an answer comes a client sends ten segments at most (RFC 6928), which begin in so many bytes. */
#define EARLY_MAX 16384

/* 2^36 ns: 69 seconds. A cookie is good for the rest of its step and the next one. */
#define STEP_SHIFT 36

/* The largest that is not more than what the client said: the usual ones, in ascending order. */
static __always_inline __u32 mss_code(__u16 mss)
{
	return mss >= 8960 ? 7 : mss >= 4312 ? 6 : mss >= 1460 ? 5 : mss >= 1440 ? 4 :
	       mss >= 1360 ? 3 : mss >= 1220 ? 2 : mss >= 1024 ? 1 : 0;
}

static __always_inline __u16 mss_of(__u32 code)
{
	switch (code & 7) {
	case 7: return 8960;
	case 6: return 4312;
	case 5: return 1460;
	case 4: return 1440;
	case 3: return 1360;
	case 2: return 1220;
	case 1: return 1024;
	default: return 536;
	}
}

static __noinline __u32 cookie_hash(const struct flow_key *key, __u64 step, __u32 low)
{
	struct sip s;

	sip_begin(&s, site.cookie_key[0], site.cookie_key[1]);
	sip_flow(&s, key, 0);
	sip_word(&s, step << 8 | low);
	return (__u32)sip_end(&s) & 0xfffffc00;
}

/* Our sequence number for a SYN with sequence number `isn`. */
static __always_inline __u32 cookie_make(const struct flow_key *key, __u32 isn,
					 const struct options *o, __u64 now_ns)
{
	__u32 low = mss_code(o->mss) << 5 | (o->sack ? 1 << 4 : 0) | (o->wscale & 15);
	__u64 step = now_ns >> STEP_SHIFT;

	return (cookie_hash(key, step, low) + (isn << 10)) | (step & 3) << 8 | low;
}

/* How many bytes into the client's stream `p` begins, modulo 2^22, if it acknowledges a cookie of ours
 * and nothing more; its options are put into `o`. Anything else gives a number that means nothing, as
 * good as chosen by lot, or NO_COOKIE. */
static __always_inline __u32 cookie_offset(const struct packet *p, struct options *o, __u64 now_ns)
{
	__u32 cookie = p->ack - 1;
	__u64 step = now_ns >> STEP_SHIFT;
	__u64 age = (step - (cookie >> 8)) & 3;
	__u32 low = cookie & 0xff;

	if (age > 1)
		return NO_COOKIE;
	o->mss = mss_of(low >> 5);
	o->sack = low >> 4 & 1;
	o->wscale = low & 15;
	return (p->seq - 1 - ((cookie - cookie_hash(&p->key, step - age, low)) >> 10)) & 0x3fffff;
}

/* Whether `p` begins its client's stream, which acknowledges a cookie of ours and nothing more. */
static __always_inline int cookie_check(const struct packet *p, struct options *o, __u64 now_ns)
{
	return cookie_offset(p, o, now_ns) == 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the messages of a connection end, seen from the server: requests as they come in, replies as
 * they leave. Only at rest, when a whole request was answered by a whole reply and nothing is
 * under way, may a connection move. What cannot be followed makes it UNSURE, and then it stays: two
 * requests in one segment, a head in several, a reply that ends with the connection.
 */
#ifndef BATON_FOLLOW_H
#define BATON_FOLLOW_H

#include "maps.h"
#include "scan.h"

static __always_inline void unsure(struct owned *owned)
{
	if (owned->phase != PHASE_UNSURE)
		count(COUNT_UNSURE);
	owned->phase = PHASE_UNSURE;
}

/* A request begins at p->seq, and its reply at `reply_at`. */
__noinline int begin_request(struct __sk_buff *skb, struct packet *p, struct owned *owned,
				    __u32 reply_at)
{
	struct scan *s;
	__u32 body = 0;

	if (!p || !owned)
		return 0;
	s = scan_load(skb, p->payload, p->length);
	if (!s) {
		unsure(owned);
		return 0;
	}
	enum method method = method_of((__u32)word_at(s, 0));
	scan_head(s);
	if (s->has_length)
		body = s->content_length;
	/* The body may come later, but nothing may come behind it. */
	if (method == METHOD_NONE || !s->end || s->encoded || s->has_length > 1 ||
	    body > 0x7fffffff || s->end + body < p->length) {
		unsure(owned);
		return 0;
	}
	owned->request_end = p->seq + s->end + body;
	owned->no_body = method == METHOD_HEAD;
	owned->reply_at = reply_at;
	owned->phase = PHASE_HEAD;
	return 0;
}

/* A segment of the client with payload reaches the socket. */
static __always_inline void follow_request(struct __sk_buff *skb, struct packet *p,
					   struct owned *owned)
{
	__u32 end = p->seq + p->length;

	if (owned->phase == PHASE_UNSURE || !p->length)
		return;
	if (owned->phase != PHASE_REST) {
		/* The rest of the body, or what came before; beyond it is the next request. */
		if (before(owned->request_end, end))
			unsure(owned);
		return;
	}
	/* What overtook the next request is not looked at: if it is more than that one's body, no later
	 * request begins where this one ends, and the connection stays. */
	if (p->seq == owned->request_end)
		begin_request(skb, p, owned, owned->reply_end);
	else if (before(p->seq, owned->request_end) && before(owned->request_end, end))
		unsure(owned);
}

static __always_inline void reply_ends(struct owned *owned, __u32 at)
{
	owned->reply_end = at;
	owned->phase = PHASE_REST;
}

/* Reads the head of a reply, at `offset` of the frame. Returns whether another one follows. */
__noinline int follow_head(struct __sk_buff *skb, struct owned *owned, __u32 offset,
				  __u32 length)
{
	struct scan *s;

	if (!owned)
		return 0;
	s = scan_load(skb, offset, length);
	if (!s) {
		unsure(owned);
		return 0;
	}
	scan_head(s);
	/* "HTTP/1.1 200" */
	__u8 hundreds = s->bytes[9];
	__u8 tens = s->bytes[10];
	__u8 ones = s->bytes[11];
	int http = (__u32)word_at(s, 0) == FOUR('H', 'T', 'T', 'P');
	if (!s->end || !http || s->has_length > 1 || (s->has_length && s->encoded)) {
		unsure(owned);
		return 0;
	}
	__u32 behind = owned->reply_at + s->end;
	if (hundreds == '1') {
		/* 101: what follows is no HTTP any more. */
		if (tens == '0' && ones == '1') {
			unsure(owned);
			return 0;
		}
		owned->reply_at = behind;
		return 1;
	}
	int empty = (hundreds == '2' && tens == '0' && ones == '4') ||
		    (hundreds == '3' && tens == '0' && ones == '4');
	if (owned->no_body || empty) {
		reply_ends(owned, behind);
	} else if (s->has_length && s->content_length <= 0x7fffffff) {
		reply_ends(owned, behind + s->content_length);
	} else if (s->encoded) {
		owned->reply_at = behind;
		owned->phase = PHASE_CHUNK;
	} else {
		unsure(owned);
	}
	return 0;
}

/* The sizes of chunks in one packet. */
struct chunks {
	struct __sk_buff *skb;
	struct owned *owned;
	__u32 seq;		/* of the packet's first byte of payload */
	__u32 payload;
	__u32 length;
};

/* Bytes of a size line that are looked at: 8 digits, no extensions, CRLF, and CRLF behind the last. */
#define SIZE_LINE 12

static long follow_chunk(__u64 index, struct chunks *c)
{
	struct owned *owned = c->owned;
	__u32 into = owned->reply_at - c->seq;
	__u8 line[SIZE_LINE] = {};
	__u32 size = 0, left, digits = 0;

	(void)index;
	/* Not in this packet: the data of the chunk goes on in the next one. */
	if (into >= c->length)
		return 1;
	left = c->length - into;
	if (left > SIZE_LINE)
		left = SIZE_LINE;
	if (left < 1 || bpf_skb_load_bytes(c->skb, c->payload + into, line, left)) {
		unsure(owned);
		return 1;
	}
	for (int i = 0; i < 8; i++) {
		__u8 byte = line[i] | 0x20;
		__u8 digit = byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 :
			     line[i] >= '0' && line[i] <= '9' ? line[i] - '0' : 255;
		if (digit == 255)
			break;
		size = size << 4 | digit;
		digits++;
	}
	/* More than half of the circle could not be told from something that has come already. */
	if (!digits || size > 0x7fffffff || line[digits] != '\r' || line[digits + 1] != '\n') {
		unsure(owned);
		return 1;
	}
	if (size) {
		owned->reply_at += digits + 2 + size + 2;
		return 0;
	}
	/* Trailers are not read. */
	if (line[digits + 2] != '\r' || line[digits + 3] != '\n')
		unsure(owned);
	else
		reply_ends(owned, owned->reply_at + digits + 4);
	return 1;
}

/* Chunks of one packet; more make the connection UNSURE. */
#define CHUNKS_MAX 512

/* A packet with payload leaves for the client; p is it, its client being the receiver. */
static __always_inline void follow_reply(struct __sk_buff *skb, struct packet *p,
					 struct owned *owned)
{
	__u32 end = p->seq + p->length;

	/* Informational replies, and the last one behind them, in one packet. */
	for (int i = 0; i < 3 && owned->phase == PHASE_HEAD; i++) {
		__u32 into = owned->reply_at - p->seq;
		if (into >= p->length)
			break;
		if (!follow_head(skb, owned, p->payload + into, p->length - into))
			break;
	}
	if (owned->phase == PHASE_CHUNK) {
		struct chunks c = {
			.skb = skb,
			.owned = owned,
			.seq = p->seq,
			.payload = p->payload,
			.length = p->length,
		};
		bpf_loop(CHUNKS_MAX, follow_chunk, &c, 0);
		if (owned->phase == PHASE_CHUNK && before(owned->reply_at, end))
			unsure(owned);
	}
}

#endif

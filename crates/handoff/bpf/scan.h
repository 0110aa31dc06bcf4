/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds what matters in an HTTP/1 head that lies whole in one segment: its first line, its end,
 * and the fields Host, Content-Length and Transfer-Encoding. Sixty-four bytes a step: the line ends in
 * a word are found by arithmetic. bpf_loop, because the verifier does not see through long loops that
 * end by what the data says; few steps, because on processors that guard returns against speculation
 * a call costs more than eight bytes do.
 */
#ifndef BATON_SCAN_H
#define BATON_SCAN_H

#include "maps.h"
#include "packet.h"
#include "siphash.h"

/* Bytes of a segment that are looked at; longer heads are somebody else's. A power of two. */
#define SCAN_MAX 2048
#define SCAN_MASK (SCAN_MAX - 1)

/* What was found, the segment's first bytes, and room for reads that begin at the last of them. One
 * for each CPU: callbacks of bpf_loop can reach a map, but of their caller only its stack. */
struct scan {
	__u32 length;		/* bytes in the buffer */
	__u32 line;		/* where the current line begins */
	__u32 first_end;	/* end of the first line, without its line end */
	__u32 end;		/* of the head; 0: not found */
	__u32 host;		/* where the field's value begins and ends; 0: none */
	__u32 host_end;
	__u32 content_length;
	__u8 hosts;
	__u8 has_length;
	__u8 encoded;		/* there is a Transfer-Encoding */
	__u8 reserved;
	__u8 bytes[SCAN_MAX + 64];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scan);
} scans SEC(".maps");

static __always_inline struct scan *scanned(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scans, &zero);
}

static __always_inline __u64 word_at(const struct scan *s, __u32 at)
{
	return *(const __u64 *)(s->bytes + (at & SCAN_MASK));
}

/* Eight bytes in lower case, as far as they are letters. */
#define LOWER 0x2020202020202020ull
#define WORD(a, b, c, d, e, f, g, h) \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

static __always_inline int blank(__u8 byte)
{
	return byte == ' ' || byte == '\t';
}

/* A decimal number at `at`; UINT_MAX if it is none or does not fit. Global, as all that have loops
 * or many branches here: such a function is verified once, not once for each way that leads to it. */
__noinline __u32 decimal_at(__u32 at)
{
	const struct scan *s = scanned();
	__u64 number = 0;
	int digits = 0;

	if (!s)
		return 0xffffffffu;
	for (int i = 0; i < 12; i++) {
		__u8 byte = s->bytes[(at + i) & SCAN_MASK];
		if (byte == ' ' && !digits)
			continue;
		if (byte < '0' || byte > '9') {
			/* "5, 6" and the like are not one number. */
			if (byte != '\r' && byte != '\n')
				digits = 0;
			break;
		}
		number = number * 10 + (byte - '0');
		digits++;
	}
	return digits && digits < 11 && number < 0xffffffffull ? number : 0xffffffffu;
}

/* A line ends at `at`. Returns 1 at the end of the head. */
static __always_inline int scan_line(struct scan *s, __u32 at)
{
	__u32 line = s->line, length = at - line;
	__u64 word, more;

	s->line = at + 1;
	if (length == 0 || (length == 1 && s->bytes[line & SCAN_MASK] == '\r')) {
		/* Before the first line there may be empty ones (RFC 9112, 2.2): not for us. */
		s->end = at + 1;
		return 1;
	}
	if (!s->first_end) {
		s->first_end = at;
		return 0;
	}
	word = word_at(s, line) | LOWER;
	if ((__u32)word == (WORD('h', 'o', 's', 't', 0, 0, 0, 0) & 0xffffffff) &&
	    s->bytes[(line + 4) & SCAN_MASK] == ':') {
		/* More than one is all that matters, and they may be many. */
		if (s->hosts < 2)
			s->hosts++;
		s->host = line + 5;
		s->host_end = at;
	} else if (word == WORD('c', 'o', 'n', 't', 'e', 'n', 't', '-')) {
		more = word_at(s, line + 8) | LOWER;
		if ((more & 0xffffffffffff) == WORD('l', 'e', 'n', 'g', 't', 'h', 0, 0) &&
		    s->bytes[(line + 14) & SCAN_MASK] == ':') {
			s->content_length = decimal_at(line + 15);
			s->has_length++;
		}
	} else if (word == WORD('t', 'r', 'a', 'n', 's', 'f', 'e', 'r')) {
		s->encoded = 1;
	}
	return 0;
}

/* Bytes of one step: as many as a word has bits. */
#define BLOCK 64

/* Which of eight bytes are line ends, one bit for each. */
static __always_inline __u64 line_ends(__u64 word)
{
	const __u64 low = 0x7f7f7f7f7f7f7f7full;

	word ^= 0x0a0a0a0a0a0a0a0aull;
	/* Exact, unlike the shorter form: no borrow from a line end may mark the byte behind it. */
	word = ~(((word & low) + low) | word | low);
	/* The top bit of byte n is moved to bit n: no two products meet. */
	return ((word >> 7) * 0x0102040810204080ull) >> 56;
}

/* The number of the lowest bit of a word that has one: a product with a de Bruijn sequence has
 * another top for each. */
static __always_inline __u32 lowest_bit(__u64 word)
{
	static const __u8 numbers[64] = {
		0, 1, 2, 53, 3, 7, 54, 27, 4, 38, 41, 8, 34, 55, 48, 28,
		62, 5, 39, 46, 44, 42, 22, 9, 24, 35, 59, 56, 49, 18, 29, 11,
		63, 52, 6, 26, 37, 40, 33, 47, 61, 45, 43, 21, 23, 58, 17, 10,
		51, 25, 36, 32, 60, 20, 57, 16, 50, 31, 19, 15, 30, 14, 13, 12,
	};

	return numbers[((word & -word) * 0x022fdd63cc95386dull) >> 58];
}

static long scan_block(__u64 index, void *unused)
{
	struct scan *s = scanned();
	__u32 at = index * BLOCK;
	__u64 ends = 0;

	(void)unused;
	if (!s)
		return 1;
	const __u8 *block = s->bytes + (at & (SCAN_MAX - BLOCK));
#pragma unroll
	for (int i = 0; i < BLOCK / 8; i++)
		ends |= line_ends(*(const __u64 *)(block + i * 8)) << (i * 8);
	/* What lies behind the bytes is of an earlier packet. */
	if (s->length - at < BLOCK)
		ends &= (1ull << ((s->length - at) & (BLOCK - 1))) - 1;
	for (int i = 0; i < BLOCK; i++) {
		if (!ends)
			break;
		if (scan_line(s, at + lowest_bit(ends)))
			return 1;
		ends &= ends - 1;
	}
	return 0;
}

/* Reads `length` bytes at `offset` of the frame, at most SCAN_MAX, into this CPU's scan. */
static __always_inline struct scan *scan_load(struct __sk_buff *skb, __u32 offset, __u32 length)
{
	struct scan *s = scanned();

	if (!s)
		return NULL;
	__builtin_memset(s, 0, __builtin_offsetof(struct scan, bytes));
	if (length > SCAN_MAX)
		length = SCAN_MAX;
	if (length == 0 || bpf_skb_load_bytes(skb, offset, s->bytes, length))
		return NULL;
	s->length = length;
	return s;
}

/* Looks for the head that begins the scan: s->end is set if it is whole. */
static __always_inline void scan_head(const struct scan *s)
{
	bpf_loop((s->length + BLOCK - 1) / BLOCK, scan_block, NULL, 0);
}

/* Methods, by their first four bytes. */
#define FOUR(a, b, c, d) ((__u32)(a) | (__u32)(b) << 8 | (__u32)(c) << 16 | (__u32)(d) << 24)

enum method { METHOD_NONE, METHOD_PLAIN, METHOD_HEAD, METHOD_BODY };

/* Whether these bytes begin a request, and whether it may have a body. */
static __always_inline enum method method_of(__u32 four)
{
	switch (four) {
	case FOUR('G', 'E', 'T', ' '):
	case FOUR('O', 'P', 'T', 'I'):
		return METHOD_PLAIN;
	case FOUR('H', 'E', 'A', 'D'):
		return METHOD_HEAD;
	case FOUR('P', 'O', 'S', 'T'):
	case FOUR('P', 'U', 'T', ' '):
	case FOUR('P', 'A', 'T', 'C'):
	case FOUR('D', 'E', 'L', 'E'):
		return METHOD_BODY;
	default:
		return METHOD_NONE;
	}
}

struct hashing {
	struct sip sip;
	__u32 from;
	__u32 to;
	int lower;		/* letters count in lower case */
};

/* Eight bytes with A to Z in lower case: the sums leave a mark above every byte that is at least A,
 * and above every one beyond Z. */
static __always_inline __u64 lowered(__u64 word)
{
	__u64 low = word & 0x7f7f7f7f7f7f7f7full;
	__u64 from_a = low + 0x3f3f3f3f3f3f3f3full;
	__u64 beyond_z = low + 0x2525252525252525ull;

	return word | ((from_a & ~beyond_z & ~word & 0x8080808080808080ull) >> 2);
}

/* Hashes what there is of the span in the block that begins at `at`. */
static __always_inline void hash_block(struct hashing *h, const struct scan *s, __u32 at)
{
	const __u8 *block = s->bytes + (at & SCAN_MASK);
	struct sip sip = h->sip;
	__u32 to = h->to;

	/* As a loop: in a life of a connection this is read but a few times, and what is longer comes later
	 * from memory. */
#pragma clang loop unroll(disable)
	for (int i = 0; i < BLOCK / 8; i++) {
		__u32 left = to - at - i * 8;
		__u64 word;
		if (at + i * 8 >= to)
			break;
		word = *(const __u64 *)(block + i * 8);
		if (left < 8)
			word &= (1ull << (left * 8 & 63)) - 1;
		sip_word(&sip, h->lower ? lowered(word) : word);
	}
	h->sip = sip;
}

static long hash_further(__u64 index, struct hashing *h)
{
	const struct scan *s = scanned();

	if (!s)
		return 1;
	hash_block(h, s, h->from + (index + 1) * BLOCK);
	return 0;
}

static __always_inline void hash_span(struct hashing *h, const struct scan *s, __u32 from, __u32 to)
{
	h->from = from;
	h->to = to;
	hash_block(h, s, from);
	if (to - from > BLOCK)
		bpf_loop((to - from - 1) / BLOCK, hash_further, h, 0);
	sip_word(&h->sip, to - from);
}

/* The key of a request's memo: its first line as it was sent, and what its Host field says, in lower case: a
 * host has many spellings. */
static __always_inline void memo_key_of(const struct scan *s, struct memo_key *key)
{
	struct hashing h = {};
	__u32 first = s->first_end;
	if (first && s->bytes[(first - 1) & SCAN_MASK] == '\r')
		first--;
	sip_begin(&h.sip, site.cookie_key[0], site.cookie_key[1]);
	hash_span(&h, s, 0, first);
	__u32 from = s->host, to = s->host_end;
	for (int i = 0; i < 4 && from < to; i++) {
		if (!blank(s->bytes[from & SCAN_MASK]))
			break;
		from++;
	}
	for (int i = 0; i < 4 && from < to; i++) {
		__u8 last = s->bytes[(to - 1) & SCAN_MASK];
		if (!blank(last) && last != '\r')
			break;
		to--;
	}
	h.lower = 1;
	hash_span(&h, s, from, to);
	key->low = sip_end(&h.sip);
	key->high = sip_more(&h.sip);
}

#endif

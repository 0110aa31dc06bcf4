/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Splice: what arrives on one socket goes out by the other, without a process.
 *
 * The papers' TCP splicing (Maltz and Bhagwat; Cohen, Rangarajan and Slye, USITS 1999), by sockmap:
 * the verdict runs when segments have become part of a socket's stream, takes them out of it and
 * puts them on the other socket's backlog, which a worker of the kernel sends.
 *
 * What the kernel does not do for us, and what is done here about it (Linux 6.18):
 *
 * - The backlog has no bound: what was redirected counts as read, so the sender's window stays
 *   open, however slow the receiver is. Here, what exceeds BACKLOG_MAX is passed to user space
 *   instead, where the sender's window closes as with any socket. It stays there until the backlog
 *   has gone, and user space sends it on; only then is there redirecting again. `passed` and
 *   `taken` see to the order: as long as they differ, nothing may overtake what is in between.
 * - What is passed waits behind the passer's own backlog, uncounted. HELD_MAX bounds it: a
 *   connection of which neither side reads is cut.
 * - A segment that is nothing but a FIN must not be redirected: sending no bytes counts as an
 *   error and breaks the receiver's socket. User space learns of the end by itself.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Bytes on the way to a receiver beside those in its socket. */
#define BACKLOG_MAX (2 << 20)

/* Segments in them: of one byte each they would take a thousand times the memory. */
#define PIECES_MAX 8192

/* Bytes that were passed and not sent on. Receive buffers are set so that they hold less. */
#define HELD_MAX (16 << 20)

/* One way of a connection, by the cookie of the socket that it comes from. */
struct half {
	__u64 moved;	/* bytes redirected */
	__u64 passed;	/* bytes given to user space; to begin with, those that it had before */
	__u64 taken;	/* of these, bytes sent on, as far as we looked */
	__u64 base;	/* what the receiver had sent before */
	__u64 written;	/* what it sent since, when we last looked */
	__u64 at_ns;	/* when something came */
	__u32 pieces;	/* segments on the backlog, or more than there are */
	__u32 broken;	/* bytes are lost: the connection must be cut */
};
_Static_assert(sizeof(struct half) == 56, "crates/handoff/src/splice.rs reads it");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct half);
} halves SEC(".maps");

/* Bytes that user space has sent on, written by it alone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} taken SEC(".maps");

/*
 * Who receives, by the cookie of the socket that it comes from. Cookies are never used twice, so a
 * program that is late finds nobody rather than somebody else.
 */
struct {
	__uint(type, BPF_MAP_TYPE_SOCKHASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} ends SEC(".maps");

/* Cookies of sockets that user space has to look at. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} calls SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct tcp_sock {
	__u64 bytes_acked;
	__u32 snd_una;
	__u32 write_seq;
};
#pragma clang attribute pop

static __always_inline void call(__u64 own)
{
	/* Were it full, user space would find out at its next look. */
	bpf_ringbuf_output(&calls, &own, sizeof(own), 0);
}

/* Whether as much as may be is on its way to the receiver. */
static __always_inline int full(struct half *half, __u64 own)
{
	__u64 given = half->moved + half->taken;
	struct tcp_sock *receiver;
	struct bpf_sock *sk;
	__u64 backlog;

	if (given - half->written <= BACKLOG_MAX && half->pieces < PIECES_MAX)
		return 0;
	sk = bpf_map_lookup_elem(&ends, &own);
	if (!sk)
		return 0;
	receiver = bpf_skc_to_tcp_sock(sk);
	/* Read while it sends, so this may say too little; never too much for long. */
	if (receiver)
		half->written = receiver->bytes_acked +
				(__u32)(receiver->write_seq - receiver->snd_una) - half->base;
	bpf_sk_release(sk);
	backlog = given > half->written ? given - half->written : 0;
	if (half->pieces > backlog)
		half->pieces = backlog;
	return backlog > BACKLOG_MAX || half->pieces >= PIECES_MAX;
}

static __always_inline __u64 taken_now(struct half *half, __u64 own)
{
	__u64 *now = bpf_map_lookup_elem(&taken, &own);

	return now ? *(volatile __u64 *)now : half->taken;
}

/* To user space, which sends it on; called if it does not know yet that there is something. */
static __always_inline int pass(struct half *half, __u64 own, __u32 len)
{
	__u64 before;

	if (half->passed - half->taken > HELD_MAX) {
		half->broken = 1;
		call(own);
		return SK_DROP;
	}
	before = __sync_fetch_and_add(&half->passed, len);
	/* Behind the addition: either user space sees it, or we see that it has finished. */
	if (taken_now(half, own) == before)
		call(own);
	return SK_PASS;
}

SEC("sk_skb/stream_verdict")
int splice(struct __sk_buff *skb)
{
	__u64 own = bpf_get_socket_cookie(skb);
	__u32 len = skb->len;
	struct half *half;

	if (!len)
		return SK_DROP;
	half = bpf_map_lookup_elem(&halves, &own);
	if (!half)
		return SK_PASS;
	half->at_ns = bpf_ktime_get_coarse_ns();
	if (half->broken)
		return SK_DROP;
	if (half->passed != half->taken)
		half->taken = taken_now(half, own);
	if (half->passed != half->taken || full(half, own))
		return pass(half, own, len);
	half->moved += len;
	half->pieces++;
	if (bpf_sk_redirect_hash(skb, &ends, &own, 0) == SK_PASS)
		return SK_PASS;
	half->broken = 1;
	call(own);
	return SK_DROP;
}

char LICENSE[] SEC("license") = "GPL";

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Repeats what the policy would answer again, and nothing else: while a memo's guard holds, or by
 * taking the next turn of a wheel. The books of open connections are kept here too. Both sides change
 * books, wheels and the page by atomics; user space has them mapped.
 */
#ifndef BATON_DECIDE_H
#define BATON_DECIDE_H

#include "maps.h"
#include "scan.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SERVERS_MAX);
	__type(key, __u32);
	__type(value, struct book);
} books SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WHEELS_MAX);
	__type(key, __u32);
	__type(value, struct wheel);
} wheels SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct page);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1048576);
	__type(key, struct memo_key);
	__type(value, struct memo);
} memos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

static __always_inline struct page *the_page(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&pages, &zero);
}

/* A connection is given to a server; `open`: whether it is to be closed again. */
static __always_inline void book_open(__u32 server, int open)
{
	struct book *book = bpf_map_lookup_elem(&books, &server);
	struct page *page = the_page();

	if (!book || !page)
		return;
	if (open)
		__sync_fetch_and_add(&book->open, 1);
	__sync_fetch_and_add(&book->begun, 1);
	book->chosen = __sync_fetch_and_add(&page->serial, 1) + 1;
}

/* It was closed too early. */
static __always_inline void book_open_again(__u32 server)
{
	struct book *book = bpf_map_lookup_elem(&books, &server);

	if (book)
		__sync_fetch_and_add(&book->open, 1);
}

/* It is closed, or was given to another. */
static __always_inline void book_close(__u32 server)
{
	struct book *book = bpf_map_lookup_elem(&books, &server);

	if (book)
		__sync_fetch_and_add(&book->open, -1);
}

/* Nobody: the policy has to be asked. */
#define ASK NOBODY

static __always_inline void tell(const struct flow_key *key, const struct memo *memo, __u32 server,
				 __u32 holder)
{
	struct event *event;

	if (!site.log)
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count(COUNT_EVENTS_LOST);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->flow = *key;
	event->server = server;
	event->target = memo->target;
	event->at_ns = bpf_ktime_get_ns();
	event->kind = memo->kind;
	event->class = memo->class;
	event->holder = holder;
	event->first = holder == NOBODY;
	/* Whoever reads looks from time to time: to be woken for each costs more than the request. */
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* Who answers the request that was scanned: a slot, RELAY, or ASK. Global, so that it is verified
 * once, not once for each way that leads to it. */
__noinline __u32 decide(const struct flow_key *flow, __u32 holder, __u64 now_ns)
{
	const struct scan *s = scanned();
	struct memo_key key = {};
	struct page *page = the_page();
	struct memo *memo;
	struct book *book;
	struct wheel *wheel;
	__u32 server, number;
	__u64 turn;

	if (!s || !flow || s->hosts > 1 || !page)
		return ASK;
	memo_key_of(s, &key);
	memo = bpf_map_lookup_elem(&memos, &key);
	if (!memo)
		return ASK;
	if (memo->epoch != page->epoch)
		return ASK;
	switch (memo->kind) {
	case MEMO_RELAY:
		return RELAY;
	case MEMO_TARGET:
		server = memo->server;
		book = bpf_map_lookup_elem(&books, &server);
		if (!book || now_ns >= memo->until_ns ||
		    book->load + book->open * LOAD_ONE > memo->load_max)
			return ASK;
		break;
	case MEMO_WHEEL:
		number = memo->wheel;
		wheel = bpf_map_lookup_elem(&wheels, &number);
		if (!wheel || wheel->epoch != page->epoch || !wheel->length ||
		    now_ns >= wheel->until_ns)
			return ASK;
		turn = __sync_fetch_and_add(&wheel->cursor, 1);
		/* Taken back between the look at its epoch and here: this was nobody's turn. */
		if (!(turn & WHEEL_OUT))
			return ASK;
		number = (turn & ~WHEEL_OUT) % wheel->length;
		server = wheel->servers[number & (TURNS_MAX - 1)];
		if (server == WHEEL_RELAY)
			server = RELAY;
		break;
	default:
		return ASK;
	}
	count(COUNT_REPEATED);
	tell(flow, memo, server, holder);
	return server;
}

#endif

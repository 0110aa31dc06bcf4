/* SPDX-License-Identifier: GPL-2.0 */
/* Maps that front-end and server have alike. */
#ifndef BATON_MAPS_H
#define BATON_MAPS_H

#include "handoff.h"
#include "kernel.h"

const volatile struct site site SEC(".rodata.site") = {};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_END);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct listener_key);
	__type(value, struct listener);
} listeners SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *counter = bpf_map_lookup_elem(&counts, &what);

	if (counter)
		(*counter)++;
}

static __always_inline int drop(__u32 what)
{
	count(what);
	return TC_ACT_SHOT;
}

static __always_inline struct listener *listener_of(const struct flow_key *key)
{
	struct listener_key at = { .port = key->vip_port };

	__builtin_memcpy(at.vip, key->vip, 16);
	return bpf_map_lookup_elem(&listeners, &at);
}

#endif

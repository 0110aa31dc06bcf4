/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Of the kernel: headers, helpers, and the few fields of its structs that are read. libbpf finds
 * the fields' places in the running kernel by its BTF, so no vmlinux.h is needed.
 */
#ifndef BATON_KERNEL_H
#define BATON_KERNEL_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET 2
#define AF_INET6 10

/* include/net/tcp_states.h */
#define ESTABLISHED 1
#define TIME_WAIT 6
#define LISTEN 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	unsigned char skc_state;
	__u32 skc_tw_rcv_nxt;
};
struct sock {
	struct sock_common __sk_common;
};
struct rb_root {
	struct rb_node *rb_node;
};
struct tcp_sock {
	__u32 rcv_nxt;
	__u32 write_seq;
	struct rb_root out_of_order_queue;
};
struct tcp_timewait_sock;
#pragma clang attribute pop

/* Linux 6.9: include/net/tcp.h. The whole of it, for its size is checked. */
struct bpf_tcp_req_attrs {
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	__u16 mss;
	__u8 rcv_wscale;
	__u8 snd_wscale;
	__u8 ecn_ok;
	__u8 wscale_ok;
	__u8 sack_ok;
	__u8 tstamp_ok;
	__u8 usec_ts_ok;
	__u8 reserved[3];
};

/* Makes an established socket of a listener from a segment (Linux 6.9, tc ingress only). */
extern int bpf_sk_assign_tcp_reqsk(struct __sk_buff *skb, struct sock *sk,
				   struct bpf_tcp_req_attrs *attrs, int attrs__sz) __ksym;

/* Sequence numbers wrap: a is before b when it is less than half the circle behind it. */
static __always_inline int before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On each server: takes connections over from the front-end, gives them back when they are at rest,
 * and keeps the server's own stack from resetting clients it does not know yet.
 */
#include "adopt.h"
#include "envelope.h"
#include "follow.h"
#include "maps.h"

char _license[] SEC("license") = "GPL";

/* Not ours: whatever else is attached here, and the stack, shall see it. */
#define PASS TC_ACT_UNSPEC

/* How long a late copy of a hand-over is told from a new one. */
#define GHOST_NS 2000000000ull

/* How long a socket that is not there is taken for one that a full accept queue had no room for, since
 * it was last tried. A client waits twice as long each time: it may try for half a minute to one. */
#define FULL_NS 30000000000ull

/* Has waited behind the packet that ended the socket in its way. */
#define MARK_AGAIN 0xba700002

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 262144);
	__type(key, struct flow_key);
	__type(value, struct owned);
} owned_flows SEC(".maps");

/* Which server a request of a forwarded connection is for: read by the agent's relay. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct tag_key);
	__type(value, __u32);
} tags SEC(".maps");

/* Sends the letter back to who sent it, as `kind`. Neighbour or router: it goes where it came from. */
static __noinline int send_back(struct __sk_buff *skb, struct letter *letter, __u8 kind)
{
	struct ethhdr eth;
	__u32 address[8];
	__u32 ip = letter->v6 ? 8 : 12;	/* where the addresses are in the header */
	__u32 swap;

	letter_becomes(letter, kind);
	if (bpf_skb_load_bytes(skb, 0, &eth, sizeof(eth)))
		return TC_ACT_SHOT;
	struct ethhdr back = eth;
	__builtin_memcpy(back.h_dest, eth.h_source, ETH_ALEN);
	__builtin_memcpy(back.h_source, eth.h_dest, ETH_ALEN);
	if (bpf_skb_store_bytes(skb, 0, &back, sizeof(back), 0) ||
	    bpf_skb_store_bytes(skb, letter->at, &letter->envelope, sizeof(letter->envelope), 0))
		return TC_ACT_SHOT;
	if (letter->v6) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN + ip, address, 32))
			return TC_ACT_SHOT;
		for (int i = 0; i < 4; i++) {
			swap = address[i];
			address[i] = address[i + 4];
			address[i + 4] = swap;
		}
		if (bpf_skb_store_bytes(skb, ETH_HLEN + ip, address, 32, 0))
			return TC_ACT_SHOT;
	} else {
		if (bpf_skb_load_bytes(skb, ETH_HLEN + ip, address, 8))
			return TC_ACT_SHOT;
		swap = address[0];
		address[0] = address[1];
		address[1] = swap;
		/* The sum of the header does not change when two words of it change places. */
		if (bpf_skb_store_bytes(skb, ETH_HLEN + ip, address, 8, 0))
			return TC_ACT_SHOT;
	}
	return bpf_redirect(skb->ifindex, 0);
}

/* A segment for the VIP as the client sent it. */
static __always_inline int segment(struct __sk_buff *skb, struct packet *p)
{
	struct standing standing;
	struct owned *owned;
	__u32 end = p->seq + p->length;

	look(skb, p, &standing);
	if (standing.found == FOUND_NONE) {
		owned = bpf_map_lookup_elem(&owned_flows, &p->key);
		/* The server has closed it, and the client did not know: it is told by the stack.
		 * What is not of that very connection came before its hand-over: it comes again. So
		 * does what the server never answered: its queue may have been full. */
		if (owned && !owned->released && before(owned->first_ack, p->ack) &&
		    p->seq - owned->mark_seq <= owned->client_end - owned->mark_seq) {
			count(COUNT_RESET_GONE);
			return TC_ACT_OK;
		}
		return drop(COUNT_ORPHAN);
	}
	if (!p->length || standing.found != FOUND_LIVE)
		return TC_ACT_OK;
	owned = bpf_map_lookup_elem(&owned_flows, &p->key);
	if (!owned)
		return TC_ACT_OK;
	if (before(owned->client_end, end))
		owned->client_end = end;
	if (owned->track)
		follow_request(skb, p, owned);
	return TC_ACT_OK;
}

/* Makes the socket for a letter that was taken out, and notes that we have it. */
static __always_inline int take_over(struct __sk_buff *skb, struct letter *letter,
				     const struct listener *listener, const struct owned *before)
{
	struct packet *p = &letter->inner;
	const struct envelope *e = &letter->envelope;
	struct options o = {};
	struct owned owned = {
		.created_ns = bpf_ktime_get_ns(),
		.connection = bpf_ntohl(e->connection),
		.mark_seq = p->seq,
		.first_ack = p->ack,
		.client_end = p->seq + p->length,
		.track = !!(e->flags & OPT_TRACK),
	};

	parse_options(skb, p, &o);
	o.mss = bpf_ntohs(e->mss);
	o.wscale = e->wscale;
	o.sack = !!(e->flags & OPT_SACK);
	__u32 for_agent = e->flags & OPT_AGENT;
	enum adopted adopted =
		adopt(skb, p, &o, for_agent ? listener->agent_port : listener->server_port);
	if (for_agent && adopted == ADOPT_NO_LISTENER) {
		/* Every server can answer every request; without the agent it answers all of these. */
		count(COUNT_AGENT_GONE);
		adopted = adopt(skb, p, &o, listener->server_port);
	}
	switch (adopted) {
	case ADOPT_NO_LISTENER:
		return drop(COUNT_NO_LISTENER);
	case ADOPT_REFUSED:
		return drop(COUNT_ADOPT_REFUSED);
	case ADOPTED:
		break;
	}
	if (before) {
		owned.released_seq = before->released_seq;
		owned.released_ns = before->released_ns;
	}
	if (owned.track)
		begin_request(skb, p, &owned, p->ack);
	bpf_map_update_elem(&owned_flows, &p->key, &owned, BPF_ANY);
	count(COUNT_ADOPTED);
	return TC_ACT_OK;
}

/* The copy that was to end the socket in the way of a letter, or to give the connection up. The letter
 * may have come twice at once, and what is there now may be made from the other one. */
static __always_inline int killer_came(struct __sk_buff *skb, struct letter *letter)
{
	struct owned *owned = bpf_map_lookup_elem(&owned_flows, &letter->inner.key);

	if (owned && !owned->released && owned->mark_seq == bpf_ntohl(letter->envelope.seq) &&
	    owned->connection == bpf_ntohl(letter->envelope.connection))
		return TC_ACT_SHOT;
	return take_out(skb, letter) ? TC_ACT_SHOT : be_killer(skb, &letter->inner, 1);
}

/* Ends the socket in the way and has this packet come again behind that. */
static __always_inline int clear_way(struct __sk_buff *skb)
{
	if (skb->mark == MARK_AGAIN)
		return drop(COUNT_ADOPT_REFUSED);
	kill_socket(skb);
	count(COUNT_STALE_KILLED);
	skb->mark = MARK_AGAIN;
	return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
}

/* Whether the socket that was made from this very segment has lived: then a server has had the request,
 * and must not have it again. Replies are followed only where connections may move. */
static __always_inline int has_lived(const struct packet *p, const struct owned *owned)
{
	return owned->phase == PHASE_REST || owned->phase == PHASE_CHUNK ||
	       before(owned->first_ack, p->ack) ||
	       bpf_ktime_get_ns() - owned->created_ns > FULL_NS;
}

static __always_inline int handed_over(struct __sk_buff *skb, struct letter *letter,
				       const struct listener *listener)
{
	struct packet *p = &letter->inner;
	__u32 seq = bpf_ntohl(letter->envelope.seq);
	struct owned *owned = bpf_map_lookup_elem(&owned_flows, &p->key);
	struct standing standing;
	int ours;

	if (owned && owned->connection != bpf_ntohl(letter->envelope.connection))
		owned = NULL;
	if (p->seq != seq) {
		/* A large segment was cut up on its way, and this is not its first part. */
		count(COUNT_LATE_MARK);
		return take_out(skb, letter) ? TC_ACT_SHOT : segment(skb, p);
	}
	if (owned && owned->released_ns && before(seq, owned->released_seq) &&
	    bpf_ktime_get_ns() - owned->released_ns < GHOST_NS)
		return drop(COUNT_GHOST);
	ours = owned && !owned->released;
	if (ours && before(seq, owned->mark_seq))
		return drop(COUNT_GHOST);
	look(skb, p, &standing);
	if (standing.found != FOUND_NONE) {
		if (!ours || owned->mark_seq != seq)
			return clear_way(skb);
		count(COUNT_DUPLICATE);
		return take_out(skb, letter) ? TC_ACT_SHOT : TC_ACT_OK;
	}
	if (take_out(skb, letter))
		return TC_ACT_SHOT;
	/* Without a socket: the accept queue was full, or the server has closed. */
	if (ours && owned->mark_seq == seq && has_lived(p, owned)) {
		count(COUNT_RESET_GONE);
		return TC_ACT_OK;
	}
	return take_over(skb, letter, listener, owned);
}

/* Whether both sides said all they had to say: the segment at `p` is the next request. Not compared is
 * snd_nxt: the other processor may still be about to count what the client has acknowledged. */
static __always_inline int at_rest(const struct packet *p, const struct owned *owned,
				   const struct standing *standing)
{
	return standing->established && !standing->ahead && standing->rcv_nxt == p->seq &&
	       standing->write_seq == p->ack && owned->phase == PHASE_REST &&
	       owned->reply_end == p->ack && owned->request_end == p->seq;
}

static __always_inline int queried(struct __sk_buff *skb, struct letter *letter)
{
	struct packet *p = &letter->inner;
	struct owned *owned = bpf_map_lookup_elem(&owned_flows, &p->key);
	struct standing standing;

	if (owned && owned->connection != bpf_ntohl(letter->envelope.connection))
		owned = NULL;
	look(skb, p, &standing);
	if (owned && p->seq == bpf_ntohl(letter->envelope.seq)) {
		if (owned->released && owned->released_seq == p->seq) {
			/* Our answer was lost, or this copy was on its way already. What was to end the
			 * socket may have been lost too, or waits behind us: the request is another's. */
			if (standing.found == FOUND_LIVE)
				kill_socket(skb);
			count(COUNT_RELEASED_AGAIN);
			return send_back(skb, letter, KIND_RELEASED);
		}
		if (!owned->released && at_rest(p, owned, &standing)) {
			owned->released = 1;
			owned->released_seq = p->seq;
			owned->released_ns = bpf_ktime_get_ns();
			kill_socket(skb);
			count(COUNT_RELEASED);
			return send_back(skb, letter, KIND_RELEASED);
		}
	}
	count(COUNT_KEPT);
	return take_out(skb, letter) ? TC_ACT_SHOT : segment(skb, p);
}

static __always_inline int tagged(struct __sk_buff *skb, struct letter *letter)
{
	struct packet *p = &letter->inner;
	struct tag_key key = { .flow = p->key, .seq = p->seq };
	__u32 server = bpf_ntohl(letter->envelope.server);
	struct standing standing;

	look(skb, p, &standing);
	/* Of a request that came before, the relay has taken the tag: nobody would take another. */
	if (p->seq == bpf_ntohl(letter->envelope.seq) && standing.found == FOUND_LIVE &&
	    !before(p->seq, standing.rcv_nxt))
		bpf_map_update_elem(&tags, &key, &server, BPF_ANY);
	count(COUNT_TAGGED);
	return take_out(skb, letter) ? TC_ACT_SHOT : segment(skb, p);
}

static __always_inline int letter_came(struct __sk_buff *skb, const struct packet *outer)
{
	struct letter letter = {};
	struct listener *listener;

	switch (open_letter(skb, outer, &letter)) {
	case OPENED_MALFORMED:
		return drop(COUNT_MALFORMED);
	case OPENED_FORGED:
		return drop(COUNT_FORGED);
	case OPENED:
		break;
	}
	if (skb->mark == MARK_KILL)
		return killer_came(skb, &letter);
	listener = listener_of(&letter.inner.key);
	if (!listener)
		return drop(COUNT_NO_LISTENER);
	if (is_icmp(&letter.inner))
		return take_out(skb, &letter) ? TC_ACT_SHOT : TC_ACT_OK;
	switch (letter.envelope.kind) {
	case KIND_PLAIN:
		return take_out(skb, &letter) ? TC_ACT_SHOT :
						segment(skb, &letter.inner);
	case KIND_HANDOFF:
		return handed_over(skb, &letter, listener);
	case KIND_QUERY:
		return queried(skb, &letter);
	case KIND_TAGGED:
		return tagged(skb, &letter);
	default:
		return drop(COUNT_MALFORMED);
	}
}

SEC("tc")
int back_ingress(struct __sk_buff *skb)
{
	struct packet p = {};
	struct listener *listener;
	__u32 bytes = parse_ip(skb, &p, ETH_HLEN);

	if (!bytes)
		return PASS;
	if (is_letter(skb, &p))
		return letter_came(skb, &p);
	if (p.protocol != IPPROTO_TCP || parse_tcp(skb, &p, bytes))
		return PASS;
	listener = listener_of(&p.key);
	if (!listener)
		return PASS;
	return segment(skb, &p);
}

/* Replies leave: where do they end? Never stops one. */
SEC("tc")
int back_egress(struct __sk_buff *skb)
{
	struct packet p = {};
	struct flow_key key;
	struct owned *owned;
	__u32 bytes = parse_ip(skb, &p, ETH_HLEN);

	if (!bytes || p.protocol != IPPROTO_TCP || parse_tcp(skb, &p, bytes) || !p.length)
		return PASS;
	__builtin_memcpy(key.client, p.key.vip, 16);
	__builtin_memcpy(key.vip, p.key.client, 16);
	key.client_port = p.key.vip_port;
	key.vip_port = p.key.client_port;
	owned = bpf_map_lookup_elem(&owned_flows, &key);
	if (owned && owned->track && !owned->released)
		follow_reply(skb, &p, owned);
	return PASS;
}

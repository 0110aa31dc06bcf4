/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On the front-end: answers SYNs, reads the first segment of each connection (of each request, where
 * connections may move), hands it to the server that shall answer, and passes the rest on. Runs on the
 * interfaces of clients and servers, and on the TAP through which held segments come back.
 */
#include "adopt.h"
#include "decide.h"
#include "envelop.h"
#include "maps.h"
#include "reply.h"
#include "scan.h"

char _license[] SEC("license") = "GPL";

#define PASS TC_ACT_UNSPEC

/* A held segment came back: the relay takes it. Only within this kernel. */
#define MARK_RELAY 0xba700003
#define MARK_RELAY_AGAIN 0xba700004

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1048576);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SERVERS_MAX);
	__type(key, __u32);
	__type(value, struct server);
} servers SEC(".maps");

/* What is known while one packet is looked at. Not on the stack, which has 512 bytes for all. */
struct passage {
	struct packet p;
	struct options o;
	struct options known;	/* from the handshake */
	struct standing standing;
	struct letter letter;
	struct flow fresh;
	__u32 ifindex;		/* where the client's packets come from */
	__u32 verdict;		/* of user space, or ASK when it has not been asked */
	__u8 answered;		/* came from the TAP */
	__u8 delivery;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct passage);
} passages SEC(".maps");

/* First segments about which user space is asked: what comes with them, or again, waits for it. */
struct pending {
	__u32 seq;
	__u8 asked;		/* see asked_now() */
	__u8 reserved[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow_key);
	__type(value, struct pending);
} pendings SEC(".maps");

/* The time in units of 67 ms, which go round. */
static __always_inline __u8 asked_now(void)
{
	return bpf_ktime_get_coarse_ns() >> 26;
}

/* The largest window that we offer: what is further from the client's place is not its own. */
#define WINDOW (65535u << WSCALE)

static __always_inline int in_window(const struct flow *flow, const struct packet *p)
{
	return p->seq - flow->next_seq + WINDOW <= 2 * WINDOW;
}

/* A SYN came on a port in use. For as long as its answer is good, and no longer, the client may begin
 * anew: in units of 8.6 s, of which the answer lives 16; never zero. */
static __always_inline __u8 resyn_now(void)
{
	return (bpf_ktime_get_coarse_ns() >> 33 & 0x7f) | 0x80;
}

static __always_inline int resyn_recent(const struct flow *flow)
{
	return flow->resyn && ((resyn_now() - flow->resyn) & 0x7f) <= 16;
}

/* Taken out of the books once, whoever is first to see it end. */
static __always_inline void close_flow(struct flow *flow)
{
	__u32 counted = __sync_lock_test_and_set(&flow->counted, NOBODY);

	flow->state = FLOW_CLOSING;
	if (counted != NOBODY) {
		book_close(counted);
		count(COUNT_CLOSED);
	}
}

static __always_inline void fill_envelope(struct envelope *e, const struct flow *flow,
					  const struct packet *p, __u8 kind, __u32 server)
{
	e->magic = bpf_htons(ENVELOPE_MAGIC);
	e->version = ENVELOPE_VERSION;
	e->kind = kind;
	e->seq = bpf_htonl(p->seq);
	e->connection = bpf_htonl(flow->connection);
	e->mss = bpf_htons(flow->mss);
	e->wscale = flow->wscale;
	e->flags = flow->options;
	e->server = bpf_htonl(server);
	envelope_seal(&p->key, e);
}

static __noinline int send_letter(struct __sk_buff *skb, const struct packet *p,
				     const struct flow *flow, const struct server *to, __u8 kind)
{
	struct envelope e = {};

	fill_envelope(&e, flow, p, kind, 0);
	if (envelop(skb, to, p, &e))
		return drop(COUNT_MALFORMED);
	return bpf_redirect_neigh(to->ifindex, NULL, 0, 0);
}

/* To the holder's relay, with the name of the server that has the target. */
static __noinline int send_tagged(struct __sk_buff *skb, const struct packet *p,
				  const struct flow *flow, const struct server *to,
				  const struct server *target)
{
	struct envelope e = {};

	count(COUNT_TAGGED);
	fill_envelope(&e, flow, p, KIND_TAGGED, (__u32)target->name);
	if (envelop(skb, to, p, &e))
		return drop(COUNT_MALFORMED);
	return bpf_redirect_neigh(to->ifindex, NULL, 0, 0);
}

/* To the holder as it is, or in an envelope where it would not arrive otherwise. */
static __noinline int send_plain(struct __sk_buff *skb, const struct packet *p,
				      const struct flow *flow, const struct server *to)
{
	struct bpf_redir_neigh next = {};

	count(COUNT_FORWARDED);
	if (to->routed || p->v6 == is_v4(to->address))
		return send_letter(skb, p, flow, to, KIND_PLAIN);
	if (p->v6) {
		next.nh_family = AF_INET6;
		__builtin_memcpy(next.ipv6_nh, to->address, 16);
	} else {
		next.nh_family = AF_INET;
		next.ipv4_nh = to->address[3];
	}
	return bpf_redirect_neigh(to->ifindex, &next, sizeof(next), 0);
}

/* The client gets a RST: seq is what it expects next. */
static __noinline int reset_client(struct __sk_buff *skb, const struct passage *t,
					struct flow *flow)
{
	close_flow(flow);
	count(COUNT_RESET_DOWN);
	if (t->p.flags & RST || turn_round(skb, &t->p, RST | ACK))
		return TC_ACT_SHOT;
	if (skb->ifindex == flow->ifindex)
		return bpf_redirect(skb->ifindex, 0);
	return bpf_redirect_neigh(flow->ifindex, NULL, 0, 0);
}

/* Out to user space, which decides and sends it back. Who sent it, and to whom, is not needed any more:
 * in the place of these addresses the frame says from which interface it came, and which segment is
 * asked about. The TAP may cut it up; its other parts only follow the first. */
static __noinline int ask(struct __sk_buff *skb, const struct passage *t)
{
	__u8 note[2 * ETH_ALEN] = { 0x02, 0xba, 0, 0, 0, 0, 0x02, 0xba };

	if (t->answered)
		return drop(COUNT_UNANSWERED);
	__builtin_memcpy(note + 2, &t->p.seq, 4);
	__builtin_memcpy(note + ETH_ALEN + 2, &t->ifindex, 4);
	if (bpf_skb_store_bytes(skb, 0, note, sizeof(note), 0))
		return TC_ACT_SHOT;
	count(COUNT_ASKED);
	return bpf_redirect(site.tap_ifindex, 0);
}

/* The relay on this machine gets the connection, by the same call as a server does. `flow`: what it
 * was until now, if it was given back in the middle; the handshake is too long ago to be proved. */
static __noinline int relay_here(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	struct options *known = &t->known;

	look(skb, &t->p, &t->standing);
	if (t->standing.found == FOUND_LIVE)
		return TC_ACT_OK;
	if (t->standing.found == FOUND_TIME_WAIT) {
		if (skb->mark == MARK_RELAY_AGAIN)
			return drop(COUNT_LOCAL_REFUSED);
		kill_socket(skb);
		skb->mark = MARK_RELAY_AGAIN;
		return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
	}
	parse_options(skb, &t->p, &t->o);
	if (flow) {
		known->mss = flow->mss;
		known->wscale = flow->wscale;
		known->sack = !!(flow->options & OPT_SACK);
	} else if (!cookie_check(&t->p, known, bpf_ktime_get_coarse_ns())) {
		return drop(COUNT_COOKIE_REFUSED);
	}
	t->o.mss = known->mss;
	t->o.sack = known->sack;
	t->o.wscale = known->wscale;
	if (adopt(skb, &t->p, &t->o, t->p.key.vip_port) != ADOPTED)
		return drop(COUNT_LOCAL_REFUSED);
	if (flow) {
		close_flow(flow);
		bpf_map_delete_elem(&flows, &t->p.key);
	}
	return TC_ACT_OK;
}

/* Sends it to the relay, through the interface of the client: only there it comes from where the
 * client is, as rp_filter may ask. */
static __always_inline int relay(struct __sk_buff *skb, struct passage *t, __u32 why)
{
	count(why);
	if (skb->ifindex == t->ifindex)
		return relay_here(skb, t, NULL);
	skb->mark = MARK_RELAY;
	return bpf_redirect(t->ifindex, BPF_F_INGRESS);
}

/* What the payload of a segment is. */
enum looks { LOOKS_REQUEST, LOOKS_NOT_HTTP, LOOKS_SPLIT, LOOKS_PIPELINED, LOOKS_UNCLEAR };

static __noinline enum looks look_at(struct __sk_buff *skb, const struct packet *p,
					  struct scan **found)
{
	struct scan *s = scan_load(skb, p->payload, p->length);
	enum method method;

	*found = s;
	if (!s)
		return LOOKS_NOT_HTTP;
	method = method_of((__u32)word_at(s, 0));
	if (method == METHOD_NONE)
		return LOOKS_NOT_HTTP;
	scan_head(s);
	/* Whole, and not only because the kernel has put segments together. */
	if (!s->end || (skb->gso_size && s->end > skb->gso_size))
		return LOOKS_SPLIT;
	/* Where the body ends is for those to say who read all of HTTP. */
	if (s->encoded || s->has_length > 1 || s->content_length > 0x7fffffff)
		return LOOKS_UNCLEAR;
	if (s->end + s->content_length < p->length)
		return LOOKS_PIPELINED;
	return LOOKS_REQUEST;
}

/* The first request of a connection was decided: it becomes a flow and is handed over. */
static __noinline int open_flow(struct __sk_buff *skb, struct passage *t, __u32 slot)
{
	struct server *server = bpf_map_lookup_elem(&servers, &slot);
	struct flow *flow = &t->fresh;

	if (!server || server->state != SERVER_UP)
		return ask(skb, t);
	*flow = (struct flow){
		.seen_ns = bpf_ktime_get_coarse_ns(),
		.counted = slot,
		.holder = slot,
		.connection = t->p.seq,
		.mark_seq = t->p.seq,
		.next_seq = t->p.seq + t->p.length,
		.decided_seq = t->p.seq,
		.decided = slot,
		.decided_ack = t->p.ack,
		.client_ack = t->p.ack,
		.ifindex = t->ifindex,
		.requests = 1,
		.mss = t->known.mss,
		.wscale = t->known.wscale,
		.delivery = t->delivery,
	};
	flow->opened_ns = flow->seen_ns;
	flow->data_ack = t->p.ack;
	if (t->p.flags & FIN)
		flow->state = FLOW_HALF;
	flow->options = (t->known.sack ? OPT_SACK : 0) |
			(t->delivery == DELIVERY_MULTI ? OPT_TRACK : 0) |
			(t->delivery == DELIVERY_FORWARD ? OPT_AGENT : 0);
	if (bpf_map_update_elem(&flows, &t->p.key, flow, BPF_NOEXIST)) {
		/* Another copy of this segment was faster, or there is no room. */
		if (bpf_map_lookup_elem(&flows, &t->p.key))
			return TC_ACT_SHOT;
		return relay(skb, t, COUNT_LOCAL_FULL);
	}
	book_open(slot, 1);
	count(COUNT_HANDED_OVER);
	return send_letter(skb, &t->p, flow, server, KIND_HANDOFF);
}

/* A keep-alive probe before the first request repeats the byte before it: modulo 2^22. */
#define PROBE 0x3fffff

/* A segment with this cookie's offset that does not begin a connection. */
static __always_inline int not_the_first(struct __sk_buff *skb, struct passage *t, __u32 offset)
{
	if (offset == PROBE && t->p.length <= 1 && !(t->p.flags & FIN)) {
		t->p.length = 1;
		if (turn_round(skb, &t->p, ACK))
			return TC_ACT_SHOT;
		count(COUNT_PROBE_ANSWERED);
		return bpf_redirect(skb->ifindex, 0);
	}
	/* The relay's connections are the stack's own; it resets what is nobody's. */
	if (offset >= EARLY_MAX && !bpf_map_lookup_elem(&pendings, &t->p.key))
		return PASS;
	look(skb, &t->p, &t->standing);
	if (t->standing.found == FOUND_LIVE)
		return PASS;
	/* It overtook the first segment, or that one is held: it comes again. */
	return drop(COUNT_ORPHAN);
}

/* User space decides whose a new connection is, and is asked once. */
static __always_inline int ask_first(struct __sk_buff *skb, struct passage *t)
{
	struct pending *pending = bpf_map_lookup_elem(&pendings, &t->p.key);
	struct pending fresh = { .seq = t->p.seq, .asked = asked_now() };

	if (pending && pending->seq == t->p.seq && (__u8)(fresh.asked - pending->asked) < 2)
		return drop(COUNT_ASKED_ALREADY);
	bpf_map_update_elem(&pendings, &t->p.key, &fresh, BPF_ANY);
	return ask(skb, t);
}

/* A segment of a connection that is no flow: a handshake's end, a first request, or the relay's. */
static __always_inline int stranger(struct __sk_buff *skb, struct passage *t)
{
	struct scan *s;
	__u32 slot = t->verdict;
	__u32 offset;

	if (t->p.flags & RST || !(t->p.flags & ACK))
		return PASS;
	offset = cookie_offset(&t->p, &t->known, bpf_ktime_get_coarse_ns());
	if (offset)
		return not_the_first(skb, t, offset);
	if (!t->p.length && !(t->p.flags & FIN)) {
		count(COUNT_ACK_ABSORBED);
		return TC_ACT_SHOT;
	}
	look(skb, &t->p, &t->standing);
	if (t->standing.found == FOUND_LIVE)
		return PASS;
	if (!t->p.length) {
		if (turn_round(skb, &t->p, FIN | ACK))
			return TC_ACT_SHOT;
		count(COUNT_FIN_ANSWERED);
		return bpf_redirect(skb->ifindex, 0);
	}
	if (t->answered)
		bpf_map_delete_elem(&pendings, &t->p.key);
	if (slot == ASK) {
		switch (look_at(skb, &t->p, &s)) {
		case LOOKS_NOT_HTTP:
			return relay(skb, t, COUNT_LOCAL_NOT_HTTP);
		case LOOKS_SPLIT:
			return relay(skb, t, COUNT_LOCAL_SPLIT_HEAD);
		case LOOKS_UNCLEAR:
			return ask_first(skb, t);
		case LOOKS_PIPELINED:
			if (t->delivery != DELIVERY_HANDOFF)
				return relay(skb, t, COUNT_LOCAL_PIPELINED);
			break;
		case LOOKS_REQUEST:
			break;
		}
		slot = decide(s, &t->p.key, NOBODY);
	}
	if (slot == RELAY)
		return relay(skb, t, COUNT_LOCAL_VERDICT);
	if (slot == ASK)
		return ask_first(skb, t);
	return open_flow(skb, t, slot);
}

/* The segment was decided for `slot`: it stays, is tagged, or is offered for a move. */
static __noinline int deliver(struct __sk_buff *skb, struct passage *t, struct flow *flow,
				   const struct server *holder, __u32 slot)
{
	struct server *other;

	if (slot == flow->holder)
		return send_plain(skb, &t->p, flow, holder);
	other = bpf_map_lookup_elem(&servers, &slot);
	if (slot != RELAY && (!other || other->state != SERVER_UP))
		return send_plain(skb, &t->p, flow, holder);
	if (flow->delivery == DELIVERY_FORWARD) {
		/* A verdict for the relay means a relay, and it is at one. */
		if (!other)
			return send_plain(skb, &t->p, flow, holder);
		return send_tagged(skb, &t->p, flow, holder, other);
	}
	count(COUNT_QUERIED);
	return send_letter(skb, &t->p, flow, holder, KIND_QUERY);
}

/* The same segment again, while it is not known whom it is for. The network doubled it, and the copy
 * must not reach the holder first; or its answer is late or lost and the client sent it again, which
 * nobody does within 200 ms, and then the holder has it. */
static __always_inline int asked_again(struct __sk_buff *skb, struct passage *t, struct flow *flow,
				       const struct server *holder)
{
	if ((__u8)(asked_now() - flow->asked) < 2)
		return drop(COUNT_ASKED_ALREADY);
	return send_plain(skb, &t->p, flow, holder);
}

/* New payload on a connection that may move: if it is a request, who answers it? */
static __always_inline int next_request(struct __sk_buff *skb, struct passage *t, struct flow *flow,
					const struct server *holder)
{
	struct scan *s;
	__u32 slot = t->verdict;

	if (slot == ASK) {
		enum looks looks = look_at(skb, &t->p, &s);
		switch (looks) {
		case LOOKS_UNCLEAR:
		case LOOKS_REQUEST:
			/* Of the reply to the request before it the client has nothing: as long as it
			 * is not known where that one goes, this one cannot go elsewhere. */
			if (before(flow->decided_ack, t->p.ack))
				break;
			count(COUNT_STAYED_PIPELINED);
			return send_plain(skb, &t->p, flow, holder);
		case LOOKS_PIPELINED:
			count(COUNT_STAYED_PIPELINED);
			return send_plain(skb, &t->p, flow, holder);
		default:
			/* A body, or what the holder can make of it. */
			return send_plain(skb, &t->p, flow, holder);
		}
		slot = looks == LOOKS_UNCLEAR ? ASK : decide(s, &t->p.key, flow->holder);
		if (slot == ASK) {
			flow->decided_ack = t->p.ack;
			flow->decided_seq = t->p.seq;
			flow->decided = ASK;
			flow->asked = asked_now();
			return ask(skb, t);
		}
	}
	flow->decided_seq = t->p.seq;
	flow->decided = slot;
	flow->decided_ack = t->p.ack;
	flow->requests++;
	return deliver(skb, t, flow, holder, slot);
}

/* Whether the client uses the port again: this segment ends another handshake. With payload it begins
 * the new connection, and the old one is forgotten; without, stranger() absorbs it. */
static __always_inline int begins_anew(struct passage *t, struct flow *flow)
{
	if (!(resyn_recent(flow) || flow->state == FLOW_CLOSING) || t->p.seq == flow->connection ||
	    t->p.flags & RST || !cookie_check(&t->p, &t->known, bpf_ktime_get_coarse_ns()))
		return 0;
	if (t->p.length) {
		close_flow(flow);
		bpf_map_delete_elem(&flows, &t->p.key);
		count(COUNT_REOPENED);
	}
	return 1;
}

/* The client's last words, in their place: whether it ends here for the books. Who has heard nothing
 * since it last spoke has only shut its own half and waits for the reply. */
static __always_inline void last_words(const struct packet *p, struct flow *flow)
{
	__u32 end = p->seq + p->length;

	if (p->flags & RST) {
		/* Its FIN, if it sent one, has a number of its own. */
		if (p->seq == flow->next_seq || p->seq == flow->next_seq + 1)
			close_flow(flow);
	} else if (!before(end, flow->next_seq)) {
		if (!p->length && before(flow->data_ack, p->ack))
			close_flow(flow);
		else if (flow->state == FLOW_OPEN)
			flow->state = FLOW_HALF;
	}
}

/* A segment of a connection that was handed over. */
static __noinline int acquaintance(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	__u32 slot = flow->holder;
	__u32 end = t->p.seq + t->p.length;
	struct server *holder = bpf_map_lookup_elem(&servers, &slot);
	struct listener *listener;
	int fresh, old;

	if (!holder)
		return TC_ACT_SHOT;
	if (t->verdict == CLOSE) {
		close_flow(flow);
		return TC_ACT_SHOT;
	}
	/* Whoever sent this does not know the connection: the server's stack judges, we learn nothing. */
	if (!in_window(flow, &t->p))
		return send_plain(skb, &t->p, flow, holder);
	flow->seen_ns = bpf_ktime_get_coarse_ns();
	if (holder->state == SERVER_DOWN || holder->state == SERVER_NONE)
		return reset_client(skb, t, flow);
	if (t->p.flags & (FIN | RST))
		last_words(&t->p, flow);
	old = before(t->p.ack, flow->client_ack);
	if (!old)
		flow->client_ack = t->p.ack;
	if (!t->p.length)
		return send_plain(skb, &t->p, flow, holder);
	flow->data_ack = t->p.ack;
	fresh = !before(t->p.seq, flow->next_seq);
	if (before(flow->next_seq, end))
		flow->next_seq = end;
	/* Not a late copy: the client has heard more than it says here. */
	if (t->p.seq == flow->mark_seq && !old) {
		/* Whose it is was written before the mark: the holder read above may be the one before. */
		slot = *(volatile __u32 *)&flow->holder;
		holder = bpf_map_lookup_elem(&servers, &slot);
		if (!holder)
			return TC_ACT_SHOT;
		count(COUNT_HANDED_AGAIN);
		return send_letter(skb, &t->p, flow, holder, KIND_HANDOFF);
	}
	if (t->p.seq == flow->decided_seq && flow->decided != ASK)
		return deliver(skb, t, flow, holder, flow->decided);
	if (t->p.seq == flow->decided_seq && !t->answered)
		return asked_again(skb, t, flow, holder);
	if (flow->delivery == DELIVERY_HANDOFF)
		return send_plain(skb, &t->p, flow, holder);
	/* Where the listener was given up, nobody may be there who could be asked: it stays. */
	listener = listener_of(&t->p.key);
	if (!listener || listener->delivery == DELIVERY_RELAY)
		return send_plain(skb, &t->p, flow, holder);
	/* An answer may come when a later request was decided: that one's is not to be forgotten. */
	if ((t->answered ? t->verdict == ASK : !fresh) ||
	    before(t->p.seq, flow->decided_seq))
		return send_plain(skb, &t->p, flow, holder);
	return next_request(skb, t, flow, holder);
}

/* The holder gave the connection up at this segment: it is taken to the one it was decided for, in the
 * same envelope. */
static __always_inline int released(struct __sk_buff *skb, struct passage *t, struct letter *letter)
{
	struct flow *flow = bpf_map_lookup_elem(&flows, &letter->inner.key);
	struct envelope e = {};
	struct server *server;
	__u32 slot;

	if (!flow || flow->decided_seq != letter->inner.seq || flow->decided == ASK ||
	    flow->connection != bpf_ntohl(letter->envelope.connection))
		return drop(COUNT_UNKNOWN_RELEASE);
	t->p = letter->inner;
	slot = flow->decided;
	if (slot == RELAY) {
		if (take_out(skb, letter))
			return TC_ACT_SHOT;
		count(COUNT_LOCAL_VERDICT);
		skb->mark = MARK_RELAY;
		return bpf_redirect(flow->ifindex, BPF_F_INGRESS);
	}
	__u32 before = flow->holder;
	/* Once, should this have been said twice at the same time. */
	if (flow->mark_seq != t->p.seq && before != slot &&
	    __sync_val_compare_and_swap(&flow->holder, before, slot) == before) {
		/* Not open if it was closed meanwhile: nobody would close it again. */
		int open = __sync_val_compare_and_swap(&flow->counted, before, slot) == before;
		if (open)
			book_close(before);
		book_open(slot, open);
		*(volatile __u32 *)&flow->mark_seq = t->p.seq;
		flow->moves++;
		count(COUNT_MOVED);
	}
	slot = flow->holder;
	server = bpf_map_lookup_elem(&servers, &slot);
	if (!server)
		return TC_ACT_SHOT;
	if (server->state == SERVER_DOWN || server->state == SERVER_NONE) {
		if (take_out(skb, letter))
			return TC_ACT_SHOT;
		t->p = letter->inner;
		return reset_client(skb, t, flow);
	}
	fill_envelope(&e, flow, &t->p, KIND_HANDOFF, 0);
	if (address_anew(skb, server, letter, &e))
		/* The client sends it again, and then it goes there from the beginning. */
		return drop(COUNT_MALFORMED);
	return bpf_redirect_neigh(server->ifindex, NULL, 0, 0);
}

static __always_inline int letter_came(struct __sk_buff *skb, struct passage *t)
{
	struct letter *letter = &t->letter;

	switch (open_letter(skb, &t->p, letter)) {
	case OPENED_MALFORMED:
		return drop(COUNT_MALFORMED);
	case OPENED_FORGED:
		return drop(COUNT_FORGED);
	case OPENED:
		break;
	}
	if (letter->envelope.kind != KIND_RELEASED ||
	    letter->inner.seq != bpf_ntohl(letter->envelope.seq))
		return drop(COUNT_MALFORMED);
	return released(skb, t, letter);
}

/* A reply was too large for some router: its server has to know. */
static __always_inline int too_large(struct __sk_buff *skb, struct passage *t)
{
	struct server *holder;
	struct flow *flow;
	__u32 slot;

	if (parse_too_large(skb, &t->p))
		return PASS;
	flow = bpf_map_lookup_elem(&flows, &t->p.key);
	if (!flow)
		return PASS;
	slot = flow->holder;
	holder = bpf_map_lookup_elem(&servers, &slot);
	if (!holder || holder->state == SERVER_DOWN || holder->state == SERVER_NONE)
		return PASS;
	return send_plain(skb, &t->p, flow, holder);
}

/* What user space wrote where the addresses of the frame were. */
static __always_inline int read_note(struct __sk_buff *skb, struct passage *t)
{
	__u8 note[2 * ETH_ALEN];

	if (bpf_skb_load_bytes(skb, 0, note, sizeof(note)) || note[0] != 0x02 || note[1] != 0xba)
		return -1;
	__builtin_memcpy(&t->verdict, note + 2, 4);
	__builtin_memcpy(&t->ifindex, note + ETH_ALEN + 2, 4);
	t->answered = 1;
	count(COUNT_ANSWERED);
	return 0;
}

/* The listener was given up: what was handed over keeps its way, all else is the stack's; also a
 * connection that the stack has made on the port of one of ours. */
static __always_inline int given_up(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	if (!flow)
		return 1;
	if (t->p.flags & SYN) {
		flow->resyn = resyn_now();
		return 1;
	}
	if (!resyn_recent(flow))
		return 0;
	look(skb, &t->p, &t->standing);
	if (t->standing.found != FOUND_LIVE)
		return 0;
	close_flow(flow);
	bpf_map_delete_elem(&flows, &t->p.key);
	return 1;
}

SEC("tc")
int front_ingress(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct passage *t = bpf_map_lookup_elem(&passages, &zero);
	struct listener *listener;
	struct flow *flow;
	__u32 bytes;

	if (!t)
		return PASS;
	t->ifindex = skb->ifindex;
	t->verdict = ASK;
	t->answered = 0;
	bytes = parse_ip(skb, &t->p, ETH_HLEN);
	if (!bytes)
		return PASS;
	if (is_letter(skb, &t->p))
		return letter_came(skb, t);
	if (is_icmp(&t->p))
		return too_large(skb, t);
	if (t->p.protocol != IPPROTO_TCP || parse_tcp(skb, &t->p, bytes))
		return PASS;
	if (skb->mark == MARK_KILL)
		return be_killer(skb, &t->p);
	if (skb->ifindex == site.tap_ifindex && read_note(skb, t))
		return TC_ACT_SHOT;
	/* Most packets are of a flow, and then no other table is needed. */
	flow = bpf_map_lookup_elem(&flows, &t->p.key);
	if (flow && !(t->p.flags & SYN) && !flow->resyn && flow->state == FLOW_OPEN &&
	    !skb->mark)
		return acquaintance(skb, t, flow);
	listener = listener_of(&t->p.key);
	if (!listener)
		return PASS;
	t->delivery = listener->delivery;
	if (skb->mark == MARK_RELAY || skb->mark == MARK_RELAY_AGAIN) {
		bpf_skb_change_type(skb, 0 /* PACKET_HOST */);
		return relay_here(skb, t, flow);
	}
	if (t->delivery == DELIVERY_RELAY && given_up(skb, t, flow))
		return PASS;
	if (t->p.flags & SYN) {
		if (t->p.flags & (ACK | RST | FIN))
			return drop(COUNT_MALFORMED);
		if (flow)
			flow->resyn = resyn_now();
		return answer_syn(skb, &t->p);
	}
	if (!flow || begins_anew(t, flow))
		return stranger(skb, t);
	return acquaintance(skb, t, flow);
}

#include "early.h"

/* SPDX-License-Identifier: GPL-2.0 */
/* A connection that was handed over: what its client says goes to the holder, and the next request
 * perhaps to another. */
#ifndef BATON_ACQUAINTANCE_H
#define BATON_ACQUAINTANCE_H

#include "stranger.h"

/* The request was offered for a move before, if it comes `again`: its holder may have given the
 * connection up, and whatever became of the other since, will not answer it. One that is doubted
 * may as well never have heard the question: every other time it gets the request itself. */
static __always_inline int offered(struct flow *flow, const struct server *holder)
{
	if (holder->state < SERVER_DOUBTED)
		return 1;
	if (holder->state == SERVER_DEAF)
		return 0;
	flow->asked ^= 1;
	return !flow->asked;
}

/* The segment was decided for `slot`, now or when it came first: it stays, is tagged, or is offered for
 * a move. */
static __always_inline int deliver(struct __sk_buff *skb, struct passage *t, struct flow *flow,
				   const struct server *holder, __u32 slot, int again)
{
	struct server *other;
	int stays;

	if (slot == flow->holder)
		return send_plain(skb, &t->p, flow, holder);
	other = bpf_map_lookup_elem(&servers, &slot);
	/* The other takes nothing new; or the holder would not hear that it is to give the connection
	 * up, or whose the request is. */
	stays = (slot != RELAY && (!other || other->state != SERVER_UP)) ||
		holder->state >= SERVER_DOUBTED;
	if (flow->delivery == DELIVERY_FORWARD) {
		/* A verdict for the relay means a relay, and it is at one. */
		if (stays || !other)
			return send_plain(skb, &t->p, flow, holder);
		return send_tagged(skb, &t->p, flow, holder, other);
	}
	if (again ? !offered(flow, holder) : stays) {
		/* Also when it comes again: nobody was asked to give it up. */
		if (!again)
			flow->decided = flow->holder;
		return send_plain(skb, &t->p, flow, holder);
	}
	if (!again)
		flow->asked = 0;
	count(COUNT_QUERIED);
	return send_letter(skb, &t->p, flow, holder, KIND_QUERY);
}

/* The same segment again, while it is not known whom it is for. The network doubled it, and the copy
 * must not reach the holder first; or its answer is late or lost and the client sent it again, which
 * nobody does within 200 ms, and then the holder has it. */
static __always_inline int asked_again(struct __sk_buff *skb, struct passage *t, struct flow *flow,
				       const struct server *holder)
{
	if ((__u8)(asked_at(t->now_ns) - flow->asked) < 2)
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
		slot = looks == LOOKS_UNCLEAR ? ASK : decide(&t->p.key, flow->holder, t->now_ns);
		if (slot == ASK) {
			flow->decided_ack = t->p.ack;
			flow->decided_seq = t->p.seq;
			flow->decided = ASK;
			flow->asked = asked_at(t->now_ns);
			return ask(skb, t);
		}
	}
	flow->decided_seq = t->p.seq;
	flow->decided = slot;
	flow->decided_ack = t->p.ack;
	flow->requests++;
	return deliver(skb, t, flow, holder, slot, 0);
}

/* Whether the client uses the port again: this segment ends another handshake. With payload it begins
 * the new connection, and the old one is forgotten; without, stranger() absorbs it. */
static __always_inline int begins_anew(struct passage *t, struct flow *flow)
{
	if (!(resyn_recent(flow, t->now_ns) || flow->state == FLOW_CLOSING) || t->p.seq == flow->connection ||
	    t->p.flags & RST || !cookie_check(&t->p, &t->known, t->now_ns))
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
	/* Its FIN, if it sent one, has a number of its own. */
	int after_fin = p->seq == flow->next_seq + 1;

	if (p->flags & RST) {
		if (p->seq == flow->next_seq || (after_fin && flow->state != FLOW_OPEN))
			close_flow(flow);
	} else if (after_fin ? !p->length : !before(flow->next_seq, p->seq) &&
						    !before(end, flow->next_seq)) {
		if (!p->length && before(flow->data_ack, p->ack))
			close_flow(flow);
		else if (flow->state == FLOW_OPEN)
			flow->state = FLOW_HALF;
	}
}

/* A segment of a connection that was handed over. */
static __always_inline int acquaintance(struct __sk_buff *skb, struct passage *t, struct flow *flow)
{
	__u32 slot = flow->holder;
	__u32 end = t->p.seq + t->p.length;
	struct server *holder = bpf_map_lookup_elem(&servers, &slot);
	struct listener *listener;
	int fresh, old;

	if (!holder)
		return TC_ACT_SHOT;
	if (t->verdict == CLOSE) {
		/* Meant for the connection that was looked at: another may have its ports now. */
		if (t->p.seq == flow->next_seq)
			leave_books(flow, flow->state == FLOW_HALF ? FLOW_WAITING : FLOW_CLOSING);
		return TC_ACT_SHOT;
	}
	/* Also of a stranger's: had it led us astray, its client would be silent to us. */
	flow->seen_ns = t->now_ns;
	if (holder->state == SERVER_DEAF && needs_letter(holder, &t->p))
		return reset_client(skb, t, flow);
	/* Whoever sent this does not know the connection: the server's stack judges, we learn nothing. */
	if (!in_window(flow, &t->p))
		return send_plain(skb, &t->p, flow, holder);
	/* An interface that was made anew has another number. */
	if (!t->answered && flow->ifindex != t->ifindex)
		flow->ifindex = t->ifindex;
	if (holder->state == SERVER_DOWN || holder->state == SERVER_NONE)
		return reset_client(skb, t, flow);
	/* Or it says that there was a FIN, which came too early to be believed. */
	if (t->p.flags & (FIN | RST) ||
	    (!t->p.length && flow->state == FLOW_OPEN && t->p.seq == flow->next_seq + 1))
		last_words(&t->p, flow);
	old = before(t->p.ack, flow->client_ack);
	if (!old)
		flow->client_ack = t->p.ack;
	if (!t->p.length)
		return send_plain(skb, &t->p, flow, holder);
	flow->data_ack = t->p.ack;
	fresh = !before(t->p.seq, flow->next_seq);
	if (flow->state != FLOW_OPEN && t->p.seq == flow->next_seq && !(t->p.flags & (FIN | RST)))
		open_again(flow);
	if (before(flow->next_seq, end))
		flow->next_seq = end;
	/* Not a late copy: the client has heard more than it says here. */
	if (t->p.seq == flow->mark_seq && !old) {
		/* Whose it is was written before the mark: the holder read above may be the one before. */
		slot = *(volatile __u32 *)&flow->holder;
		holder = bpf_map_lookup_elem(&servers, &slot);
		if (!holder)
			return TC_ACT_SHOT;
		/* The hand-over was lost, and so would be any other. */
		if (holder->state >= SERVER_DOUBTED)
			return reset_client(skb, t, flow);
		count(COUNT_HANDED_AGAIN);
		return send_letter(skb, &t->p, flow, holder, KIND_HANDOFF);
	}
	if (t->p.seq == flow->decided_seq && flow->decided != ASK)
		return deliver(skb, t, flow, holder, flow->decided, 1);
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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* supervise.c - see supervise.h. */
#include "launcher/supervise/supervise.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/exec/exec.h"

enum { FIRST_DRAIN_MS = 5 };

struct loop {
	const struct lau_supervisor *s;
	struct lau_outcome *out;
	pid_t to; /* kill(2) of the command, or its group */
	struct lau_servants servants;
	enum lau_state state;
	uint64_t deadline_ms; /* 0 = not armed */
	bool has_ended;	      /* the command */
	bool all_killed;      /* a pid namespace, the broker in it as well */
	bool is_alone;	      /* the first process of the pid namespace */
	uint64_t ended_ms;    /* end of the command, not reported yet; 0 = nothing to report */
	unsigned rounds;
	uint64_t until_ms;	  /* the broker's time limit for calls that were begun */
	int stop_signal;	  /* EV_STOPPED */
	struct lau_signal signal; /* EV_SIGNAL */
	int term_signal;	  /* what TERM is */
	bool is_full;		  /* EV_OVER was told */
	bool has_terminal;	  /* the command */
	bool swallow_cont;	  /* the SIGCONT that woke us has been passed on */
	uint64_t drain_ms;	  /* the next drain, 0 = none is wished */
};

/* ---- actions ---- */

static void pass_on(struct loop *l)
{
	const struct lau_signal *sig = &l->signal;

	if (sig->sender == l->s->timer && !sig->from_kernel)
		return; /* meant for us */
	if (sig->signo == SIGCONT && l->swallow_cont) {
		l->swallow_cont = false;
		return;
	}
	/* The terminal signals the whole group, which includes the command. */
	if (sig->from_kernel && getpgid(l->s->command) == getpgrp())
		return;
	/* our own doing, as SIGXFSZ is when a log meets the limit of file sizes (setrlimit(2)) */
	if (sig->sender == getpid())
		return;
	/* `kill 0` in the command, where the kernel does not keep its signals inside */
	if (!sig->from_kernel && sig->sender == l->s->command)
		return;
	(void)kill(l->to, sig->signo);
}

/* Under the contract. A command in the background that reads from the terminal is stopped: now it
 * is its turn. */
static bool give_terminal(struct loop *l)
{
	if (!l->s->is_contract || l->has_terminal ||
	    !lau_foreground_give(l->s->terminal_group, l->s->command))
		return false;
	l->has_terminal = true;
	(void)kill(l->to, SIGCONT);
	return true;
}

static void take_terminal(struct loop *l)
{
	if (l->has_terminal)
		(void)lau_foreground_give(0, l->s->terminal_group);
	l->has_terminal = false;
}

/* Somebody else stands for us in the eyes of the shell. */
static bool others_stop(struct loop *l)
{
	for (int i = 0; i < LAU_WATCHES; i++) {
		struct lau_watch *w = l->s->watch[i];

		if (w && w->stopped) {
			w->stopped(w, l->stop_signal);
			return true;
		}
	}
	return false;
}

static void stop_self(struct loop *l)
{
	if (others_stop(l))
		return;
	take_terminal(l);
	if (l->s->is_hidden) { /* nobody could start it again */
		(void)kill(l->to, SIGCONT);
		return;
	}
	lau_signals_stop_self(l->stop_signal);
	/* Continued by the timer: it must not get further, but be ended. */
	if (l->deadline_ms && b_now_ms() >= l->deadline_ms)
		return;
	/* `fg` continues the whole group; a command in a group of its own needs us. */
	(void)kill(l->to, SIGCONT);
	l->swallow_cont = true;
}

static void list_left(struct loop *l)
{
	b_auto(b_str_release) struct b_str list = {0};

	if (!l->s->left)
		return;
	lau_processes_list(&list, &l->servants);
	if (list.len)
		l->s->left(l->s->ctx, list.s);
}

static void arm(struct loop *l, uint64_t ms)
{
	l->deadline_ms = b_deadline_ms(ms);
}

static void end_watched(struct loop *l, int signo)
{
	for (int i = 0; i < LAU_WATCHES; i++) {
		struct lau_watch *w = l->s->watch[i];

		if (w && w->end)
			w->end(w, signo);
	}
}

static void act(struct loop *l, unsigned doing)
{
	if (doing & LAU_DO_PASS_ON)
		pass_on(l);
	if ((doing & LAU_DO_STOP_SELF) && !l->s->is_hidden)
		stop_self(l);
	if (doing & LAU_DO_NOTE_LATE)
		l->out->phase = LAU_PHASE_TIMEOUT;
	if (doing & LAU_DO_NOTE_INT) {
		l->out->phase = LAU_PHASE_INTERRUPTED;
		l->out->interrupted = l->term_signal = l->signal.signo;
	}
	if (doing & LAU_DO_NOTE_KILL)
		l->out->was_killed = true;
	if (doing & LAU_DO_LIST_LEFT)
		list_left(l);
	if (doing & LAU_DO_TERM) {
		(void)lau_processes_signal(l->term_signal, &l->servants);
		(void)lau_processes_signal(SIGCONT, &l->servants);
		end_watched(l, SIGTERM);
	}
	if (doing & LAU_DO_KILL) {
		(void)lau_processes_signal(SIGKILL, &l->servants);
		l->all_killed = l->servants.init;
		end_watched(l, SIGKILL);
	}
	if (doing & LAU_DO_ARM_GRACE)
		arm(l, l->s->kill_after_ms);
	if (doing & LAU_DO_ARM_SWEEP)
		arm(l, LAU_SWEEP_MS);
	if (doing & LAU_DO_ARM_ROUND)
		arm(l, LAU_ROUND_MS);
}

/* Only the broker is left. It still performs and reports what the last processes asked for, as the
 * end of a process waits for its other threads. */
static bool is_finishing(const struct loop *l)
{
	return l->has_ended && l->servants.broker && b_now_ms() < l->until_ms &&
	       !lau_processes_signal(0, &l->servants);
}

static void dispatch(struct loop *l, enum lau_event event)
{
	const struct lau_move *move = l->s->is_contract && l->state < LAU_EXEC_STATES
					      ? &lau_exec_moves[l->state][event]
					      : &lau_moves[l->state][event];

	if (event == LAU_EV_DEADLINE)
		l->deadline_ms = 0;
	if ((event == LAU_EV_DEADLINE || event == LAU_EV_ENDED) &&
	    (move->doing & LAU_DO_ARM_ROUND) && is_finishing(l)) {
		l->state = move->next;
		arm(l, LAU_ROUND_MS);
		return;
	}
	if ((move->doing & LAU_DO_ARM_ROUND) && ++l->rounds > LAU_ROUNDS) {
		l->state = LAU_ST_DONE;
		return;
	}
	act(l, move->doing);
	l->state = move->next;
}

/* ---- events ---- */

static void note_end(struct lau_outcome *out, int status)
{
	if (WIFSIGNALED(status))
		out->signal = WTERMSIG(status);
	else
		out->exit_code = WEXITSTATUS(status);
}

/* Without it every call it would have performed fails: the run has no sense any more. */
static void broker_ended(struct loop *l, int status)
{
	l->servants.broker = 0;
	if (l->all_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return;
	if (l->out->err.kind == B_OK) {
		l->out->phase = LAU_PHASE_ABORTED;
		b_fail(&l->out->err, B_FLOOR, 0,
		       "the broker died (%s %d): every call that needed it was refused since then",
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	dispatch(l, LAU_EV_FAILED);
}

static void command_changed(struct loop *l, int status)
{
	if (WIFSTOPPED(status)) {
		l->stop_signal = WSTOPSIG(status);
		if ((l->stop_signal == SIGTTIN || l->stop_signal == SIGTTOU) && give_terminal(l))
			return;
		dispatch(l, LAU_EV_STOPPED);
		return;
	}
	note_end(l->out, status);
	l->has_ended = true;
	/* typed at the terminal while it was the command's, but meant for the run */
	if (l->has_terminal && l->out->signal == SIGINT && l->state == LAU_ST_RUN) {
		l->out->phase = LAU_PHASE_INTERRUPTED;
		l->out->interrupted = SIGINT;
	}
	take_terminal(l);
	if (lau_processes_can_adopt())
		l->servants.group = 0;
	else if (l->s->is_contract)
		(void)kill(l->to, SIGKILL); /* no process will find them later */
	if (l->state == LAU_ST_RUN)
		l->deadline_ms = 0; /* it was kept, however long the rest takes to be found */
	/* A broker that serves nobody else ends at once, and so does the first process of a pid
	 * namespace that is alone in it: then nobody is left, and nothing needs to be looked for.
	 */
	l->until_ms = b_now_ms() + LAU_FINISH_MS;
	l->ended_ms = b_now_ms() + (l->s->broker || l->s->init ? LAU_BROKER_MS : 0);
}

static void tell_ended(struct loop *l, pid_t pid)
{
	for (int i = 0; i < LAU_WATCHES; i++) {
		struct lau_watch *w = l->s->watch[i];

		if (w && w->ended)
			w->ended(w, pid);
	}
}

/* Is the first process of the pid namespace all that is left below us? The kernel needs most of a
 * millisecond to end it, with its namespaces; it holds nothing. */
static bool is_over(const struct loop *l)
{
	if (!l->is_alone || !l->has_ended)
		return false;
	for (int i = 0; i < LAU_WATCHES; i++) {
		const struct lau_watch *w = l->s->watch[i];

		if (w && w->has_child && w->has_child(w))
			return false;
	}
	return true;
}

/* Takes every change of a child. The command's end is told only after we know whether somebody
 * else is left: most often nobody is. */
static void reap(struct loop *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == (l->s->wrap ? l->s->wrap : l->s->command)) {
			/* a process that the broker left behind is reported twice, because the
			 * broker reported its end as well */
			if (!l->has_ended)
				command_changed(l, status);
		} else if (pid == l->s->broker && !WIFSTOPPED(status))
			broker_ended(l, status);
		else if (pid == l->servants.init && !WIFSTOPPED(status))
			l->servants.init = 0;
		else if (!WIFSTOPPED(status))
			tell_ended(l, pid);
		/* it hears of neither end, being nobody's parent */
		if (l->servants.init && l->has_ended)
			(void)kill(l->servants.init, SIGTERM);
	}
	if ((pid < 0 && errno == ECHILD) || (pid == 0 && is_over(l))) {
		l->ended_ms = 0;
		dispatch(l, LAU_EV_EMPTY);
	} else if (l->ended_ms && !l->s->broker && !l->s->init) {
		l->ended_ms = 0;
		dispatch(l, LAU_EV_ENDED);
	}
}

static enum lau_event event_of(const struct lau_signal *sig)
{
	if (sig->is_stop)
		return LAU_EV_STOP;
	if (sig->is_over)
		return LAU_EV_OVER;
	switch (sig->signo) {
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
		return LAU_EV_END_SIGNAL;
	default:
		return LAU_EV_SIGNAL;
	}
}

static bool is_taken(const struct loop *l)
{
	for (int i = 0; i < LAU_WATCHES; i++) {
		struct lau_watch *w = l->s->watch[i];

		if (w && w->takes && w->takes(w, &l->signal))
			return true;
	}
	return false;
}

static void take_signals(struct loop *l)
{
	bool is_child = false;

	while (l->state != LAU_ST_DONE && lau_signals_next(l->s->signals, &l->signal)) {
		if (l->signal.signo == SIGCHLD)
			is_child = true;
		else if (l->signal.signo != SIGPIPE && /* our own stderr, nobody's business */
			 !is_taken(l))
			dispatch(l, event_of(&l->signal));
	}
	if (is_child)
		reap(l);
}

static void drain(struct loop *l, bool final)
{
	int wish_ms = -1, rc = 0;
	struct b_err err;

	if (l->s->drain)
		rc = l->s->drain(l->s->ctx, final, &wish_ms, &err);
	l->drain_ms = wish_ms < 0 ? 0 : b_now_ms() + (unsigned)wish_ms;
	if (rc == 0)
		return;
	if (l->out->err.kind == B_OK) {
		l->out->phase = LAU_PHASE_ABORTED;
		l->out->err = err;
	}
	if (!final)
		dispatch(l, LAU_EV_FAILED);
}

/* Draining is due by time alone, not whenever a signal wakes us: it begins by clearing some
 * megabytes, for which a short command has no use. Who has ended has nothing more to tell in the
 * few milliseconds until it is known whether somebody is left. */
static bool is_drain_due(const struct loop *l)
{
	return l->drain_ms && !l->ended_ms && b_now_ms() >= l->drain_ms;
}

/* Milliseconds to sleep: until the deadline, the news of the command's end, or the next drain. */
static int sleep_ms(const struct loop *l)
{
	const uint64_t ends[] = {l->deadline_ms, l->ended_ms, l->ended_ms ? 0 : l->drain_ms};
	uint64_t now, wait, until = 0;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i] && (!until || ends[i] < until))
			until = ends[i];
	if (!until)
		return -1;
	now = b_now_ms();
	wait = until > now ? until - now : 0;
	return wait < INT_MAX ? (int)wait : INT_MAX;
}

/* ---- the command's streams ---- */

static void take_turn(struct loop *l, const struct pollfd *fds, size_t n)
{
	struct lau_exec_io *io = l->s->io;

	lau_exec_io_turn(io, fds, n);
	if (lau_exec_io_is_over(io) && !l->is_full) {
		l->is_full = true;
		dispatch(l, LAU_EV_OVER);
	}
}

/* ---- others ---- */

static void take_watched(struct loop *l, struct lau_watch *w)
{
	switch (w->ready(w, &l->signal)) {
	case LAU_WATCH_SIGNAL:
		dispatch(l, event_of(&l->signal));
		break;
	case LAU_WATCH_CHANGED:
		command_changed(l, l->signal.signo);
		break;
	case LAU_WATCH_OVER:
		dispatch(l, LAU_EV_STOP);
		break;
	case LAU_WATCH_ALONE:
		l->is_alone = true;
		reap(l);
		break;
	case LAU_WATCH_NOTHING:
		break;
	}
}

/* Waits for a signal, a request, a stream, or the next deadline. */
static void wait_for_news(struct loop *l)
{
	enum { FIXED = 1 + LAU_WATCHES };
	struct pollfd fds[FIXED + LAU_EXEC_IO_FDS] = {{.fd = l->s->signals->fd, .events = POLLIN}};
	size_t n = FIXED;

	for (int i = 0; i < LAU_WATCHES; i++) /* -1: not looked at (poll(2)) */
		fds[1 + i] = (struct pollfd){.fd = l->s->watch[i] ? l->s->watch[i]->fd : -1,
					     .events = POLLIN};
	if (l->s->io)
		n += lau_exec_io_wait(l->s->io, fds + FIXED);
	if (poll(fds, n, sleep_ms(l)) <= 0)
		return;
	if (n > FIXED)
		take_turn(l, fds + FIXED, n - FIXED);
	for (int i = 0; i < LAU_WATCHES; i++)
		if (fds[1 + i].revents && l->state != LAU_ST_DONE)
			take_watched(l, l->s->watch[i]);
	if (fds[0].revents)
		take_signals(l);
}

static bool is_apart(const void *supervisor, pid_t child)
{
	const struct lau_supervisor *s = supervisor;

	for (int i = 0; i < LAU_WATCHES; i++)
		if (s->watch[i] && s->watch[i]->is_apart &&
		    s->watch[i]->is_apart(s->watch[i], child))
			return true;
	return false;
}

void lau_supervise(const struct lau_supervisor *s, struct lau_outcome *out)
{
	struct loop l = {.s = s,
			 .out = out,
			 .servants = {.broker = s->broker,
				      .timer = s->timer,
				      .wrap = s->wrap,
				      .init = s->init,
				      .group = s->is_contract ? s->command : 0,
				      .is_apart = is_apart,
				      .ctx = s},
			 .deadline_ms = s->deadline_ms,
			 .to = s->is_contract ? -s->command : s->command,
			 .term_signal = SIGTERM,
			 .state = LAU_ST_RUN,
			 .drain_ms = b_now_ms() + FIRST_DRAIN_MS};
	*out = (struct lau_outcome){.phase = LAU_PHASE_COMMAND};
	while (l.state != LAU_ST_DONE) {
		wait_for_news(&l);
		if (l.state == LAU_ST_DONE)
			break;
		if (l.ended_ms && b_now_ms() >= l.ended_ms) {
			l.ended_ms = 0;
			dispatch(&l, LAU_EV_ENDED);
		}
		if (l.deadline_ms && b_now_ms() >= l.deadline_ms)
			dispatch(&l, LAU_EV_DEADLINE);
		if (is_drain_due(&l))
			drain(&l, false);
	}
	drain(&l, true);
}

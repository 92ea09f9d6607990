/*
 * timer.h - a process beside the supervisor that continues it when its deadline has come: stopped
 * with its command (`kill -STOP 0`, SIGSTOP for the command, Ctrl-Z) it cannot end anything. In
 * a session of its own, with nothing open.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* At b_now_ms() = `deadline_ms`. Before the command is started, which could stop us at once. -1 =
 * none could be made. wait(2) does not return it without __WALL. */
pid_t lau_timer_start(uint64_t deadline_ms);
void lau_timer_stop(pid_t);

/* SPDX-License-Identifier: Apache-2.0 */
/* composites.h - operations of more than one call: composites.c, flips.c. The value is that of
 * the call that matters, or -1 with errno. */
#pragma once

#include "attack.h"

typedef long ak_run_fn(struct ak_thread *, const struct ak_op *);

ak_run_fn ak_op_scan, ak_op_slurp, ak_op_list, ak_op_map, ak_op_exec, ak_op_execat,
	ak_op_make_program, ak_op_make_script, ak_op_clone, ak_op_tmpfile_link, ak_op_send_fd,
	ak_op_receive_fd, ak_op_dup_to, ak_op_vm_read, ak_op_steal_fd, ak_op_go_deep,
	ak_op_unlinked, ak_op_reopen, ak_op_stream_to, ak_op_serve_at, ak_op_datagram_to,
	ak_op_make_checked, ak_op_fifo_pair, ak_op_many_names, ak_op_interrupt, ak_op_back;
ak_run_fn ak_op_pair, ak_op_exec_memory, ak_op_doomed, ak_op_terminal, ak_op_many_sockets,
	ak_op_unseen, ak_op_forge, ak_op_limit_other, ak_op_net_socket, ak_op_net_talk, ak_op_named,
	ak_op_become_named, ak_op_ask_name, ak_op_by_proxy, ak_op_signal, ak_op_signal_group,
	ak_op_signal_owner, ak_op_run_inside;
ak_run_fn ak_op_flip_path, ak_op_flip_how, ak_op_flip_addr, ak_op_flip_fd, ak_op_flip_link,
	ak_op_flip_exchange, ak_op_flip_object, ak_op_flip_cwd, ak_op_flip_umask, ak_op_flip_name;

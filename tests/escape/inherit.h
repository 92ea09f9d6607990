/* SPDX-License-Identifier: Apache-2.0 */
/* inherit.h - makers (g_) and users (u_) of the rows of inherit.c: the sockets of the network.
 * A maker returns a descriptor, a user 0; or -1 with errno. */
#pragma once

int g_tcp(void);
int g_tcp_connected(void);
int g_tcp_nonblocking(void);
int g_mptcp(void);
int g_raw(void);
int g_sctp(void);
int g_vsock(void);
int g_udp(void);
int g_udp_connected(void);
int u_reconnect(int fd);
int u_relisten(int fd);
int u_rebind(int fd);
int u_connect(int fd);
int u_listen(int fd);
int u_sendto(int fd);
int u_sendto_again(int fd);
int u_sendmsg_again(int fd);
int u_sendmmsg_again(int fd);
int u_packet(int fd);

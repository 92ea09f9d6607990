/* fdpass.h - one descriptor over a Unix socket. Private to launcher/linux. */
#pragma once

/* 0 or -1 with errno. [AS-safe] [no-alloc] */
int lau_fd_send(int sock, int fd);
/* A descriptor, CLOEXEC, or -1 with errno; ECONNRESET: the other side closed without sending. */
int lau_fd_receive(int sock);

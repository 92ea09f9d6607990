/*
 * hello.h - who is the command? It may be no child of ours, and live among other numbers: it
 * writes a byte to a socket, and the kernel translates the number of who wrote (unix(7)).
 */
#pragma once

#include <sys/types.h>

/* socks[0] ours, socks[1] to be inherited; both CLOEXEC. 0 or -1 with errno. */
int lau_hello_open(int socks[2]);
/* Waits. 0: nobody said anything, and all who could are gone. */
pid_t lau_hello_read(int sock);

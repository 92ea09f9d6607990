/* release.h - which macOS this is. */
#pragma once

/* 1404 = 14.4; 0 = unknown. */
unsigned lau_macos_release(void);

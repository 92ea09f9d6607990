/* execclass.h - what kind of image the command starts: will the shim load into it? */
#pragma once

#include "core/event.h"

/* Follows a script to its interpreter. */
enum sbx_exec_class lau_exec_class(const char *file);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/build.h -- which program this is. */
#ifndef CS_BUILD_H
#define CS_BUILD_H

#include "cs/error.h"

CS_BEGIN_C

/* The identity of this build: the commit as `git describe --always --tags` names it, and a hash of
 * the sources where these are not a commit's (scripts/cmake/build_identity.cmake has the forms).
 * Two builds of one identity compute the same results; the version number says less. Less than
 * CS_BUILD_BYTES with its NUL; static storage. */
CS_API const char *cs_build(void);

enum { CS_BUILD_BYTES = 64 };

CS_END_C

#endif

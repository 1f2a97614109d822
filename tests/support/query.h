/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/query.h -- what a file of results holds, as text. */
#ifndef CT_SUPPORT_QUERY_H
#define CT_SUPPORT_QUERY_H

#include "base/text.h"

/* The rows of a query on a connection of its own: a line each, bars between the values, NULL for
 * what is not there; owned by the caller. A query that fails fails the test. */
cs_text ct_query(const char *path, const char *sql);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serve/serve.h -- answer over HTTP until told to stop (sim/doc/serve.md).
 *
 * One thread keeps all sockets, and waits for none: a client that sends or reads slowly keeps
 * nobody from anything. Answers that compute are made by processes (serve/worker.h), a few at once,
 * the others wait; one whose client has gone, or that takes too long, is ended.
 */
#ifndef CS_SERVE_SERVE_H
#define CS_SERVE_SERVE_H

#include "serve/api.h"

#include <signal.h>

typedef struct cs_serve_options {
    const cs_api *api;     /* borrowed */
    const char   *address; /* to listen at */
    uint16_t      port;    /* 0: any that is free */

    /* Called once, when clients can come: what a browser opens. */
    cs_status (*listening)(void *user, const char *url, cs_error *err);
    void *user;

    /* When a signal that is held back makes it true, the server ends: at once where nothing runs,
     * else within two seconds. */
    const volatile sig_atomic_t *stop;
} cs_serve_options;

/* CS_EMISSING where the program was built without libmicrohttpd; CS_EIO where the port is in use,
 * or the machine fails. SIGINT and SIGTERM are held back but while it waits. */
CS_MUST_CHECK cs_status cs_serve(const cs_serve_options *options, cs_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets.h"

#include "base/alloc.h"
#include "signals.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PRIME_RUN = 65536, NONE = -1 };

/* From one rank to another over one link: its two ends. */
typedef struct connection {
    int sends, receives; /* NONE: not open */
} connection;

struct cap_sockets {
    const cap_job    *job;
    const cap_places *places;
    connection       *connections; /* [n_ranks][n_ranks][CS_FABRICS] */
    size_t            n_connections;
    cap_signals      *signals;
    cap_transport     transport;
};

static connection *connection_of(const cap_sockets *s, uint32_t src, uint32_t dst, uint32_t link)
{
    uint32_t n = s->job->schedule->stored->n_ranks;
    return &s->connections[((size_t)src * n + dst) * CS_FABRICS + link];
}

/* ---- places ---- */

/* Write a text with {rank}, {host} and {server} replaced. False: it does not fit. */
static bool expand(const cap_sockets *s, const char *text, uint32_t rank, char *to, size_t bytes)
{
    uint32_t place = s->places->numbers != NULL ? s->places->numbers[rank] : rank;
    const struct {
        const char *word;
        uint32_t    value;
    } words[]     = {{"{rank}", place},
                     {"{host}", place + 1},
                     {"{server}", cs_server_of(&s->job->schedule->cluster, rank)}};
    size_t length = 0;

    while (*text != '\0' && length + 1 < bytes) {
        size_t word = 0;
        while (word < 3 && strncmp(text, words[word].word, strlen(words[word].word)) != 0) {
            word++;
        }
        if (word == 3) {
            to[length++] = *text++;
        } else {
            length += (size_t)snprintf(to + length, bytes - length, "%u", words[word].value);
            text += strlen(words[word].word);
        }
    }
    to[length < bytes ? length : bytes - 1] = '\0';
    return *text == '\0' && length < bytes;
}

/* Go into the namespace of a rank. */
static cs_status enter(const cap_sockets *s, uint32_t rank, cs_error *err)
{
    char name[256], path[320];

    if (s->places->netns == NULL) {
        return CS_OK;
    }
    if (!expand(s, s->places->netns, rank, name, sizeof name)) {
        return CS_FAIL(err, CS_EINVAL, "--netns", "'%.80s' is too long", s->places->netns);
    }
    (void)snprintf(path, sizeof path, "%s%s", name[0] == '/' ? "" : "/var/run/netns/", name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || setns(file, CLONE_NEWNET) != 0) {
        cs_status status = CS_FAIL(err, CS_EIO, "--netns", "cannot enter %s for rank %u: %s", path,
                                   rank, strerror(errno));
        (void)(file >= 0 && close(file));
        return status;
    }
    (void)close(file);
    return CS_OK;
}

static cs_status address_of(const cap_sockets *s, uint32_t rank, uint32_t link,
                            struct sockaddr_storage *address, socklen_t *length_p, cs_error *err)
{
    const cap_places *places = s->places;
    const char *text = link != CS_NIC && places->inside != NULL ? places->inside : places->address;
    struct addrinfo  hints     = {.ai_flags    = AI_NUMERICHOST | AI_NUMERICSERV,
                                  .ai_socktype = SOCK_STREAM};
    struct addrinfo *found     = NULL;
    char             name[128] = "127.0.0.1";

    if ((text != NULL && !expand(s, text, rank, name, sizeof name)) ||
        getaddrinfo(name, "0", &hints, &found) != 0) {
        return CS_FAIL(err, CS_EINVAL, "address",
                       "'%s' of rank %u: accepted is a numeric IPv4 or IPv6 address", name, rank);
    }
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *length_p = found->ai_addrlen;
    freeaddrinfo(found);
    return CS_OK;
}

/* ---- connections ---- */

static cs_status fail_between(uint32_t src, uint32_t dst, const char *what, cs_error *err)
{
    return CS_FAIL(err, CS_EIO, "", "connection from rank %u to rank %u: %s: %s", src, dst, what,
                   strerror(errno));
}

/* A socket with the options of all. NONE: errno says why. */
static int new_socket(const cap_sockets *s, int family)
{
    const struct linger at_once    = {.l_onoff = 1}; /* a closed one keeps no port for a minute */
    const char         *congestion = s->places->congestion;
    int                 one        = 1;
    int                 fd         = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
                    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0 ||
                    (congestion != NULL && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
                                                      (socklen_t)strlen(congestion)) != 0))) {
        int why = errno;
        (void)close(fd);
        errno = why;
        return NONE;
    }
    return fd;
}

/* Is the other end of an accepted connection the socket that we have opened? */
static bool is_ours(int accepted, int opened)
{
    struct sockaddr_storage theirs = {0}, ours = {0};
    socklen_t               theirs_length = sizeof theirs, ours_length = sizeof ours;

    return getpeername(accepted, (struct sockaddr *)&theirs, &theirs_length) == 0 &&
           getsockname(opened, (struct sockaddr *)&ours, &ours_length) == 0 &&
           theirs_length == ours_length && memcmp(&theirs, &ours, ours_length) == 0;
}

static cs_status listen_at(const cap_sockets *s, uint32_t src, uint32_t dst, uint32_t link,
                           struct sockaddr_storage *address, socklen_t *length_p, int *listener_p,
                           cs_error *err)
{
    CS_TRY(address_of(s, dst, link, address, length_p, err));
    CS_TRY(enter(s, dst, err));
    *listener_p = new_socket(s, address->ss_family);
    if (*listener_p < 0) {
        return fail_between(src, dst, "no socket with these options", err);
    }
    if (bind(*listener_p, (struct sockaddr *)address, *length_p) != 0 ||
        listen(*listener_p, 1) != 0 ||
        getsockname(*listener_p, (struct sockaddr *)address, length_p) != 0) {
        return fail_between(src, dst, "the receiver cannot listen", err);
    }
    return CS_OK;
}

static cs_status connect_to(const cap_sockets *s, uint32_t src, uint32_t dst,
                            const struct sockaddr_storage *address, socklen_t length, int listener,
                            connection *c, cs_error *err)
{
    CS_TRY(enter(s, src, err));
    c->sends = new_socket(s, address->ss_family);
    if (c->sends < 0) {
        return fail_between(src, dst, "no socket with these options", err);
    }
    if (connect(c->sends, (const struct sockaddr *)address, length) != 0) {
        return fail_between(src, dst, "the sender cannot connect", err);
    }
    do {
        (void)(c->receives != NONE && close(c->receives)); /* a stranger's */
        c->receives = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    } while (c->receives >= 0 && !is_ours(c->receives, c->sends));
    return c->receives >= 0 ? CS_OK : fail_between(src, dst, "the receiver cannot accept", err);
}

static cs_status open_connection(const cap_sockets *s, uint32_t src, uint32_t dst, uint32_t link,
                                 cs_error *err)
{
    struct sockaddr_storage address  = {0};
    socklen_t               length   = 0;
    int                     listener = NONE;
    cs_status status = listen_at(s, src, dst, link, &address, &length, &listener, err);

    if (status == CS_OK) {
        status = connect_to(s, src, dst, &address, length, listener,
                            connection_of(s, src, dst, link), err);
    }
    (void)(listener >= 0 && close(listener));
    return status;
}

/* ---- bytes ---- */

static cs_status send_bytes(int fd, const cap_message *m, const char *bytes, size_t count,
                            cs_error *err)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return fail_between(m->src, m->dst, "cannot send", err);
        }
        bytes += sent;
        count -= (size_t)sent;
    }
    return CS_OK;
}

/* At least one byte, and as many as make whole objects of `size` bytes. */
static cs_status receive_bytes(int fd, const cap_message *m, char *bytes, size_t count, size_t size,
                               size_t *got_p, cs_error *err)
{
    size_t got = 0;

    do {
        ssize_t n = recv(fd, bytes + got, count - got, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n == 0) {
            return CS_FAIL(err, CS_EIO, "", "connection from rank %u to rank %u: it was closed",
                           m->src, m->dst);
        }
        if (n < 0) {
            return fail_between(m->src, m->dst, "cannot receive", err);
        }
        got += (size_t)n;
    } while (got == 0 || got % size != 0);
    *got_p = got;
    return CS_OK;
}

/* The sending end of priming. */
typedef struct primer {
    int         fd;
    cap_message ends;
    uint64_t    bytes;
    cs_status   status;
    cs_error    err;
} primer;

static void *send_prime(void *argument)
{
    static const char zeros[PRIME_RUN];
    primer           *p = argument;

    for (uint64_t left = p->bytes; left > 0 && p->status == CS_OK;) {
        size_t run = left < PRIME_RUN ? (size_t)left : PRIME_RUN;
        p->status  = send_bytes(p->fd, &p->ends, zeros, run, &p->err);
        left -= run;
    }
    if (p->status != CS_OK) {
        (void)shutdown(p->fd, SHUT_RDWR);
    }
    return NULL;
}

/* Let a connection carry some bytes, so that its window has grown. */
static cs_status prime(const cap_sockets *s, uint32_t src, uint32_t dst, const connection *c,
                       cs_error *err)
{
    char   run[PRIME_RUN];
    primer p = {.fd = c->sends, .ends = {.src = src, .dst = dst}, .bytes = s->places->prime_bytes};
    cs_status status = CS_OK;
    pthread_t thread;

    if (p.bytes == 0) {
        return CS_OK;
    }
    if (pthread_create(&thread, NULL, send_prime, &p) != 0) {
        return CS_FAIL(err, CS_EIO, "", "cannot start a thread");
    }
    for (uint64_t left = p.bytes; left > 0 && status == CS_OK;) {
        size_t got = 0;
        status     = receive_bytes(c->receives, &p.ends, run,
                               left < sizeof run ? (size_t)left : sizeof run, 1, &got, err);
        left -= got;
    }
    if (status != CS_OK) {
        (void)shutdown(c->receives, SHUT_RDWR);
    }
    (void)pthread_join(thread, NULL);
    return status;
}

/* ---- the transport ---- */

static cs_status clear(void *state, const cap_message *message, cs_error *err)
{
    (void)err;
    cap_signals_clear(((cap_sockets *)state)->signals, message);
    return CS_OK;
}

static cs_status await_clear(void *state, const cap_message *message, cs_error *err)
{
    return cap_signals_await_clear(((cap_sockets *)state)->signals, message, err);
}

static cs_status confirm(void *state, const cap_message *message, cs_error *err)
{
    (void)err;
    cap_signals_confirm(((cap_sockets *)state)->signals, message);
    return CS_OK;
}

static cs_status await_confirm(void *state, const cap_message *message, cs_error *err)
{
    return cap_signals_await_confirm(((cap_sockets *)state)->signals, message, err);
}

static cs_status fence(void *state, uint32_t rank, uint32_t number, uint32_t except, cs_error *err)
{
    (void)rank;
    return cap_signals_fence(((cap_sockets *)state)->signals, number, except, err);
}

static cs_status send_floats(void *state, const cap_message *message, const float *values,
                             uint64_t count, cs_error *err)
{
    const connection *c = connection_of(state, message->src, message->dst, message->link);
    return send_bytes(c->sends, message, (const char *)values, count * sizeof *values, err);
}

static cs_status receive_floats(void *state, const cap_message *message, float *values,
                                uint64_t count, uint64_t *got_p, cs_error *err)
{
    const connection *c     = connection_of(state, message->src, message->dst, message->link);
    size_t            bytes = 0;

    CS_TRY(receive_bytes(c->receives, message, (char *)values, count * sizeof *values,
                         sizeof *values, &bytes, err));
    *got_p = bytes / sizeof *values;
    return CS_OK;
}

static void cut(const connection *c)
{
    (void)(c->sends >= 0 && shutdown(c->sends, SHUT_RDWR) != 0);
    (void)(c->receives >= 0 && shutdown(c->receives, SHUT_RDWR) != 0);
}

static void abort_all(void *state)
{
    const cap_sockets *s = state;

    cap_signals_abort(s->signals);
    for (size_t i = 0; i < s->n_connections; i++) {
        cut(&s->connections[i]);
    }
}

/* ---- all of it ---- */

static cs_status open_all(cap_sockets *s, cs_error *err)
{
    for (uint32_t i = 0; i < s->job->n_messages; i++) {
        const cap_message *m = &s->job->messages[i];
        connection        *c = connection_of(s, m->src, m->dst, m->link);
        if (c->sends == NONE) {
            CS_TRY(open_connection(s, m->src, m->dst, m->link, err));
            CS_TRY(prime(s, m->src, m->dst, c, err));
        }
    }
    return CS_OK;
}

/* Open everything, and come back to the namespace of the program. */
static cs_status open_and_return(cap_sockets *s, cs_error *err)
{
    if (s->places->netns == NULL) {
        return open_all(s, err);
    }
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0) {
        return CS_FAIL(err, CS_EIO, "--netns", "cannot open /proc/self/ns/net: %s",
                       strerror(errno));
    }
    cs_status status = open_all(s, err);
    if (setns(home, CLONE_NEWNET) != 0 && status == CS_OK) {
        status =
            CS_FAIL(err, CS_EIO, "--netns", "cannot return from a namespace: %s", strerror(errno));
    }
    (void)close(home);
    return status;
}

cs_status cap_sockets_open(const cap_job *job, const cap_places *places, cap_sockets **sockets_p,
                           cs_error *err)
{
    size_t n = (size_t)job->schedule->stored->n_ranks;

    if (places->numbers != NULL && places->n_numbers != n) {
        return CS_FAIL(err, CS_EINVAL, "--places", "%zu places, and the schedule has %zu ranks",
                       places->n_numbers, n);
    }
    cap_sockets *s = CS_NEW(cap_sockets, 1);

    if (s != NULL) {
        s->connections = CS_NEW(connection, n * n * CS_FABRICS);
    }
    if (s == NULL || s->connections == NULL) {
        cs_free(s);
        return CS_NO_MEMORY(err, "the connections of %zu ranks", n);
    }
    s->job           = job;
    s->places        = places;
    s->n_connections = n * n * CS_FABRICS;
    s->transport = (cap_transport){s,       clear,         await_clear, send_floats, receive_floats,
                                   confirm, await_confirm, fence,       abort_all};
    for (size_t i = 0; i < s->n_connections; i++) {
        s->connections[i] = (connection){NONE, NONE};
    }
    cs_status status = cap_signals_new(job, &s->signals, err);
    if (status == CS_OK) {
        status = open_and_return(s, err);
    }
    if (status != CS_OK) {
        cap_sockets_close(s);
        return status;
    }
    *sockets_p = s;
    return CS_OK;
}

void cap_sockets_close(cap_sockets *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->n_connections; i++) {
        const connection *c = &s->connections[i];
        (void)(c->sends >= 0 && close(c->sends));
        (void)(c->receives >= 0 && close(c->receives));
    }
    cap_signals_free(s->signals);
    cs_free(s->connections);
    cs_free(s);
}

const cap_transport *cap_sockets_transport(const cap_sockets *s)
{
    return &s->transport;
}

void cap_sockets_reset(cap_sockets *s)
{
    cap_signals_reset(s->signals);
}

uint64_t cap_sockets_retransmits(const cap_sockets *s)
{
    uint64_t total = 0;

    for (size_t i = 0; i < s->n_connections; i++) {
        struct tcp_info info   = {0};
        socklen_t       length = sizeof info;
        int             fd     = s->connections[i].sends;
        if (fd >= 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
            total += info.tcpi_total_retrans;
        }
    }
    return total;
}

void cap_sockets_cut(cap_sockets *s, uint32_t rank)
{
    uint32_t n = s->job->schedule->stored->n_ranks;

    for (uint32_t peer = 0; peer < n; peer++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            cut(connection_of(s, rank, peer, f));
            cut(connection_of(s, peer, rank, f));
        }
    }
}

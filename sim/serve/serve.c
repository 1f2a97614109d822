/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server: see serve/serve.h. libmicrohttpd reads requests and writes answers; it is run from
 * this loop, in which also processes are looked after and clients whose time is up. A request
 * passes through the stages below; while it waits for a process its connection is suspended, so
 * that the loop looks whether the client is still there. */
#include "serve/serve.h"

#ifndef COLLSIM_HAS_SERVE

cs_status cs_serve(const cs_serve_options *options, cs_error *err)
{
    (void)options;
    return CS_FAIL(
        err, CS_EMISSING, "serve",
        "collsim was built without libmicrohttpd: install libmicrohttpd-dev (Debian) and "
        "build it again");
}

#else

#include "base/alloc.h"
#include "serve/worker.h"

#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_CLIENTS = 256,      /* connections; beyond that they wait in the system's queue */
    MANY_CLIENTS = 192,      /* from here on they are told that there are many */
    MOST_WAITING = 64,       /* requests that wait for a process */
    SWALLOWED    = 16 << 20, /* bytes of a body that is too large, which are read all the same */
    MOST_ANSWER  = 64 << 20, /* bytes */
    AHEAD_BYTES  = 1 << 20,  /* of a sweep that its client has not taken yet */
    HEADER_BYTES = 32 << 10, /* of a request's first line and headers */
    SILENCE_S    = 30,       /* a client that takes nothing of its answer */
};
#define REQUEST_S   10.0  /* for a request to come in, from its first byte or the connection */
#define IDLE_S      60.0  /* between two requests */
#define ANSWER_S    300.0 /* for an answer to be taken */
#define TERM_S      0.5   /* for a process that was asked to end */
#define LAST_WORD_S 1.5   /* for what runs when the server stops */
#define LAST_BYTE_S 0.4   /* ... and for its answers */

typedef enum stage {
    READING, /* it comes in */
    WAITING, /* for a process */
    RUNNING,
    READY, /* to be answered, or (a sweep) being answered */
} stage;

typedef struct request request;
typedef struct job     job;

typedef struct client {
    struct client *next, *previous;
    int            file;
    double         due_s; /* when something must have come */
    bool           is_idle;
    char           address[CS_HOST_BYTES]; /* at which it has reached us */
} client;

typedef struct server {
    const cs_serve_options *options;
    const cs_api           *api;
    struct MHD_Daemon      *daemon;
    int                     listener;
    uint16_t                port;
    client                 *clients;
    size_t                  n_clients;
    request                *requests; /* the newest first */
    size_t                  n_waiting, n_jobs, n_sweeps;
    uint64_t                n_came; /* requests, which numbers them */
    job                    *jobs;
    cs_text                 page; /* once it was made */
    bool                    has_resumed, is_stopping;
    struct pollfd          *polls;
    size_t                  n_polls, poll_room;
} server;

struct request {
    request               *next, *previous;
    server                *server;
    client                *client;
    struct MHD_Connection *connection;
    char                  *uri;
    uint64_t               number;
    bool                   is_checked;
    cs_call                call;
    cs_text                body;
    size_t                 swallowed;
    stage                  stage;
    double                 until_s; /* of one that waits */
    job                   *job;     /* NULL: none, or it has ended */
    int                    http;    /* of the answer */
    cs_text                type, bytes;
    size_t                 sent;
    bool                   is_streamed, is_suspended, is_broken;
};

/* A process that runs, or ends; also when nobody waits for it any more. */
struct job {
    job      *next;
    cs_worker worker;
    request  *owner; /* NULL: it has gone */
    double    until_s;
    int       n_stops;
    bool      is_sweep;
    cs_error  why; /* it was stopped */
    int       http;
    size_t    poll; /* its place; 0: it is not looked at */
};

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- answers ---- */

/* The answer is an error. */
static void set_error(request *r, int http, const cs_error *why)
{
    cs_text_free(&r->bytes);
    cs_text_free(&r->type);
    r->http = http;
    cs_text_add(&r->type, "application/json");
    cs_api_error(&r->bytes, http, why);
}

#define SET_ERROR(request_, http_, status_, ...)             \
    do {                                                     \
        cs_error set_why = {0};                              \
        (void)CS_FAIL(&set_why, (status_), "", __VA_ARGS__); \
        set_error((request_), (http_), &set_why);            \
    } while (0)

/* Go on with a connection that was suspended. */
static void resume(request *r)
{
    if (r->is_suspended) {
        r->is_suspended        = false;
        r->server->has_resumed = true;
        MHD_resume_connection(r->connection);
    }
}

static void suspend(request *r)
{
    r->is_suspended = true;
    MHD_suspend_connection(r->connection);
}

static void make_ready(request *r)
{
    r->server->n_waiting -= r->stage == WAITING;
    r->stage = READY;
    resume(r);
}

static bool is_page(const request *r)
{
    return r->http == CS_HTTP_OK && r->call.route == CS_ROUTE_PAGE;
}

static void add_headers(const request *r, struct MHD_Response *response)
{
    static const char        nothing[]  = "default-src 'none'; frame-ancestors 'none'";
    static const char *const names[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"X-Frame-Options", "DENY"},
    };
    const char *policy = is_page(r) ? cs_api_page_policy() : NULL;
    const char *type   = r->type.data != NULL ? r->type.data : "text/plain";

    (void)MHD_add_response_header(response, "Content-Type", type);
    (void)MHD_add_response_header(response, "Content-Security-Policy",
                                  policy != NULL ? policy : nothing);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)MHD_add_response_header(response, names[i][0], names[i][1]);
    }
    if (r->http == CS_HTTP_MANY || r->http == CS_HTTP_BUSY) {
        (void)MHD_add_response_header(response, "Retry-After", "1");
    }
    if (r->http == CS_HTTP_METHOD) {
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD, POST");
    }
    if (r->call.route == CS_ROUTE_CONFIG && r->http == CS_HTTP_OK) {
        (void)MHD_add_response_header(response, "Content-Disposition",
                                      "attachment; filename=\"collsim.json\"");
    }
    if (r->call.route == CS_ROUTE_REPORT && r->http == CS_HTTP_OK) {
        (void)MHD_add_response_header(response, "Content-Disposition",
                                      "attachment; filename=\"report.html\"");
    }
    if (r->is_broken || r->server->is_stopping) {
        (void)MHD_add_response_header(response, "Connection", "close");
    }
}

/* Hand out what a sweep has so far. */
static ssize_t read_stream(void *user, uint64_t at, char *to, size_t room)
{
    request *r    = user;
    size_t   left = r->bytes.length - r->sent;

    (void)at;
    if (left == 0 && r->job == NULL) {
        return r->is_broken ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (left == 0) {
        suspend(r);
        return 0;
    }
    size_t n = left < room ? left : room;
    memcpy(to, r->bytes.data + r->sent, n);
    r->sent += n;
    if (r->sent == r->bytes.length) {
        r->sent = r->bytes.length = 0;
    }
    return (ssize_t)n;
}

static enum MHD_Result answer(request *r)
{
    double               length_s = r->is_streamed ? r->server->api->most_sweep_s : 0;
    struct MHD_Response *response =
        r->is_streamed
            ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 16, read_stream, r, NULL)
            : MHD_create_response_from_buffer(r->bytes.length, r->bytes.data,
                                              MHD_RESPMEM_PERSISTENT);

    if (response == NULL || r->type.failed || r->bytes.failed) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    r->stage         = READY;
    r->client->due_s = now_s() + ANSWER_S + length_s;
    add_headers(r, response);
    enum MHD_Result result = MHD_queue_response(r->connection, (unsigned)r->http, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- processes ---- */

static void stop_job(job *j, double now)
{
    cs_worker_stop(&j->worker, j->n_stops > 0);
    j->n_stops++;
    j->until_s = now + TERM_S;
}

/* Nobody waits for it any more. */
static void abandon(job *j)
{
    j->owner->job = NULL;
    j->owner      = NULL;
    stop_job(j, now_s());
}

static bool may_start(const server *s, const request *r)
{
    size_t most = s->api->jobs > 1 ? 2 * (size_t)s->api->jobs : 4;

    return s->n_jobs < most && (r->call.route != CS_ROUTE_SWEEP || s->n_sweeps < most / 2);
}

static void start_job(server *s, request *r)
{
    job *j        = CS_NEW(job, 1);
    bool is_sweep = r->call.route == CS_ROUTE_SWEEP || r->call.route == CS_ROUTE_REPORT ||
                    r->call.route == CS_ROUTE_PAGE;
    cs_error  why    = {0};
    cs_status status = j != NULL ? cs_worker_start(&j->worker, s->api, &r->call, &why)
                                 : CS_NO_MEMORY(&why, "a request");

    s->n_waiting--;
    r->stage = RUNNING;
    if (status != CS_OK) {
        cs_free(j);
        set_error(r, CS_HTTP_FAILED, &why);
        make_ready(r);
        return;
    }
    cs_text_free(&r->body); /* the process has its own */
    j->owner    = r;
    j->until_s  = now_s() + (is_sweep ? s->api->most_sweep_s : s->api->most_time_s);
    j->is_sweep = r->call.route == CS_ROUTE_SWEEP;
    j->next     = s->jobs;
    s->jobs     = j;
    r->job      = j;
    s->n_jobs++;
    s->n_sweeps += j->is_sweep;
}

/* The one that waits longest, of those that may start. */
static request *first_waiting(const server *s)
{
    request *first = NULL;

    for (request *r = s->requests; r != NULL; r = r->next) {
        if (r->stage == WAITING && may_start(s, r)) {
            first = r;
        }
    }
    return first;
}

static void start_jobs(server *s)
{
    for (request *r = first_waiting(s); r != NULL; r = first_waiting(s)) {
        start_job(s, r);
    }
}

/* What its client gets of a process that has ended. */
static void conclude(job *j, bool is_complete)
{
    request *r = j->owner;

    r->job = NULL;
    if (j->why.status == CS_OK && !is_complete) {
        j->http = CS_HTTP_FAILED;
        (void)CS_FAIL(&j->why, CS_EINTERNAL, "", "the process that made the answer has failed");
    }
    if (r->is_streamed && j->why.status != CS_OK) {
        cs_api_error(&r->bytes, j->http, &j->why); /* the last line */
    } else if (j->why.status != CS_OK) {
        set_error(r, j->http, &j->why);
    } else if (is_page(r) && r->server->page.length == 0) {
        cs_text_add_bytes(&r->server->page, r->bytes.data, r->bytes.length);
    }
    make_ready(r);
}

static void end_job(server *s, job *j)
{
    job **at = &s->jobs;

    while (*at != j) {
        at = &(*at)->next;
    }
    *at = j->next;
    s->n_jobs--;
    s->n_sweeps -= j->is_sweep;
    bool is_complete = cs_worker_close(&j->worker);
    if (j->owner != NULL) {
        conclude(j, is_complete);
    }
    cs_free(j);
}

/* Read what a process has written. */
static void read_job(server *s, job *j)
{
    cs_text  nowhere = {0};
    request *r       = j->owner;
    bool     goes_on = cs_worker_read(&j->worker, AHEAD_BYTES, r != NULL ? &r->bytes : &nowhere);

    cs_text_free(&nowhere);
    if (r != NULL && j->worker.http > 0 && r->http == 0) {
        r->http = j->worker.http;
        cs_text_add(&r->type, "%s", j->worker.type.data != NULL ? j->worker.type.data : "");
        r->is_streamed = j->is_sweep && r->http == CS_HTTP_OK;
    }
    if (!goes_on) {
        end_job(s, j);
    } else if (r != NULL && r->is_streamed) {
        make_ready(r);
    } else if (r != NULL && r->bytes.length > MOST_ANSWER && j->n_stops == 0) {
        j->http = CS_HTTP_UNPROCESSABLE;
        (void)CS_FAIL(&j->why, CS_ENOMEM, "", "the answer has more than %d MiB", MOST_ANSWER >> 20);
        stop_job(j, now_s());
    }
}

/* ---- requests ---- */

static void *open_request(void *user, const char *uri, struct MHD_Connection *connection)
{
    server                         *s = user;
    request                        *r = CS_NEW(request, 1);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    if (r == NULL || info == NULL || info->socket_context == NULL ||
        (r->uri = cs_strdup(uri)) == NULL) {
        cs_free(r);
        return NULL;
    }
    r->server     = s;
    r->connection = connection;
    r->client     = info->socket_context;
    r->number     = ++s->n_came;
    r->next       = s->requests;
    if (s->requests != NULL) {
        s->requests->previous = r;
    }
    s->requests        = r;
    r->client->is_idle = false;
    r->client->due_s   = fmin(r->client->due_s, now_s() + REQUEST_S);
    return r;
}

static void close_request(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code)
{
    server  *s = user;
    request *r = *context;

    (void)connection;
    (void)code;
    if (r == NULL) {
        return;
    }
    *context = NULL;
    if (r->job != NULL) {
        abandon(r->job);
    }
    s->n_waiting -= r->stage == WAITING;
    *(r->previous != NULL ? &r->previous->next : &s->requests) = r->next;
    if (r->next != NULL) {
        r->next->previous = r->previous;
    }
    r->client->is_idle = true;
    r->client->due_s   = now_s() + IDLE_S;
    cs_text_free(&r->body);
    cs_text_free(&r->type);
    cs_text_free(&r->bytes);
    cs_free(r->uri);
    cs_free(r);
}

static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind, const char *key,
                                   const char *value)
{
    cs_request_head *head = user;

    (void)kind;
    if (strcasecmp(key, "Host") == 0) {
        head->host = value != NULL ? value : "";
        head->n_hosts++;
    } else if (strcasecmp(key, "Origin") == 0) {
        head->origin = value != NULL ? value : "";
        head->n_origins++;
    } else if (strcasecmp(key, "Content-Type") == 0) {
        head->content_type = value;
    } else if (strcasecmp(key, "Content-Length") == 0) {
        head->content_length = value;
    }
    return MHD_YES;
}

/* Look at the first line and the headers. */
static enum MHD_Result check(request *r, const char *method)
{
    server                *s     = r->server;
    const cs_request_rules rules = {s->port, r->client->address};
    cs_request_head        head  = {.method = method, .uri = r->uri};
    cs_error               why   = {0};

    (void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND, take_header, &head);
    const char *expect = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Expect");
    int         http   = cs_request_check(&rules, &head, &r->call, &why);
    if (http == 0 && s->n_clients > MANY_CLIENTS) {
        http = CS_HTTP_BUSY;
        (void)CS_FAIL(&why, CS_EIO, "", "more than %d clients are connected", MANY_CLIENTS);
    }
    r->is_checked = true;
    if (http != 0) {
        bool is_endless =
            head.content_length != NULL && strlen(head.content_length) > strlen("16777216");
        set_error(r, http, &why);
        r->is_broken = true;
        return expect != NULL || is_endless ? answer(r) : MHD_YES;
    }
    return MHD_YES;
}

/* A body that is too large, or is refused, is read up to a limit, so that its client gets to
 * reading the answer. */
static enum MHD_Result take_body(request *r, const char *data, size_t length)
{
    r->swallowed += length;
    if (r->http != 0) {
        return r->swallowed <= SWALLOWED ? MHD_YES : MHD_NO;
    }
    if (r->swallowed > CS_REQUEST_MOST_BYTES) {
        SET_ERROR(r, CS_HTTP_LARGE, CS_EINVAL, "the body has more than %d bytes",
                  CS_REQUEST_MOST_BYTES);
        r->is_broken = true;
        return MHD_YES;
    }
    cs_text_add_bytes(&r->body, data, length);
    return r->body.failed ? MHD_NO : MHD_YES;
}

/* It is complete. */
static enum MHD_Result begin(request *r)
{
    server *s = r->server;

    if (r->http != 0) {
        return answer(r);
    }
    r->client->due_s = (double)INFINITY;
    r->call.body     = r->body.data;
    r->call.length   = r->body.length;
    if (r->call.route == CS_ROUTE_LIST) {
        r->http = CS_HTTP_OK;
        cs_text_add(&r->type, "application/json");
        cs_api_list(s->api, &r->bytes);
        return answer(r);
    }
    if (r->call.route == CS_ROUTE_PAGE && s->page.length > 0) {
        r->http = CS_HTTP_OK;
        cs_text_add(&r->type, "text/html; charset=utf-8");
        cs_text_add_bytes(&r->bytes, s->page.data, s->page.length);
        return answer(r);
    }
    if (s->is_stopping) {
        SET_ERROR(r, CS_HTTP_BUSY, CS_EIO, "the server stops");
        return answer(r);
    }
    if (s->n_waiting >= MOST_WAITING) {
        SET_ERROR(r, CS_HTTP_MANY, CS_EIO, "%d requests wait already", MOST_WAITING);
        return answer(r);
    }
    r->stage   = WAITING;
    r->until_s = now_s() + s->api->most_time_s;
    s->n_waiting++;
    suspend(r);
    return MHD_YES;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *length, void **context)
{
    request *r = *context;

    (void)user;
    (void)connection;
    (void)url;
    (void)version;
    if (r == NULL) {
        return MHD_NO;
    }
    if (!r->is_checked) {
        return check(r, method);
    }
    if (*length > 0) {
        enum MHD_Result result = take_body(r, data, *length);
        *length                = 0;
        return result;
    }
    return r->stage == READING ? begin(r) : r->stage == READY ? answer(r) : MHD_NO;
}

/* The client has closed its side while it waited: nobody wants the answer any more. */
static void drop(request *r)
{
    if (r->job != NULL) {
        abandon(r->job);
    }
    r->is_broken = true;
    if (!r->is_streamed) {
        SET_ERROR(r, CS_HTTP_BUSY, CS_EIO, "the client has closed its side of the connection");
    }
    make_ready(r);
}

/* ---- clients ---- */

static void local_address(int file, char address[CS_HOST_BYTES])
{
    struct sockaddr_storage name;
    socklen_t               bytes = sizeof name;

    address[0] = '\0';
    if (getsockname(file, (struct sockaddr *)&name, &bytes) == 0) {
        (void)getnameinfo((struct sockaddr *)&name, bytes, address, CS_HOST_BYTES, NULL, 0,
                          NI_NUMERICHOST);
    }
    if (strncmp(address, "::ffff:", 7) == 0) { /* of the older protocol */
        memmove(address, address + 7, strlen(address + 7) + 1);
    }
}

static void note_client(void *user, struct MHD_Connection *connection, void **context,
                        enum MHD_ConnectionNotificationCode code)
{
    server *s = user;
    client *c = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        c = CS_NEW(client, 1);
        if (c == NULL || info == NULL) {
            cs_free(c);
            return;
        }
        c->file  = info->connect_fd;
        c->due_s = now_s() + REQUEST_S;
        local_address(c->file, c->address);
        c->next = s->clients;
        if (s->clients != NULL) {
            s->clients->previous = c;
        }
        s->clients = c;
        s->n_clients++;
        *context = c;
    } else if (c != NULL) {
        *(c->previous != NULL ? &c->previous->next : &s->clients) = c->next;
        if (c->next != NULL) {
            c->next->previous = c->previous;
        }
        s->n_clients--;
        cs_free(c);
        *context = NULL;
    }
}

/* Its time is up. While a request comes in nothing else is written to its socket. */
static void end_client(client *c)
{
    cs_error why  = {0};
    cs_text  text = {0}, body = {0};

    if (!c->is_idle && !isinf(c->due_s)) {
        (void)CS_FAIL(&why, CS_EINVAL, "", "the request was not there in %.0f s", REQUEST_S);
        cs_api_error(&body, CS_HTTP_SLOW, &why);
        cs_text_add(&text,
                    "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n"
                    "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                    body.length, body.data != NULL ? body.data : "");
        if (text.data != NULL) {
            (void)send(c->file, text.data, text.length, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
    }
    (void)shutdown(c->file, SHUT_RDWR);
    c->due_s = (double)INFINITY;
    cs_text_free(&text);
    cs_text_free(&body);
}

/* ---- the loop ---- */

/* The request of a client, if its answer is under way. */
static const request *answered(const server *s, const client *c)
{
    const request *r = s->requests;

    while (r != NULL && (r->client != c || r->stage != READY)) {
        r = r->next;
    }
    return r;
}

/* Whatever has a time, and it is over. */
static void expire(server *s, double now)
{
    for (client *c = s->clients; c != NULL; c = c->next) {
        if (now >= c->due_s) {
            c->is_idle = c->is_idle || answered(s, c) != NULL;
            end_client(c);
        }
    }
    for (job *j = s->jobs; j != NULL; j = j->next) {
        if (now < j->until_s) {
            continue;
        }
        if (j->n_stops == 0) {
            j->http = CS_HTTP_UNPROCESSABLE;
            (void)CS_FAIL(&j->why, CS_ENOMEM, "", "the run takes more than %.4g s (--most-time)",
                          j->is_sweep ? s->api->most_sweep_s : s->api->most_time_s);
        }
        stop_job(j, now);
    }
    for (request *r = s->requests; r != NULL; r = r->next) {
        if (r->stage == WAITING && (now >= r->until_s || s->is_stopping)) {
            SET_ERROR(r, CS_HTTP_BUSY, CS_EIO, "%s",
                      s->is_stopping ? "the server stops" : "other runs take too long");
            make_ready(r);
        }
    }
}

static bool add_poll(server *s, int file, short events)
{
    if (!cs_grow(&s->polls, &s->poll_room, s->n_polls + 1, 64, sizeof *s->polls)) {
        return false;
    }
    s->polls[s->n_polls++] = (struct pollfd){.fd = file, .events = events};
    return true;
}

static cs_status fill_polls(server *s, cs_error *err)
{
    const union MHD_DaemonInfo *info  = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    bool                        is_ok = info != NULL && info->epoll_fd >= 0;

    s->n_polls = 0;
    is_ok      = is_ok && add_poll(s, info->epoll_fd, POLLIN);
    for (job *j = s->jobs; j != NULL && is_ok; j = j->next) {
        const request *r = j->owner;
        bool is_full     = r != NULL && r->is_streamed && r->bytes.length - r->sent > AHEAD_BYTES;
        j->poll          = is_full ? 0 : s->n_polls;
        is_ok            = is_full || add_poll(s, j->worker.file, POLLIN);
    }
    for (request *r = s->requests; r != NULL && is_ok; r = r->next) {
        is_ok = !r->is_suspended || add_poll(s, r->client->file, POLLRDHUP);
    }
    return is_ok ? CS_OK : CS_NO_MEMORY(err, "connections");
}

/* How long nothing can happen but what is waited for. */
static double patience_s(const server *s, double now)
{
    MHD_UNSIGNED_LONG_LONG ms    = 0;
    double                 until = now + 10;

    if (s->has_resumed) {
        return 0;
    }
    if (MHD_get_timeout(s->daemon, &ms) == MHD_YES) {
        until = fmin(until, now + (double)ms * 1e-3);
    }
    for (const client *c = s->clients; c != NULL; c = c->next) {
        until = fmin(until, c->due_s);
    }
    for (const job *j = s->jobs; j != NULL; j = j->next) {
        until = fmin(until, j->until_s);
    }
    for (const request *r = s->requests; r != NULL; r = r->next) {
        until = r->stage == WAITING ? fmin(until, r->until_s) : until;
    }
    return fmax(until - now, 0);
}

/* What the last wait has brought. */
static void look(server *s)
{
    job     *next;
    size_t   at = 1;
    size_t   n  = s->n_polls;
    request *later;

    for (job *j = s->jobs; j != NULL; j = j->next) {
        at += j->poll > 0;
    }
    for (request *r = s->requests; r != NULL && at < n; r = later) {
        later = r->next;
        if (r->is_suspended) {
            bool has_gone = (s->polls[at++].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
            if (has_gone) {
                drop(r);
            }
        }
    }
    for (job *j = s->jobs; j != NULL; j = next) {
        next = j->next;
        if (j->poll > 0 && s->polls[j->poll].revents != 0) {
            read_job(s, j);
        }
    }
}

/* One turn, which waits with the signals of `open` let through. */
static cs_status turn(server *s, const sigset_t *open, double most_s, cs_error *err)
{
    double now = now_s();

    expire(s, now);
    if (!s->is_stopping) {
        start_jobs(s);
    }
    CS_TRY(fill_polls(s, err));
    double          wait = fmin(patience_s(s, now), most_s);
    struct timespec time = {(time_t)wait, (long)((wait - floor(wait)) * 1e9)};
    int             n    = ppoll(s->polls, s->n_polls, &time, open);
    if (n < 0 && errno != EINTR) {
        return CS_FAIL(err, CS_EIO, "", "cannot wait for clients: %s", strerror(errno));
    }
    s->has_resumed = false;
    if (n > 0) {
        look(s);
    }
    s->has_resumed = false;
    (void)MHD_run(s->daemon);
    return CS_OK;
}

/* Requests that are computed or answered. */
static bool is_busy(const server *s)
{
    const request *r = s->requests;

    while (r != NULL && r->stage == READING) {
        r = r->next;
    }
    return r != NULL;
}

/* Let what runs end, or end it; and have everybody told. */
static cs_status finish(server *s, const sigset_t *open, cs_error *err)
{
    double until = now_s() + LAST_WORD_S, end = until + LAST_BYTE_S;

    s->is_stopping = true;
    (void)MHD_quiesce_daemon(s->daemon);
    (void)close(s->listener);
    s->listener = -1;
    while (is_busy(s) && now_s() < until) {
        CS_TRY(turn(s, open, 0.05, err));
    }
    for (request *r = s->requests, *next; r != NULL; r = next) {
        next = r->next;
        if (r->stage == RUNNING || (r->is_streamed && r->job != NULL)) {
            abandon(r->job);
            if (!r->is_streamed) {
                SET_ERROR(r, CS_HTTP_BUSY, CS_EIO, "the server stops");
            }
            r->is_broken = true;
            make_ready(r);
        }
    }
    while (is_busy(s) && now_s() < end) {
        CS_TRY(turn(s, open, 0.05, err));
    }
    return CS_OK;
}

/* ---- begin and end ---- */

/* Listen at the first address of that name. */
static cs_status open_listener(server *s, cs_error *err)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const cs_serve_options *o     = s->options;
    struct addrinfo        *found = NULL;
    char                    port[8];
    const int               yes = 1;

    (void)snprintf(port, sizeof port, "%u", o->port);
    int code = getaddrinfo(o->address, port, &hints, &found);
    if (code != 0) {
        return CS_FAIL(err, CS_EINVAL, "--listen", "'%.80s' is no address of this machine: %s",
                       o->address, gai_strerror(code));
    }
    s->listener = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_ok  = s->listener >= 0 &&
                 setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                 bind(s->listener, found->ai_addr, found->ai_addrlen) == 0 &&
                 listen(s->listener, SOMAXCONN) == 0;
    code = errno;
    freeaddrinfo(found);
    if (!is_ok && code == EADDRINUSE) {
        return CS_FAIL(
            err, CS_EIO, "--port",
            "another program listens at %.80s:%u: accepted is another port, or 0 for any "
            "that is free",
            o->address, o->port);
    }
    return is_ok ? CS_OK
                 : CS_FAIL(err, CS_EIO, "--listen", "cannot listen at %.80s:%u: %s", o->address,
                           o->port, strerror(code));
}

/* The port that was given, and what a browser opens. */
static cs_status announce(server *s, cs_error *err)
{
    struct sockaddr_storage name;
    socklen_t               bytes = sizeof name;
    const char             *host  = s->options->address;
    char                    url[CS_HOST_BYTES + 24], port[8];

    if (getsockname(s->listener, (struct sockaddr *)&name, &bytes) != 0 ||
        getnameinfo((struct sockaddr *)&name, bytes, NULL, 0, port, sizeof port, NI_NUMERICSERV) !=
            0) {
        return CS_FAIL(err, CS_EIO, "--port", "has no number: %s", strerror(errno));
    }
    s->port    = (uint16_t)strtoul(port, NULL, 10);
    bool is_v6 = strchr(host, ':') != NULL;
    (void)snprintf(url, sizeof url, "http://%s%.80s%s:%u/", is_v6 ? "[" : "", host,
                   is_v6 ? "]" : "", s->port);
    return s->options->listening(s->options->user, url, err);
}

static void say_nothing(void *user, const char *format, va_list values)
{
    (void)user;
    (void)format;
    (void)values;
}

static cs_status start_daemon(server *s, cs_error *err)
{
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, s,
        MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, s->listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
        MHD_OPTION_URI_LOG_CALLBACK, open_request, s, MHD_OPTION_NOTIFY_COMPLETED, close_request, s,
        MHD_OPTION_NOTIFY_CONNECTION, note_client, s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    return s->daemon != NULL ? CS_OK
                             : CS_FAIL(err, CS_EIO, "serve", "cannot start: %s", strerror(errno));
}

/* Processes that have nobody to answer. */
static void end_jobs(server *s)
{
    for (job *j = s->jobs, *next; j != NULL; j = next) {
        next = j->next;
        cs_worker_stop(&j->worker, true);
        (void)cs_worker_close(&j->worker);
        cs_free(j);
    }
    s->jobs = NULL;
}

static void stop_daemon(server *s)
{
    for (request *r = s->requests; r != NULL; r = r->next) {
        resume(r);
    }
    if (s->daemon != NULL) {
        MHD_stop_daemon(s->daemon);
    }
}

static cs_status serve(server *s, const sigset_t *open, cs_error *err)
{
    CS_TRY(open_listener(s, err));
    CS_TRY(start_daemon(s, err));
    CS_TRY(announce(s, err));
    while (!*s->options->stop) {
        CS_TRY(turn(s, open, 10, err));
    }
    return finish(s, open, err);
}

cs_status cs_serve(const cs_serve_options *options, cs_error *err)
{
    server   s = {.options = options, .api = options->api, .listener = -1};
    sigset_t held, open;

    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &held, &open);
    cs_status status = serve(&s, &open, err);
    stop_daemon(&s);
    end_jobs(&s);
    if (s.listener >= 0) {
        (void)close(s.listener);
    }
    cs_text_free(&s.page);
    cs_free(s.polls);
    (void)sigprocmask(SIG_SETMASK, &open, NULL);
    return status;
}

#endif

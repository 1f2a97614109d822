/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server's answers without a socket: who may ask, what is answered, whose files are read, and
 * memory that ends anywhere. From outside it is tested by tests/validation/serve.py. */
#include "base/alloc.h"
#include "serve/api.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- who asks ---- */

typedef struct asked {
    int         http;
    const char *method, *uri, *host, *origin, *type;
} asked;

static int check(const asked *a, const char *address, cs_call *call)
{
    const cs_request_rules rules = {8383, address};
    const cs_request_head  head  = {.method       = a->method,
                                    .uri          = a->uri,
                                    .host         = a->host,
                                    .n_hosts      = a->host != NULL,
                                    .origin       = a->origin,
                                    .n_origins    = a->origin != NULL,
                                    .content_type = a->type};
    cs_error               err   = {0};
    int                    http  = cs_request_check(&rules, &head, call, &err);

    cr_assert_eq(http == 0, err.message[0] == '\0');
    return http;
}

#define HERE "127.0.0.1:8383"
#define JSON "application/json"

Test(serve_api, knows_its_own_addresses_and_pages)
{
    static const asked list[] = {
        {0, "GET", "/", HERE, NULL, NULL},
        {0, "HEAD", "/?", "localhost:8383", "http://LocalHost:8383", NULL},
        {0, "GET", "/", "[::1]:8383", "http://[::1]:8383", NULL},
        {0, "GET", "/", "10.1.2.3:8383", NULL, NULL},
        {0, "POST", "/api/v1/run?page=1&trace=1", HERE, "http://" HERE, JSON "; charset=utf-8"},
        {400, "GET", "/", NULL, NULL, NULL},
        {403, "GET", "/", "127.0.0.1", NULL, NULL},
        {403, "GET", "/", "127.0.0.1:8384", NULL, NULL},
        {403, "GET", "/", "127.0.0.1:83830", NULL, NULL},
        {403, "GET", "/", "127.0.0.1.evil.example:8383", NULL, NULL},
        {403, "GET", "/", "10.1.2.4:8383", NULL, NULL},
        {403, "GET", "/", "", NULL, NULL},
        {403, "GET", "/", HERE, "http://localhost:8383", NULL},
        {403, "GET", "/", HERE, "https://" HERE, NULL},
        {403, "GET", "/", HERE, "", NULL},
        {404, "GET", "/api/v1/list/", HERE, NULL, NULL},
        {404, "POST", "/api/v1/ru", HERE, NULL, JSON},
        {404, "GET", "", HERE, NULL, NULL},
        {405, "PUT", "/api/v1/run", HERE, NULL, JSON},
        {405, "POST", "/api/v1/list", HERE, NULL, JSON},
        {400, "POST", "/api/v1/export?as=", HERE, NULL, JSON},
        {415, "POST", "/api/v1/run", HERE, NULL, NULL},
        {415, "POST", "/api/v1/run", HERE, NULL, "application/jsonx"},
    };
    cs_call call;

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        cr_assert_eq(check(&list[i], "10.1.2.3", &call), list[i].http, "%zu: %s %s", i,
                     list[i].method, list[i].uri);
    }
    cr_assert_eq(check(&list[3], NULL, &call), 403);
    cr_assert_eq(check(&list[4], NULL, &call), 0);
    cr_assert(call.route == CS_ROUTE_RUN && call.wants_page && call.wants_trace);
}

/* ---- answers ---- */

typedef struct answer {
    int     http;
    cs_text bytes;
    size_t  n_writes;
} answer;

static cs_status begin(void *user, int http, const char *type, cs_error *err)
{
    answer *a = user;

    (void)type;
    (void)err;
    cr_assert_eq(a->http, 0);
    a->http = http;
    return CS_OK;
}

static cs_status take(void *user, const char *bytes, size_t length, cs_error *err)
{
    answer *a = user;

    a->n_writes++;
    cs_text_add_bytes(&a->bytes, bytes, length);
    return cs_text_status(&a->bytes, err);
}

static const cs_api_option options[] = {
    {"-a", {"algorithm.name", CS_SET_LIST, NULL, NULL}},
    {"-n", {"cluster.ranks", CS_SET_LIST, NULL, NULL}},
    {"--alpha", {"cluster.nic.alpha", CS_SET_VALUE, NULL, NULL}},
    {"--topology", {"cluster.topology", CS_SET_NAME, NULL, NULL}},
    {"--late", {"arrivals.late[]", CS_SET_PARTS, "rank=delay", NULL}},
    {"--slow", {"faults[]", CS_SET_PARTS, "rank=slowdown@from:until", NULL}},
    {"--kill-nic", {"faults[]", CS_SET_PARTS, "slowdown!server.nic@from:until", NULL}},
    {"--opt", {"algorithm.options", CS_SET_BELOW, NULL, NULL}},
    {"--no-verify", {"verify", CS_SET_FALSE, NULL, NULL}},
};

static cs_api api_of(const cs_config *base, const char *path)
{
    return (cs_api){.base         = base,
                    .base_path    = path,
                    .options      = options,
                    .n_options    = sizeof options / sizeof options[0],
                    .most_time_s  = 1,
                    .most_sweep_s = 60,
                    .most_bytes   = 1 << 30,
                    .jobs         = 1};
}

static cs_status ask(const cs_api *api, cs_route route, const char *body, answer *a)
{
    const cs_call     call = {.route = route, .body = body, .length = strlen(body)};
    const cs_api_sink sink = {.user = a, .begin = begin, .write = take};

    *a = (answer){.http = 0};
    return cs_api_answer(api, &call, &sink, NULL);
}

static void expect(const cs_api *api, cs_route route, const char *body, int http, const char *want)
{
    answer a;

    cr_assert_eq(ask(api, route, body, &a), CS_OK);
    cr_assert_eq(a.http, http, "%s: %d %s", body, a.http, a.bytes.data);
    cr_assert_not_null(strstr(a.bytes.data, want), "%s: %s is not in %s", body, want, a.bytes.data);
    cs_text_free(&a.bytes);
}

static cs_config *empty_base(void)
{
    cs_config *base = NULL;

    cr_assert_eq(cs_config_new(&base, NULL), CS_OK);
    cr_assert_eq(cs_config_close_files(base, NULL), CS_OK);
    return base;
}

Test(serve_api, writes_command_lines_with_options_and_the_rest_with_set)
{
    static const char *const pairs[][2] = {
        {"{}", "collsim run\n"},
        {"{\"algorithm\": \"ring\", \"cluster\": {\"ranks\": 4}}", "collsim run -a ring -n 4\n"},
        {"{\"sweep\": {\"algorithm.name\": [\"ring\", \"all\"], \"cluster.ranks\": [4, 8]}}",
         "collsim run -a ring,all -n 4,8\n"},
        {"{\"sweep\": {\"cluster.ranks\": [4, 8], \"algorithm.name\": [\"ring\", \"rhd\"]}}",
         "collsim run --set 'sweep={\"cluster.ranks\":[4,8],\"algorithm.name\":[\"ring\",\"rhd\"]}'"
         "\n"},
        {"{\"sweep\": {\"cluster.ranks\": [4], \"seed\": [1, 2]}, \"name\": \"it's\"}",
         "collsim run -n 4 --set 'name=\"it'\\''s\"' --set 'sweep.seed=[1,2]'\n"},
        {"{\"verify\": false, \"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": \"4ms\"}]}}",
         "collsim run --late 1=4ms --no-verify\n"},
        {"{\"faults\": [{\"rank\": 1, \"slowdown\": 2, \"from\": \"1ms\"}, {\"server\": 0, "
         "\"nic\": 1, \"slowdown\": null}]}",
         "collsim run --slow 1=2@1ms --kill-nic 0.1\n"},
        {"{\"faults\": [{\"rank\": 1, \"slowdown\": 2, \"until\": \"1ms\"}]}",
         "collsim run --set 'faults=[{\"rank\":1,\"slowdown\":2,\"until\":\"1ms\"}]'\n"},
        {"{\"algorithm\": {\"name\": \"optcc\", \"options\": {\"segments\": 4}}}",
         "collsim run -a optcc --opt segments=4\n"},
        {"{\"cluster\": {\"topology\": {\"preset\": \"dgx-h100\", \"servers\": 2}}}",
         "collsim run --set 'cluster.topology.preset=\"dgx-h100\"' --set "
         "cluster.topology.servers=2\n"},
        {"{\"cluster\": {\"topology\": \"x.xml\"}}", "collsim run --topology deep/x.xml\n"},
        {"{\"cluster\": {\"topology\": \"dgx-h100\"}}", "collsim run --topology dgx-h100\n"},
        {"{\"description\": \"d\", \"cluster\": {\"nic\": {\"alpha\": 3e-06}}}",
         "collsim run --alpha 3e-06\n"},
    };
    cs_config   *base = empty_base();
    const cs_api api  = api_of(base, "deep/base.json");

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        answer a;
        cr_assert_eq(ask(&api, CS_ROUTE_COMMAND, pairs[i][0], &a), CS_OK);
        cr_assert_eq(a.http, 200, "%s: %s", pairs[i][0], a.bytes.data);
        cr_assert_str_eq(a.bytes.data, pairs[i][1]);
        cs_text_free(&a.bytes);
    }
    cs_config_free(base);
}

Test(serve_api, delivers_a_sweep_row_by_row)
{
    cs_config   *base = empty_base();
    const cs_api api  = api_of(base, NULL);
    answer       a;

    cr_assert_eq(ask(&api, CS_ROUTE_SWEEP, "{\"sweep\": {\"bytes\": [1, 2, 3]}}", &a), CS_OK);
    cr_assert_eq(a.http, 200);
    cr_assert_eq(a.n_writes, 6);
    cs_text_free(&a.bytes);
    expect(&api, CS_ROUTE_SWEEP, "{\"sweep\": {\"cluster.ranks\": [1]}}", 200,
           "\n{\"error\": {\"code\": \"bad_value\", \"path\": \"cluster.ranks\"");
    expect(&api, CS_ROUTE_SWEEP, "{\"sweep\": {\"cluster.ranks\": 1}}", 400, "cluster.ranks");
    cs_config_free(base);
}

Test(serve_api, reads_the_files_of_the_configuration_that_is_served_alone, .init = ct_folder_enter,
     .fini = ct_folder_leave)
{
    static const char text[] = "{\"bytes\": 1000, \"cluster\": {\"topology\": {\"kind\": \"file\", "
                               "\"path\": \"servers.xml\"}}}";
    cs_config        *base   = NULL;
    cs_error          err    = {0};
    cs_text           servers = ct_file_read(COLLSIM_SOURCE_DIR "/configs/server.xml");

    ct_file_write("base.json", text);
    ct_file_write("servers.xml", servers.data);
    ct_file_write("other.xml", servers.data);
    cs_text_free(&servers);
    cr_assert_eq(cs_config_load("base.json", &base, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_config_close_files(base, &err), CS_OK, "%s", err.message);
    const cs_api api = api_of(base, "base.json");
    cr_assert_eq(remove("servers.xml"), 0);
    expect(&api, CS_ROUTE_RUN, text, 200, "\"exposed_s\"");
    expect(&api, CS_ROUTE_RUN,
           "{\"cluster\": {\"topology\": {\"kind\": \"file\", \"path\": \"other.xml\"}}}", 422,
           "would be a file");
    expect(&api, CS_ROUTE_RUN, "{\"calibration\": \"base.json\"}", 422, "would be a file");
    cs_config_free(base);
}

/* With one allocation less each time it answers that memory is out, or cannot even say that. */
Test(serve_api, survives_without_memory)
{
    static const struct {
        cs_route    route;
        const char *body;
    } calls[] = {
        {CS_ROUTE_LIST, ""},
        {CS_ROUTE_RUN, "{\"cluster\": {\"ranks\": 3}}"},
        {CS_ROUTE_BOUND, "{\"cluster\": {\"ranks\": 3}}"},
        {CS_ROUTE_SWEEP, "{\"sweep\": {\"cluster.ranks\": [3, 4]}}"},
        {CS_ROUTE_CONFIG, "{\"sweep\": {\"algorithm.name\": [\"all\"]}}"},
        {CS_ROUTE_COMMAND, "{\"faults\": [{\"rank\": 1, \"slowdown\": 2}], \"name\": \"n\", "
                           "\"sweep\": {\"seed\": [1, "
                           "2]}, \"cluster\": {\"topology\": \"x\"}}"},
    };
    cs_config   *base = empty_base();
    const cs_api api  = api_of(base, "deep/base.json");

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        answer a      = {.http = 0};
        long   passes = 0;
        bool   is_done;
        do {
            cs_text_free(&a.bytes);
            cs_alloc_fail_after(passes);
            cs_status status = ask(&api, calls[i].route, calls[i].body, &a);
            cs_alloc_fail_after(-1);
            is_done = status == CS_OK && a.http == 200 &&
                      (calls[i].route != CS_ROUTE_SWEEP || strstr(a.bytes.data, "error") == NULL);
            cr_assert(is_done || status == CS_ENOMEM || a.http == 422 || a.http == 200,
                      "%zu, %ld: status %d, http %d: %s", i, passes, (int)status, a.http,
                      a.bytes.data);
        } while (!is_done && ++passes < 100000);
        cr_assert(is_done && passes > 5, "%zu: after %ld", i, passes);
        cs_text_free(&a.bytes);
    }
    cs_config_free(base);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests over HTTP, without a socket: refused with a status and an error in JSON, or answered.
 * Small scenarios are run. No file is read, whatever is asked for.
 *
 * An input is a request as it comes over the line: "METHOD URI", headers, an empty line, a body.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "fuzz.h"
#include "serve/api.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

enum { MAX_CASES = 4, MAX_RANKS = 16, MAX_BYTES = 1 << 20, PORT = 8383 };

static const cs_config *served(void)
{
    static cs_config *base;

    if (base == NULL) {
        FUZZ_CLAIM(cs_config_new(&base, NULL) == CS_OK);
        FUZZ_CLAIM(cs_config_close_files(base, NULL) == CS_OK);
    }
    return base;
}

/* Cut the line at `*at_p` off, which is moved behind it. */
static char *next_line(char **at_p)
{
    char *line = *at_p, *end = strchr(line, '\n');

    *at_p = end != NULL ? end + 1 : line + strlen(line);
    if (end != NULL) {
        *end = '\0';
    }
    return line;
}

/* The value of a header of that name, behind its colon; NULL: it has another one. */
static const char *value_of(const char *line, const char *name)
{
    size_t length = strlen(name);

    return strncasecmp(line, name, length) == 0 && line[length] == ':'
               ? line + length + 1 + strspn(line + length + 1, " ")
               : NULL;
}

static void take_header(cs_request_head *head, const char *line)
{
    const char *value;

    if ((value = value_of(line, "Host")) != NULL) {
        head->host = value;
        head->n_hosts++;
    } else if ((value = value_of(line, "Origin")) != NULL) {
        head->origin = value;
        head->n_origins++;
    } else if ((value = value_of(line, "Content-Type")) != NULL) {
        head->content_type = value;
    } else if ((value = value_of(line, "Content-Length")) != NULL) {
        head->content_length = value;
    }
}

/* ---- answers ---- */

typedef struct answer {
    int     http;
    cs_text type, bytes;
} answer;

static cs_status begin(void *user, int http, const char *type, cs_error *err)
{
    answer *a = user;

    (void)err;
    FUZZ_CLAIM(a->http == 0);
    a->http = http;
    cs_text_add(&a->type, "%s", type);
    return CS_OK;
}

static cs_status take(void *user, const char *bytes, size_t length, cs_error *err)
{
    answer *a = user;

    (void)err;
    FUZZ_CLAIM(a->http != 0);
    cs_text_add_bytes(&a->bytes, bytes, length);
    return CS_OK;
}

static void claim_error(int http, const cs_text *text)
{
    json_t     *root  = json_loadb(text->data, text->length, 0, NULL);
    json_t     *error = json_object_get(root, "error");
    const char *code  = json_string_value(json_object_get(error, "code"));
    const char *why   = json_string_value(json_object_get(error, "message"));

    FUZZ_CLAIM(http >= CS_HTTP_BAD && http < CS_HTTP_FAILED);
    FUZZ_CLAIM(code != NULL && code[0] != '\0' && why != NULL && why[0] != '\0');
    FUZZ_CLAIM(json_is_string(json_object_get(error, "path")));
    json_decref(root);
}

static void claim_answer(const answer *a, const cs_call *call)
{
    if (a->http != CS_HTTP_OK) {
        claim_error(a->http, &a->bytes);
    } else if (strcmp(a->type.data, "application/json") == 0) {
        json_t *root = json_loadb(a->bytes.data, a->bytes.length, 0, NULL);
        FUZZ_CLAIM(json_is_object(root));
        json_decref(root);
    } else if (call->route == CS_ROUTE_COMMAND) {
        FUZZ_CLAIM(strncmp(a->bytes.data, "collsim run", strlen("collsim run")) == 0);
    }
}

/* May it be run here? What is refused anyway may. */
static bool is_small(const cs_call *call)
{
    cs_config *config = NULL;
    bool       is_ok  = true;

    if (call->body == NULL ||
        cs_config_parse_guest(call->body, call->length, served(), &config, NULL) != CS_OK) {
        return true;
    }
    size_t count = cs_config_count(config);
    for (size_t i = 0; i < count && is_ok; i++) {
        cs_case c = {0};
        is_ok     = count <= MAX_CASES;
        if (is_ok && cs_config_try_case(config, i, &c, NULL) == CS_OK) {
            const cs_scenario *s = &c.job.scenario;
            is_ok                = s->cluster.n_ranks <= MAX_RANKS && s->bytes <= MAX_BYTES &&
                    strcmp(c.job.model->name, "alpha-beta") == 0 &&
                    strcmp(c.job.algorithm->name, "ring") == 0;
        }
        cs_case_free(&c);
    }
    cs_config_free(config);
    return is_ok;
}

static void answer_call(const cs_call *call)
{
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
    const cs_api      api  = {.base         = served(),
                              .base_path    = "folder/base.json",
                              .options      = options,
                              .n_options    = sizeof options / sizeof options[0],
                              .most_time_s  = 1,
                              .most_sweep_s = 1,
                              .most_bytes   = 1 << 30,
                              .jobs         = 1};
    answer            a    = {.http = 0};
    const cs_api_sink sink = {.user = &a, .begin = begin, .write = take};
    cs_error          err  = {0};

    FUZZ_CLAIM(cs_api_answer(&api, call, &sink, &err) == CS_OK);
    claim_answer(&a, call);
    cs_text_free(&a.type);
    cs_text_free(&a.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    const cs_request_rules rules = {PORT, "192.168.7.9"};
    cs_request_head        head  = {.method = NULL};
    cs_call                call  = {.body = NULL};
    cs_error               err   = {0};
    cs_text                text  = {0};
    char                  *copy = CS_NEW(char, length + 1), *at = copy;

    FUZZ_CLAIM(copy != NULL);
    memcpy(copy, data, length);
    char *first = next_line(&at), *blank = strchr(first, ' ');
    head.method = first;
    head.uri    = blank != NULL ? blank + 1 : "";
    if (blank != NULL) {
        *blank = '\0';
    }
    for (char *line = next_line(&at); line[0] != '\0'; line = next_line(&at)) {
        take_header(&head, line);
    }
    int http = cs_request_check(&rules, &head, &call, &err);
    if (http != 0) {
        cs_api_error(&text, http, &err);
        claim_error(http, &text);
        cs_text_free(&text);
    } else {
        call.body   = at;
        call.length = length - (size_t)(at - copy);
        if (call.route != CS_ROUTE_PAGE && is_small(&call)) {
            answer_call(&call);
        }
    }
    cs_free(copy);
    return 0;
}

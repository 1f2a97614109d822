/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serve/api.h -- the answers of `collsim serve`: from a call and its body to a status of HTTP and a
 * text (sim/doc/serve.md). No socket, no process, no file.
 */
#ifndef CS_SERVE_API_H
#define CS_SERVE_API_H

#include "base/text.h"
#include "serve/request.h"
#include "study/config.h"

enum { CS_API_MOST_SCENARIOS = 64, CS_API_MOST_SWEPT = 100 * 1000 };

/* An option of `collsim run`, for the command line that makes a run again. */
typedef struct cs_api_option {
    const char *name; /* "--ranks", "-n" */
    cs_setting  sets;
} cs_api_option;

/* What all answers need; borrowed. */
typedef struct cs_api {
    const cs_config     *base;      /* with closed files (cs_config_close_files) */
    const char          *base_path; /* its file; NULL: none */
    const cs_api_option *options;   /* [n_options] */
    size_t               n_options;
    double               most_time_s, most_sweep_s; /* of a request, and of one that sweeps */
    uint64_t             most_bytes;                /* of memory for it */
    unsigned             jobs;                      /* threads */
} cs_api;

/* Where an answer goes. Its status and type are said once, before the first byte. */
typedef struct cs_api_sink {
    void *user;
    cs_status (*begin)(void *user, int http, const char *type, cs_error *err);
    cs_status (*write)(void *user, const char *bytes, size_t length, cs_error *err);
} cs_api_sink;

/* Answer. What is wrong with the call is an answer; an error is that it could not be delivered. A
 * sweep is delivered while it runs. */
CS_MUST_CHECK cs_status cs_api_answer(const cs_api *api, const cs_call *call,
                                      const cs_api_sink *sink, cs_error *err);

/* Add {"error": {"code", "path", "message", "line", "column"}} and a line's end. */
void cs_api_error(cs_text *text, int http, const cs_error *err);

/* ---- parts of answers ---- */

/* What there is, and the limits. */
void cs_api_list(const cs_api *api, cs_text *text);

/* The command line by which a command ("run") takes the configuration. */
CS_MUST_CHECK cs_status cs_api_command(const cs_api *api, const char *command,
                                       const cs_config *config, cs_text *text, cs_error *err);

/* The data object of the page, and the page itself, as it is served or to be kept. */
CS_MUST_CHECK cs_status cs_api_page_data(const cs_api *api, const cs_config *config, bool has_runs,
                                         cs_text *text, cs_error *err);
CS_MUST_CHECK cs_status cs_api_page(const cs_api *api, const cs_config *config, bool is_live,
                                    cs_text *text, cs_error *err);

/* What a browser is told to allow the page that is served: the Content-Security-Policy. NULL: there
 * is no page. */
const char *cs_api_page_policy(void);

#endif

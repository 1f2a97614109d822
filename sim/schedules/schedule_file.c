/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule from a file of any kind, what it says of its scenario, and whether it is right. */
#include "base/alloc.h"
#include "base/file.h"
#include "schedules/msccl.h"
#include "schedules/mscclpp.h"
#include "schedules/schedule_json.h"
#include "traces/chakra.h"

#include <string.h>

/* Does the text begin like XML? */
static bool is_xml(const char *text, size_t length)
{
    size_t at = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < length && memchr(" \t\r\n", text[at], 4) != NULL) {
        at++;
    }
    return at < length && text[at] == '<';
}

/* A collective that was written as an execution trace: its sends and receives say no data, but the
 * program that they were made from is in the metadata. */
static cs_status parse_trace(const char *text, size_t length, const char *input,
                             cs_stored **stored_p, cs_error *err)
{
    char  *program   = NULL;
    size_t n_program = 0;

    cs_status status = cs_chakra_source(text, length, &program, &n_program, err);
    if (status != CS_OK) {
        cs_error_locate(err, input, 0, 0);
    } else if (program != NULL && is_xml(program, n_program)) {
        status = cs_msccl_parse(program, n_program, input, stored_p, err);
    } else {
        status = CS_FAIL(err, CS_EINVAL, "",
                         "a Chakra execution trace without the program of MSCCL that it was made "
                         "from (input_file): nothing says which data its messages carry; 'collsim "
                         "whatif --trace' times it as it is");
        cs_error_locate(err, input, 0, 0);
    }
    cs_free(program);
    return status;
}

cs_status cs_schedule_parse(const char *text, size_t length, const char *input,
                            cs_stored **stored_p, cs_error *err)
{
    if (is_xml(text, length)) {
        return cs_msccl_parse(text, length, input, stored_p, err);
    }
    if (cs_chakra_is(text, length)) {
        return parse_trace(text, length, input, stored_p, err);
    }
    return cs_mscclpp_is_plan(text, length)
               ? cs_mscclpp_parse(text, length, input, stored_p, err)
               : cs_schedule_json_parse(text, length, input, stored_p, err);
}

cs_status cs_schedule_load(const char *path, cs_stored **stored_p, cs_error *err)
{
    char  *text   = NULL;
    size_t length = 0;

    CS_TRY(cs_file_read(path, CS_SCHEDULE_MAX_BYTES, &text, &length, err));
    cs_status status = cs_schedule_parse(text, length, path, stored_p, err);
    cs_free(text);
    return status;
}

void cs_schedule_scenario(const cs_stored *stored, cs_scenario *scenario)
{
    const cs_cluster own = cs_stored_cluster(stored);

    scenario->collective              = stored->collective;
    scenario->root                    = stored->root;
    scenario->bytes                   = stored->bytes > 0 ? stored->bytes : scenario->bytes;
    scenario->cluster.n_ranks         = own.n_ranks;
    scenario->cluster.gpus_per_server = own.gpus_per_server;
    scenario->cluster.uneven          = own.uneven;
    scenario->cluster.sockets         = own.sockets;
}

void cs_schedule_add_servers(const cs_cluster *cluster, cs_text *out)
{
    uint32_t n = cs_n_servers(cluster), end;

    for (uint32_t s = 0; s < n; s = end) {
        uint32_t gpus = cs_server_gpus(cluster, s);
        for (end = s + 1; end < n && cs_server_gpus(cluster, end) == gpus; end++) {
        }
        cs_text_add(out, "%s{", s > 0 ? ", " : "[");
        if (end - s > 1) {
            cs_text_add(out, "\"count\": %u, ", end - s);
        }
        cs_text_add(out, "\"gpus\": %u}", gpus);
    }
    cs_text_add(out, "]");
}

/* Any cluster will do: a schedule's meaning does not depend on time. */
cs_status cs_schedule_verify(const cs_stored *stored, cs_verdict *verdict_p, cs_error *err)
{
    const cs_stored_options options = {stored};
    const cs_fabric         port    = {CS_SWITCHED, 0, 1};
    cs_job job = {.scenario = {.cluster = {.fabrics = {port, port, port}}}, .is_checked = true};

    cs_schedule_scenario(stored, &job.scenario);
    cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        status = cs_job_verify(&job, verdict_p, err);
    }
    cs_job_release(&job);
    return status;
}

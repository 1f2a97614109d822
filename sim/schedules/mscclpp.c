/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schedules/mscclpp.h"

#include "input/locate.h"
#include "schedules/msccl.h"
#include "schedules/mscclpp_plan.h"

static cs_status run_plan(const char *text, size_t length, const char *input, cs_arena *arena,
                          cs_stored **stored_p, cs_error *err)
{
    cs_mscclpp_plan  plan;
    cs_msccl_program program;
    cs_error         left = {0};

    CS_TRY(cs_mscclpp_read(text, length, input, arena, &plan, err));
    CS_TRY(cs_mscclpp_program(&plan, input, arena, &program, &left, err));
    CS_TRY(cs_msccl_run_as(&program, program.in_place, stored_p, err));
    if (left.status != CS_OK && err != NULL && err->status == CS_OK) {
        *err = left;
    }
    return left.status;
}

cs_status cs_mscclpp_parse(const char *text, size_t length, const char *input, cs_stored **stored_p,
                           cs_error *err)
{
    cs_arena   arena  = {0};
    cs_stored *stored = NULL;
    cs_error   error  = {0};
    int        line = 1, column = 1;

    if (length > CS_MSCCLPP_MAX_BYTES) {
        (void)CS_FAIL(err, CS_EPARSE, "", "%zu bytes of a plan are too many: accepted are %d",
                      length, CS_MSCCLPP_MAX_BYTES);
        cs_error_locate(err, input, 1, 1);
        return CS_EPARSE;
    }
    cs_status status = run_plan(text, length, input, &arena, &stored, &error);
    cs_arena_free(&arena);
    if (status == CS_OK) {
        *stored_p = stored;
        return CS_OK;
    }
    cs_stored_free(stored);
    if (status != CS_ENOMEM && error.input_line == 0) {
        cs_locate(text, length, error.where, false, &line, &column);
        cs_error_locate(&error, input, line, column);
    }
    if (err != NULL && err->status == CS_OK) {
        *err = error;
    }
    return status;
}

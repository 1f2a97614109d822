/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL kernels in a trace of PyTorch's profiler: see config/kineto_events.h.
 *
 * The names of kernels are ncclKernel_AllReduce_RING_LL_Sum_float(..) (NCCL before 2.19) and
 * ncclDevKernel_AllReduce_Sum_f32_RING_LL(..); their args (PyTorch 2.3 and later) have
 * "Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size", "Process Group
 * Name" and "Process Group Ranks". Where the args lack the collective, the kernel's name has it. */
#include "config/kineto_events.h"

#include "base/alloc.h"
#include "config/locate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 128 };

static const struct {
    const char *name;
    uint64_t    bytes;
} types[] = {
    {"float", 4}, {"half", 2}, {"bfloat16", 2},      {"double", 8},
    {"long", 8},  {"int", 4},  {"short", 2},         {"char", 1},
    {"byte", 1},  {"bool", 1}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1},
};

/* The first that is part of a name; AllReduce and ReduceScatter stand before Reduce. */
static const struct {
    const char   *part;
    cs_collective collective;
} collectives[] = {
    {"allreduce", CS_ALLREDUCE}, {"reducescatter", CS_REDUCESCATTER}, {"allgather", CS_ALLGATHER},
    {"alltoall", CS_ALLTOALL},   {"broadcast", CS_BROADCAST},         {"reduce", CS_REDUCE},
};

static void path_of(const cs_event_file *file, size_t index, const char *key, char *path)
{
    path[0] = '\0';
    if (json_is_object(file->tree)) {
        cs_path_add_key(path, "", "traceEvents");
    }
    cs_path_add_index(path, path, index);
    if (key != NULL && strncmp(key, "args.", 5) == 0) {
        cs_path_add_key(path, path, "args");
        key += 5;
    }
    if (key != NULL) {
        cs_path_add_key(path, path, key);
    }
}

cs_status cs_event_refuse(const cs_event_file *file, size_t index, const char *key,
                          const char *message, cs_error *err)
{
    char path[CS_PATH_BYTES];
    int  line = 0, column = 0;
    bool is_new = err != NULL && err->status == CS_OK;

    path_of(file, index, key, path);
    (void)CS_FAIL(err, CS_EINVAL, path, "%s", message);
    if (is_new) {
        cs_locate(file->text->text, file->text->length, path, false, &line, &column);
        cs_error_locate(err, file->text->name, line, column);
    }
    return CS_EINVAL;
}

cs_status cs_event_file_parse(const cs_arrival_text *text, cs_event_file *file_p, cs_error *err)
{
    json_error_t problem = {.text = ""};
    size_t       mark    = text->length >= 3 && memcmp(text->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

    cs_tree_setup();
    json_t *tree   = json_loadb(text->text + mark, text->length - mark, 0, &problem);
    json_t *events = json_is_array(tree) ? tree : json_object_get(tree, "traceEvents");

    if (tree == NULL) {
        return cs_tree_refuse(&problem, text->name, 0, err);
    }
    if (!json_is_array(events)) {
        cs_status status = CS_FAIL(err, CS_EPARSE, "traceEvents",
                                   "no array of events: accepted are Chrome traces, an array of "
                                   "events or an object with traceEvents");
        cs_error_locate(err, text->name, 1, 1);
        json_decref(tree);
        return status;
    }
    *file_p = (cs_event_file){.text = text, .tree = tree, .events = events};
    return CS_OK;
}

cs_status cs_event_span(const cs_event_file *file, size_t index, bool *is_span_p,
                        double *start_us_p, double *duration_us_p, cs_error *err)
{
    const json_t *event    = json_array_get(file->events, index);
    const json_t *start    = json_object_get(event, "ts");
    const json_t *duration = json_object_get(event, "dur");
    const char   *phase    = json_string_value(json_object_get(event, "ph"));

    *is_span_p = phase != NULL && strcmp(phase, "X") == 0;
    if (!*is_span_p) {
        return CS_OK;
    }
    if (!json_is_number(start)) {
        return cs_event_refuse(file, index, "ts", "a complete event needs its start in numbers",
                               err);
    }
    if (!json_is_number(duration) || !(json_number_value(duration) >= 0)) {
        return cs_event_refuse(file, index, "dur",
                               "a complete event needs a duration of at least 0", err);
    }
    *start_us_p    = json_number_value(start);
    *duration_us_p = json_number_value(duration);
    return CS_OK;
}

const char *cs_event_id(const json_t *event, const char *key, cs_arena *arena)
{
    const json_t *id = json_object_get(event, key);
    char          text[32];

    if (json_is_integer(id)) {
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(id));
        return cs_arena_strdup(arena, text);
    }
    return cs_arena_strdup(arena, json_is_string(id) ? json_string_value(id) : "");
}

/* Small letters and digits of a name; what does not fit is cut. */
static void plain_name(const char *name, char *plain)
{
    size_t used = 0;

    for (; *name != '\0' && *name != '(' && used + 1 < NAME_BYTES; name++) {
        if (isalnum((unsigned char)*name)) {
            plain[used++] = (char)tolower((unsigned char)*name);
        }
    }
    plain[used] = '\0';
}

/* The collective of a kernel; false for sends, receives and what is unknown. */
static bool find_collective(const char *kernel, const json_t *args, cs_collective *collective_p)
{
    const char *said = json_string_value(json_object_get(args, "Collective name"));
    char        name[NAME_BYTES];

    plain_name(said != NULL ? said : kernel, name);
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        if (strstr(name, collectives[i].part) != NULL) {
            *collective_p = collectives[i].collective;
            return true;
        }
    }
    return false;
}

static bool is_nccl_kernel(const json_t *event)
{
    const char *name     = json_string_value(json_object_get(event, "name"));
    const char *category = json_string_value(json_object_get(event, "cat"));

    return name != NULL && category != NULL && tolower((unsigned char)category[0]) == 'k' &&
           strcmp(category + 1, "ernel") == 0 &&
           (strncmp(name, "ncclKernel", 10) == 0 || strncmp(name, "ncclDevKernel", 13) == 0);
}

/* Size of an element; 0: unknown. */
static uint64_t type_bytes(const json_t *args)
{
    const char *said = json_string_value(json_object_get(args, "dtype"));
    char        name[NAME_BYTES];
    size_t      used = 0;

    for (; said != NULL && said[used] != '\0' && used + 1 < sizeof name; used++) {
        name[used] = (char)tolower((unsigned char)said[used]);
    }
    name[used] = '\0';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, strncmp(name, "c10::", 5) == 0 ? name + 5 : name) == 0) {
            return types[i].bytes;
        }
    }
    return 0;
}

/* The larger side is nccl-tests' size column: of an AllGather the output, of a ReduceScatter the
 * input. */
static uint64_t call_bytes(const json_t *args)
{
    json_int_t in   = json_integer_value(json_object_get(args, "In msg nelems"));
    json_int_t out  = json_integer_value(json_object_get(args, "Out msg nelems"));
    json_int_t most = in > out ? in : out;

    return most > 0 && most <= (json_int_t)1 << 48 ? (uint64_t)most * type_bytes(args) : 0;
}

/* A text of the args; an array, as some writers have the ranks, as compact JSON. */
static const char *text_of(const json_t *args, const char *key, cs_arena *arena)
{
    const json_t *value = json_object_get(args, key);

    if (json_is_array(value)) {
        char *dumped = json_dumps(value, JSON_COMPACT);
        char *copy   = dumped != NULL ? cs_arena_strdup(arena, dumped) : NULL;
        cs_free(dumped);
        return copy;
    }
    return cs_arena_strdup(arena, json_is_string(value) ? json_string_value(value) : "");
}

static cs_status take_kernel(const cs_event_file *file, size_t index, cs_nccl_trace *trace,
                             cs_error *err)
{
    const json_t *event   = json_array_get(file->events, index);
    const json_t *args    = json_object_get(event, "args");
    cs_nccl_call *call    = &trace->calls[trace->n_calls];
    bool          is_span = false;
    cs_status     status =
        cs_event_span(file, index, &is_span, &call->start_us, &call->duration_us, err);

    trace->n_kernels += is_span;
    if (status != CS_OK || !is_span ||
        !find_collective(json_string_value(json_object_get(event, "name")), args,
                         &call->collective)) {
        return status;
    }
    json_int_t size  = json_integer_value(json_object_get(args, "Group size"));
    call->event      = index;
    call->bytes      = call_bytes(args);
    call->group_size = size > 0 ? (uint64_t)size : 0;
    call->process    = cs_event_id(event, "pid", &trace->arena);
    call->stream     = cs_event_id(event, "tid", &trace->arena);
    call->group      = text_of(args, "Process Group Name", &trace->arena);
    call->members    = text_of(args, "Process Group Ranks", &trace->arena);
    if (call->process == NULL || call->stream == NULL || call->group == NULL ||
        call->members == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for an event");
    }
    trace->n_calls++;
    return CS_OK;
}

static int64_t whole_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}

cs_status cs_nccl_trace_read(const cs_event_file *file, cs_nccl_trace *trace_p, cs_error *err)
{
    const json_t *info  = json_object_get(file->tree, "distributedInfo");
    cs_nccl_trace trace = {.rank       = whole_number(info, "rank"),
                           .world_size = whole_number(info, "world_size")};
    size_t        n = json_array_size(file->events), n_kernels = 0;
    cs_status     status = CS_OK;

    for (size_t i = 0; i < n; i++) {
        n_kernels += is_nccl_kernel(json_array_get(file->events, i));
    }
    trace.calls = CS_ARENA_NEW(&trace.arena, cs_nccl_call, n_kernels + 1);
    if (trace.calls == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %zu events", n_kernels);
    }
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        if (is_nccl_kernel(json_array_get(file->events, i))) {
            status = take_kernel(file, i, &trace, err);
        }
    }
    if (status != CS_OK) {
        cs_nccl_trace_free(&trace);
        return status;
    }
    *trace_p = trace;
    return CS_OK;
}

void cs_nccl_trace_free(cs_nccl_trace *trace)
{
    cs_arena_free(&trace->arena);
    *trace = (cs_nccl_trace){0};
}

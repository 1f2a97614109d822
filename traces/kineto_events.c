/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL kernels in a trace of PyTorch's profiler.
 *
 * The names of kernels are ncclKernel_AllReduce_RING_LL_Sum_float(..) (NCCL before 2.19) and
 * ncclDevKernel_AllReduce_Sum_f32_RING_LL(..); their args (PyTorch 2.3 and later) have
 * "Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size", "Process Group
 * Name" and "Process Group Ranks". Where the args lack the collective, the kernel's name has it.
 *
 * An all-to-all is sends and receives, so its kernel is ncclDevKernel_SendRecv(..), as that of
 * point-to-point is; and there are traces in which AllReduces and others run under the name
 * ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t, too. So that name says nothing: where the args lack
 * the collective, the annotation "nccl:all_to_all" that Kineto puts around the kernel on its stream
 * has it; without either the kernel is left out. */
#include "traces/kineto_events.h"

#include "base/alloc.h"
#include "base/text.h"
#include "input/locate.h"
#include "traces/nccl_names.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A text of an object that is not empty, or NULL. */
static const char *said(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL && text[0] != '\0' ? text : NULL;
}

static bool is_nccl_kernel(const json_t *event)
{
    const char *name     = json_string_value(json_object_get(event, "name"));
    const char *category = json_string_value(json_object_get(event, "cat"));

    return name != NULL && category != NULL && tolower((unsigned char)category[0]) == 'k' &&
           strcmp(category + 1, "ernel") == 0 &&
           (strncmp(name, "ncclKernel", 10) == 0 || strncmp(name, "ncclDevKernel", 13) == 0);
}

/* The larger side is nccl-tests' size column: of an AllGather the output, of a ReduceScatter the
 * input. */
static uint64_t call_bytes(const json_t *args)
{
    json_int_t in   = json_integer_value(json_object_get(args, "In msg nelems"));
    json_int_t out  = json_integer_value(json_object_get(args, "Out msg nelems"));
    json_int_t most = in > out ? in : out;

    return most > 0 && most <= (json_int_t)1 << 48
               ? (uint64_t)most *
                     cs_torch_type_bytes(json_string_value(json_object_get(args, "dtype")))
               : 0;
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

/* ---- when the host launched a kernel ---- */

/* A call of the CUDA runtime or driver, which its kernels name. */
typedef struct launch {
    json_int_t correlation;
    double     start_us;
} launch;

typedef struct launches {
    launch *list; /* in the arena of the trace; by correlation */
    size_t  n;
} launches;

static bool is_launch(const json_t *event)
{
    const char *category = json_string_value(json_object_get(event, "cat"));

    return category != NULL &&
           (strcmp(category, "cuda_runtime") == 0 || strcmp(category, "cuda_driver") == 0) &&
           json_is_integer(json_object_get(json_object_get(event, "args"), "correlation"));
}

static int compare_launches(const void *left, const void *right)
{
    const launch *a = left, *b = right;
    int           order = (a->correlation > b->correlation) - (a->correlation < b->correlation);

    return order != 0 ? order : (a->start_us > b->start_us) - (a->start_us < b->start_us);
}

static cs_status take_launches(const cs_event_file *file, cs_arena *arena, launches *out,
                               cs_error *err)
{
    size_t n = json_array_size(file->events), n_launches = 0;

    for (size_t i = 0; i < n; i++) {
        n_launches += is_launch(json_array_get(file->events, i));
    }
    out->list = CS_ARENA_NEW(arena, launch, n_launches + 1);
    if (out->list == NULL) {
        return CS_NO_MEMORY(err, "the launches of a trace");
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *event       = json_array_get(file->events, i);
        launch       *l           = &out->list[out->n];
        double        duration_us = 0;
        bool          is_span     = false;
        if (!is_launch(event)) {
            continue;
        }
        CS_TRY(cs_event_span(file, i, &is_span, &l->start_us, &duration_us, err));
        l->correlation =
            json_integer_value(json_object_get(json_object_get(event, "args"), "correlation"));
        out->n += is_span;
    }
    qsort(out->list, out->n, sizeof out->list[0], compare_launches);
    return CS_OK;
}

/* How long a kernel waited on the GPU since its launch, at least 0: the two clocks agree to some
 * microseconds. NAN where the launch is not in the trace. */
static double queued_us(const launches *from, const json_t *args, double start_us)
{
    const json_t *correlation = json_object_get(args, "correlation");
    size_t        low = 0, high = from->n;

    if (!json_is_integer(correlation)) {
        return (double)NAN;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (from->list[middle].correlation < json_integer_value(correlation)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < from->n && from->list[low].correlation == json_integer_value(correlation)
               ? fmax(0, start_us - from->list[low].start_us)
               : (double)NAN;
}

/* ---- what annotations say ---- */

/* An annotation "nccl:.." around kernels of one stream. */
typedef struct annotation {
    const char *process, *stream, *name;
    double      start_us, end_us;
} annotation;

typedef struct annotations {
    annotation *list; /* in the arena of the trace; by process, stream and start */
    size_t      n;
} annotations;

static bool is_annotation(const json_t *event)
{
    const char *name     = json_string_value(json_object_get(event, "name"));
    const char *category = json_string_value(json_object_get(event, "cat"));

    return name != NULL && category != NULL && strcmp(category, "gpu_user_annotation") == 0 &&
           strncmp(name, "nccl:", 5) == 0;
}

static int compare_annotations(const void *left, const void *right)
{
    const annotation *a = left, *b = right;
    int               order = strcmp(a->process, b->process);

    order = order != 0 ? order : strcmp(a->stream, b->stream);
    return order != 0 ? order : (a->start_us > b->start_us) - (a->start_us < b->start_us);
}

static cs_status take_annotations(const cs_event_file *file, cs_arena *arena, annotations *out,
                                  cs_error *err)
{
    size_t n = json_array_size(file->events), n_annotations = 0;

    for (size_t i = 0; i < n; i++) {
        n_annotations += is_annotation(json_array_get(file->events, i));
    }
    out->list = CS_ARENA_NEW(arena, annotation, n_annotations + 1);
    if (out->list == NULL) {
        return CS_NO_MEMORY(err, "the annotations of a trace");
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *event       = json_array_get(file->events, i);
        annotation   *a           = &out->list[out->n];
        double        duration_us = 0;
        bool          is_span     = false;

        if (!is_annotation(event)) {
            continue;
        }
        CS_TRY(cs_event_span(file, i, &is_span, &a->start_us, &duration_us, err));
        a->end_us  = a->start_us + duration_us;
        a->name    = json_string_value(json_object_get(event, "name")) + strlen("nccl:");
        a->process = cs_event_id(event, "pid", arena);
        a->stream  = cs_event_id(event, "tid", arena);
        if (a->process == NULL || a->stream == NULL) {
            return CS_NO_MEMORY(err, "the annotations of a trace");
        }
        out->n += is_span;
    }
    qsort(out->list, out->n, sizeof out->list[0], compare_annotations);
    return CS_OK;
}

/* What the annotation around the middle of a kernel says; NULL where there is none. */
static const char *annotated(const annotations *from, const cs_nccl_call *call)
{
    const double middle_us = call->start_us + call->duration_us / 2;
    annotation   key = {.process = call->process, .stream = call->stream, .start_us = middle_us};
    size_t       low = 0, high = from->n; /* the last that begins no later is below `high` */

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_annotations(&from->list[middle], &key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const annotation *last = &from->list[low - 1];
    return strcmp(last->process, call->process) == 0 && strcmp(last->stream, call->stream) == 0 &&
                   middle_us <= last->end_us
               ? last->name
               : NULL;
}

/* Is the kernel a call of a collective? Others are counted. */
static bool is_call(const json_t *event, const annotations *from, cs_nccl_call *call,
                    cs_nccl_left_out *left_out)
{
    const char *name = said(json_object_get(event, "args"), "Collective name");

    if (name == NULL && cs_nccl_collective_named(json_string_value(json_object_get(event, "name")),
                                                 &call->collective)) {
        return true;
    }
    name = name != NULL ? name : annotated(from, call);
    if (name == NULL) {
        left_out->n_unnamed++;
    } else if (cs_nccl_collective_named(name, &call->collective)) {
        return true;
    } else if (cs_nccl_name_has(name, "send") || cs_nccl_name_has(name, "recv")) {
        left_out->n_point_to_point++;
    } else {
        left_out->other = left_out->n_others++ == 0 ? name : left_out->other;
    }
    return false;
}

static cs_status take_kernel(const cs_event_file *file, size_t index, const annotations *from,
                             const launches *by, cs_nccl_trace *trace, cs_error *err)
{
    const json_t *event   = json_array_get(file->events, index);
    const json_t *args    = json_object_get(event, "args");
    cs_nccl_call *call    = &trace->calls[trace->n_calls];
    bool          is_span = false;

    CS_TRY(cs_event_span(file, index, &is_span, &call->start_us, &call->duration_us, err));
    if (!is_span) {
        return CS_OK;
    }
    trace->n_kernels++;
    json_int_t size  = json_integer_value(json_object_get(args, "Group size"));
    call->event      = index;
    call->queued_us  = queued_us(by, args, call->start_us);
    call->bytes      = call_bytes(args);
    call->group_size = size > 0 ? (uint64_t)size : 0;
    call->process    = cs_event_id(event, "pid", &trace->arena);
    call->stream     = cs_event_id(event, "tid", &trace->arena);
    call->group      = text_of(args, "Process Group Name", &trace->arena);
    call->members    = text_of(args, "Process Group Ranks", &trace->arena);
    if (call->process == NULL || call->stream == NULL || call->group == NULL ||
        call->members == NULL) {
        return CS_NO_MEMORY(err, "an event");
    }
    trace->n_calls += is_call(event, from, call, &trace->left_out);
    return CS_OK;
}

/* Keep the name of what was left out beyond the life of the tree. */
static cs_status keep_other(cs_nccl_trace *trace, cs_error *err)
{
    if (trace->left_out.other == NULL) {
        return CS_OK;
    }
    trace->left_out.other = cs_arena_strdup(&trace->arena, trace->left_out.other);
    return trace->left_out.other != NULL ? CS_OK : CS_NO_MEMORY(err, "the name of a kernel");
}

void cs_nccl_left_out_text(const cs_nccl_left_out *left_out, char *text, size_t bytes)
{
    const struct {
        size_t      n;
        const char *what;
    } parts[] = {
        {left_out->n_point_to_point, "sends and receives"},
        {left_out->n_others, "of '"},
        {left_out->n_unnamed, "that do not say what they are of (no \"Collective name\")"},
    };
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].n > 0 && used < bytes) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%zu %s", used > 0 ? "; " : "",
                                     parts[i].n, parts[i].what);
        }
        if (parts[i].n > 0 && i == 1 && used < bytes) {
            char name[41];
            cs_plain_text(name, sizeof name, left_out->other);
            used += (size_t)snprintf(text + used, bytes - used, "%s'%s", name,
                                     parts[i].n > 1 ? " and the like" : "");
        }
    }
}

static int64_t whole_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}

static cs_status take_kernels(const cs_event_file *file, cs_nccl_trace *trace, cs_error *err)
{
    size_t      n = json_array_size(file->events), n_kernels = 0;
    annotations from = {0};
    launches    by   = {0};

    for (size_t i = 0; i < n; i++) {
        n_kernels += is_nccl_kernel(json_array_get(file->events, i));
    }
    trace->calls = CS_ARENA_NEW(&trace->arena, cs_nccl_call, n_kernels + 1);
    if (trace->calls == NULL) {
        return CS_NO_MEMORY(err, "%zu events", n_kernels);
    }
    if (n_kernels > 0) {
        CS_TRY(take_annotations(file, &trace->arena, &from, err));
        CS_TRY(take_launches(file, &trace->arena, &by, err));
    }
    for (size_t i = 0; i < n; i++) {
        if (is_nccl_kernel(json_array_get(file->events, i))) {
            CS_TRY(take_kernel(file, i, &from, &by, trace, err));
        }
    }
    return keep_other(trace, err);
}

cs_status cs_nccl_trace_read(const cs_event_file *file, cs_nccl_trace *trace_p, cs_error *err)
{
    const json_t *info   = json_object_get(file->tree, "distributedInfo");
    cs_nccl_trace trace  = {.rank       = whole_number(info, "rank"),
                            .world_size = whole_number(info, "world_size")};
    cs_status     status = take_kernels(file, &trace, err);

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

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jansson behind this project's allocator and error record. */
#include "input/tree.h"

#include "base/alloc.h"
#include "input/locate.h"

#include <string.h>
#include <threads.h>

/* Order of keys never depends on the hash; a fixed seed keeps even its cost the same. */
enum { HASH_SEED = 1 };

/* Memory ran out since cs_tree_setup(): Jansson's reader calls that a syntax error. */
static _Thread_local bool has_run_out;

static void *tree_malloc(size_t bytes)
{
    void *memory = cs_realloc(NULL, bytes, 1);

    has_run_out = has_run_out || memory == NULL;
    return memory;
}

static void setup(void)
{
    json_set_alloc_funcs(tree_malloc, cs_free);
    json_object_seed(HASH_SEED);
}

void cs_tree_setup(void)
{
    static once_flag flag = ONCE_FLAG_INIT;

    has_run_out = false;
    call_once(&flag, setup);
}

cs_status cs_tree_refuse(const json_error_t *problem, const char *input, int line_offset,
                         cs_error *err)
{
    enum json_error_code code   = json_error_code(problem);
    int                  line   = problem->line > 0 ? problem->line + line_offset : 1;
    bool                 is_new = err != NULL && err->status == CS_OK;
    cs_status            status;

    if (code == json_error_out_of_memory || problem->text[0] == '\0' || has_run_out) {
        return CS_NO_MEMORY(err, "a JSON text");
    }
    if (code == json_error_stack_overflow) {
        status =
            CS_FAIL(err, CS_EPARSE, "", "nested more than %d levels deep", JSON_PARSER_MAX_DEPTH);
    } else {
        status = CS_FAIL(err, CS_EPARSE, "", "not JSON: %s", problem->text);
    }
    if (is_new) {
        cs_error_locate(err, input, line, problem->column > 0 ? problem->column : 1);
    }
    return status;
}

static cs_status parse(const char *text, size_t length, const char *input, bool is_array,
                       json_t **tree_p, cs_error *err)
{
    json_error_t problem = {.text = ""};
    size_t       flags   = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;

    const char *nul = memchr(text, '\0', length);

    cs_tree_setup();
    if (nul != NULL) {
        int       line, column;
        cs_status status = CS_FAIL(err, CS_EPARSE, "", "not JSON: a NUL byte");
        cs_line_column(text, length, (size_t)(nul - text), &line, &column);
        cs_error_locate(err, input, line, column);
        return status;
    }
    json_t *tree = json_loadb(text, length, flags, &problem);
    if (tree == NULL) {
        return cs_tree_refuse(&problem, input, 0, err);
    }
    if (is_array ? !json_is_array(tree) : !json_is_object(tree)) {
        cs_status status = CS_FAIL(err, CS_EPARSE, "", "is %s: accepted is an %s",
                                   cs_tree_kind(tree), is_array ? "array" : "object");
        cs_error_locate(err, input, 1, 1);
        json_decref(tree);
        return status;
    }
    *tree_p = tree;
    return CS_OK;
}

cs_status cs_tree_parse(const char *text, size_t length, const char *input, json_t **tree_p,
                        cs_error *err)
{
    return parse(text, length, input, false, tree_p, err);
}

cs_status cs_tree_parse_array(const char *text, size_t length, const char *input, json_t **tree_p,
                              cs_error *err)
{
    return parse(text, length, input, true, tree_p, err);
}

cs_status cs_tree_text(const char *text, const char *where, json_t **value_p, cs_error *err)
{
    *value_p = json_string(text);
    if (*value_p != NULL) {
        return CS_OK;
    }
    json_t *unchecked = json_string_nocheck(text);
    json_decref(unchecked);
    return unchecked != NULL ? CS_FAIL(err, CS_EPARSE, where, "the value is not UTF-8")
                             : CS_FAIL(err, CS_ENOMEM, where, "out of memory for a value");
}

cs_status cs_tree_value(const char *text, const char *where, json_t **value_p, cs_error *err)
{
    json_error_t problem = {.text = ""};
    size_t       spaces  = strspn(text, " \t\r\n");

    cs_tree_setup();
    *value_p = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (*value_p != NULL) {
        return CS_OK;
    }
    if (problem.text[0] == '\0' || has_run_out) {
        return CS_FAIL(err, CS_ENOMEM, where, "out of memory for a value");
    }
    if (text[spaces] != '\0' && strchr("{[\"", text[spaces]) != NULL) {
        return CS_FAIL(err, CS_EPARSE, where, "not JSON: %s", problem.text);
    }
    return cs_tree_text(text, where, value_p, err);
}

const char *cs_tree_kind(const json_t *node)
{
    switch (json_typeof(node)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a text";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "a truth value";
    case JSON_NULL: break;
    }
    return "null";
}

static json_t *child_of(json_t *node, const cs_step *step)
{
    return step->key != NULL ? json_object_get(node, step->key) : json_array_get(node, step->index);
}

/* Put `child` (stolen) one step below `node`. */
static cs_status put(json_t *node, const cs_step *step, json_t *child, const char *where,
                     cs_error *err)
{
    bool fits = step->key != NULL ? json_is_object(node) : step->index < json_array_size(node);

    if (!fits) {
        json_decref(child);
        return CS_FAIL(err, CS_EINVAL, where,
                       "cannot be set: there is no such place in the configuration");
    }
    if (step->key != NULL ? json_object_set_new(node, step->key, child) != 0
                          : json_array_set_new(node, step->index, child) != 0) {
        return CS_FAIL(err, CS_ENOMEM, where, "out of memory for a configuration");
    }
    return CS_OK;
}

/* Go one step down, to something that can be gone on into: made, or made of a text, where
 * needed. */
static cs_status enter(json_t **node_p, const cs_step *step, bool is_array, const char *where,
                       cs_error *err)
{
    json_t   *child  = child_of(*node_p, step);
    cs_status status = CS_OK;

    if (child == NULL) {
        child  = is_array ? json_array() : json_object();
        status = put(*node_p, step, child, where, err);
    } else if (json_is_string(child) && !is_array) {
        child  = json_pack("{s:O}", "name", child);
        status = put(*node_p, step, child, where, err);
    }
    *node_p = child;
    return status;
}

static cs_status enter_all(json_t **node_p, const cs_path *path, const char *where, cs_error *err)
{
    size_t last = path->n_steps - 1;

    for (size_t i = 0; i < last + path->appends; i++) {
        bool is_array = i == last || path->steps[i + 1].key == NULL;
        CS_TRY(enter(node_p, &path->steps[i], is_array, where, err));
    }
    return CS_OK;
}

cs_status cs_tree_set(json_t *tree, const cs_path *path, json_t *value, const char *where,
                      cs_error *err)
{
    json_t   *node   = tree;
    cs_status status = enter_all(&node, path, where, err);

    if (status != CS_OK) {
        json_decref(value);
        return status;
    }
    if (!path->appends) {
        return put(node, &path->steps[path->n_steps - 1], value, where, err);
    }
    if (!json_is_array(node)) {
        json_decref(value);
        return CS_FAIL(err, CS_EINVAL, where, "is %s: only an array can be added to",
                       cs_tree_kind(node));
    }
    if (json_array_append_new(node, value) != 0) {
        return CS_FAIL(err, CS_ENOMEM, where, "out of memory for a configuration");
    }
    return CS_OK;
}

json_t *cs_tree_at(json_t *tree, const cs_path *path)
{
    json_t *node = tree;

    for (size_t i = 0; i < path->n_steps && node != NULL; i++) {
        node = child_of(node, &path->steps[i]);
    }
    return node;
}

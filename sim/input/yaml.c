/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events of libyaml's parser are composed into a tree. A second pass over them finds the place
 * of a value once something is wrong with it. libyaml's own memory is malloc's. */
#include "input/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

typedef struct composer {
    yaml_parser_t  parser;
    const char    *input;
    cs_error      *err;
    json_t        *anchors;  /* name -> the node, once it is complete; owned */
    json_t        *sizes;    /* name -> how many values it has; owned */
    uint32_t       n_values; /* with those of aliases */
    const cs_path *sought;   /* a place that is looked for, or NULL */
    bool           wants_key;
    int            line, column; /* of the nearest place to it so far */
} composer;

static cs_status refuse(composer *c, const yaml_mark_t *at, const char *what)
{
    bool      is_new = c->err != NULL && c->err->status == CS_OK;
    cs_status status = CS_FAIL(c->err, CS_EPARSE, "", "not accepted as YAML: %s", what);

    if (is_new) {
        cs_error_locate(c->err, c->input, (int)at->line + 1, (int)at->column + 1);
    }
    return status;
}

static cs_status no_memory(const composer *c)
{
    return CS_NO_MEMORY(c->err, "a YAML text");
}

/* What libyaml says, where it says it. */
static cs_status refuse_syntax(composer *c)
{
    const yaml_parser_t *p  = &c->parser;
    yaml_mark_t          at = p->problem_mark;

    if (p->error == YAML_MEMORY_ERROR) {
        return no_memory(c);
    }
    if (p->error == YAML_READER_ERROR) {
        at = p->mark;
    }
    return refuse(c, &at, p->problem != NULL ? p->problem : "syntax error");
}

static cs_status next_event(composer *c, yaml_event_t *event)
{
    return yaml_parser_parse(&c->parser, event) != 0 ? CS_OK : refuse_syntax(c);
}

/* ---- scalars ---- */

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(word, *words) == 0) {
            return true;
        }
    }
    return false;
}

static const char *digits_end(const char *p)
{
    return p + strspn(p, "0123456789");
}

/* [-+]? digits, or a number with a dot or an exponent; *is_whole_p tells which. */
static bool is_decimal(const char *word, bool *is_whole_p)
{
    const char *first = word + (*word == '-' || *word == '+'), *p = digits_end(first);
    size_t      n = (size_t)(p - first);

    *is_whole_p = true;
    if (*p == '.') {
        const char *end = digits_end(p + 1);
        n += (size_t)(end - p) - 1;
        p           = end;
        *is_whole_p = false;
    }
    if (n > 0 && (*p == 'e' || *p == 'E')) {
        const char *begin = p + 1 + (p[1] == '-' || p[1] == '+');
        p                 = digits_end(begin) > begin ? digits_end(begin) : p;
        *is_whole_p       = false;
    }
    return n > 0 && *p == '\0';
}

/* A plain word as YAML's core schema has it; NULL: no memory. */
static json_t *resolve(const char *word)
{
    static const char *const nulls[]  = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[]  = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    bool                     is_whole = false, is_other = word[0] == '0' && word[1] != '\0';
    char                    *end = NULL;

    if (is_one_of(word, nulls)) {
        return json_null();
    }
    if (is_one_of(word, trues)) {
        return json_true();
    }
    if (is_one_of(word, falses)) {
        return json_false();
    }
    if (is_other && (word[1] == 'x' || word[1] == 'o')) {
        const char *digits = word[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567";
        size_t      n      = strspn(word + 2, digits);
        if (n > 0 && n <= 15 && word[2 + n] == '\0') {
            return json_integer(strtoll(word + 2, &end, word[1] == 'x' ? 16 : 8));
        }
        return json_string(word);
    }
    if (!is_decimal(word, &is_whole)) {
        return json_string(word);
    }
    errno           = 0;
    long long whole = is_whole ? strtoll(word, &end, 10) : 0;
    if (is_whole && errno == 0) {
        return json_integer(whole);
    }
    double value = strtod(word, &end);
    return isfinite(value) ? json_real(value) : json_string(word);
}

/* A tag may only say what a word is anyway, or that it is a text. */
static cs_status check_tag(composer *c, const yaml_event_t *event, const yaml_char_t *tag,
                           const char *kind, bool *is_text_p)
{
    static const char core[] = "tag:yaml.org,2002:";
    const char       *name   = (const char *)tag;

    *is_text_p = false;
    if (name == NULL) {
        return CS_OK;
    }
    name       = strncmp(name, core, sizeof core - 1) == 0 ? name + sizeof core - 1 : name;
    *is_text_p = strcmp(name, "str") == 0 || strcmp(name, "!") == 0;
    if (strcmp(name, kind) == 0 || (strcmp(kind, "scalar") == 0 && *is_text_p)) {
        return CS_OK;
    }
    return refuse(c, &event->start_mark, "a tag (accepted are !!str, !!map and !!seq)");
}

static cs_status compose_scalar(composer *c, const yaml_event_t *event, json_t **node_p)
{
    const char *word    = (const char *)event->data.scalar.value;
    size_t      length  = event->data.scalar.length;
    bool        is_text = false;

    CS_TRY(check_tag(c, event, event->data.scalar.tag, "scalar", &is_text));
    if (memchr(word, '\0', length) != NULL) {
        return refuse(c, &event->start_mark, "a NUL character");
    }
    is_text |= event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    *node_p = is_text ? json_stringn(word, length) : resolve(word);
    return *node_p != NULL ? CS_OK : no_memory(c);
}

/* ---- the tree ---- */

/* So far nothing is nearer to what is looked for. */
static void note_place(composer *c, const yaml_mark_t *at)
{
    c->line   = (int)at->line + 1;
    c->column = (int)at->column + 1;
}

static cs_status count_values(composer *c, const yaml_event_t *event, uint32_t n)
{
    if (n > CS_YAML_VALUES || c->n_values > CS_YAML_VALUES - n) {
        return refuse(c, &event->start_mark,
                      "more than 2^20 values once its aliases are written out");
    }
    c->n_values += n;
    return CS_OK;
}

static cs_status compose_alias(composer *c, const yaml_event_t *event, json_t **node_p)
{
    const char *name = (const char *)event->data.alias.anchor;
    json_t     *node = json_object_get(c->anchors, name);

    if (node == NULL) {
        return refuse(c, &event->start_mark, "an alias of nothing that stands before it");
    }
    CS_TRY(count_values(c, event, (uint32_t)json_integer_value(json_object_get(c->sizes, name))));
    *node_p = json_deep_copy(node);
    return *node_p != NULL ? CS_OK : no_memory(c);
}

static cs_status keep_anchor(composer *c, const yaml_char_t *anchor, json_t *node, uint32_t n)
{
    const char *name = (const char *)anchor;

    if (name != NULL && (json_object_set(c->anchors, name, node) != 0 ||
                         json_object_set_new(c->sizes, name, json_integer(n)) != 0)) {
        return no_memory(c);
    }
    return CS_OK;
}

static cs_status compose(composer *c, const yaml_event_t *event, uint32_t depth, bool is_near,
                         json_t **node_p);

static cs_status compose_sequence(composer *c, uint32_t depth, const cs_step *step, json_t *list)
{
    for (size_t i = 0;; i++) {
        yaml_event_t event;
        json_t      *item = NULL;
        CS_TRY(next_event(c, &event));
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return CS_OK;
        }
        bool      is_near = step != NULL && step->key == NULL && step->index == i;
        cs_status status  = compose(c, &event, depth + 1, is_near, &item);
        if (status == CS_OK && json_array_append(list, item) != 0) {
            status = no_memory(c);
        }
        yaml_event_delete(&event);
        json_decref(item);
        CS_TRY(status);
    }
}

static cs_status check_key(composer *c, const yaml_event_t *event, const json_t *object)
{
    const char *key = (const char *)event->data.scalar.value;

    if (event->type != YAML_SCALAR_EVENT) {
        return refuse(c, &event->start_mark, "a key that is no scalar");
    }
    if (memchr(key, '\0', event->data.scalar.length) != NULL) {
        return refuse(c, &event->start_mark, "a NUL character");
    }
    if (strcmp(key, "<<") == 0) {
        return refuse(c, &event->start_mark, "the key '<<' (merging mappings)");
    }
    if (json_object_get(object, key) != NULL) {
        return refuse(c, &event->start_mark, "a key that is there already");
    }
    return CS_OK;
}

/* The value behind a key. */
static cs_status compose_member(composer *c, const yaml_event_t *key, uint32_t depth,
                                const cs_step *step, json_t *object)
{
    const char  *name    = (const char *)key->data.scalar.value;
    bool         is_near = step != NULL && step->key != NULL && strcmp(step->key, name) == 0;
    bool         is_last = is_near && depth + 1 == c->sought->n_steps;
    yaml_event_t event;
    json_t      *value = NULL;

    CS_TRY(next_event(c, &event));
    cs_status status = compose(c, &event, depth + 1, is_near, &value);
    if (status == CS_OK && is_last && c->wants_key) {
        note_place(c, &key->start_mark);
    }
    if (status == CS_OK && json_object_set(object, name, value) != 0) {
        status = no_memory(c);
    }
    yaml_event_delete(&event);
    json_decref(value);
    return status;
}

static cs_status compose_mapping(composer *c, uint32_t depth, const cs_step *step, json_t *object)
{
    for (;;) {
        yaml_event_t key;
        CS_TRY(next_event(c, &key));
        bool      is_end = key.type == YAML_MAPPING_END_EVENT;
        cs_status status = is_end ? CS_OK : check_key(c, &key, object);
        if (!is_end && status == CS_OK) {
            status = compose_member(c, &key, depth, step, object);
        }
        yaml_event_delete(&key);
        if (is_end || status != CS_OK) {
            return status;
        }
    }
}

/* The node that begins with an event, whose owner deletes it; *node_p is the caller's, NULL on
 * failure. `is_near`: the node is on the path that is looked for. */
static cs_status compose(composer *c, const yaml_event_t *event, uint32_t depth, bool is_near,
                         json_t **node_p)
{
    bool           is_list = event->type == YAML_SEQUENCE_START_EVENT;
    bool           goes_on = is_near && depth < c->sought->n_steps, is_text;
    const cs_step *step    = goes_on ? &c->sought->steps[depth] : NULL;
    uint32_t       before  = c->n_values;
    cs_status      status;

    if (depth > CS_YAML_DEPTH) {
        return refuse(c, &event->start_mark, "nested more than 64 levels deep");
    }
    if (is_near) {
        note_place(c, &event->start_mark);
    }
    if (event->type == YAML_ALIAS_EVENT) {
        return compose_alias(c, event, node_p);
    }
    CS_TRY(count_values(c, event, 1));
    if (event->type == YAML_SCALAR_EVENT) {
        CS_TRY(compose_scalar(c, event, node_p));
        status = keep_anchor(c, event->data.scalar.anchor, *node_p, 1);
    } else {
        const yaml_char_t *tag =
            is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
        const yaml_char_t *anchor =
            is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
        CS_TRY(check_tag(c, event, tag, is_list ? "seq" : "map", &is_text));
        *node_p = is_list ? json_array() : json_object();
        status  = *node_p == NULL ? no_memory(c)
                  : is_list       ? compose_sequence(c, depth, step, *node_p)
                                  : compose_mapping(c, depth, step, *node_p);
        if (status == CS_OK) {
            status = keep_anchor(c, anchor, *node_p, c->n_values - before);
        }
    }
    if (status != CS_OK) {
        json_decref(*node_p);
        *node_p = NULL;
    }
    return status;
}

/* Skip the events that begin a stream and a document; the next one is *event. */
static cs_status begin(composer *c, yaml_event_t *event)
{
    for (;;) {
        CS_TRY(next_event(c, event));
        if (event->type != YAML_STREAM_START_EVENT && event->type != YAML_DOCUMENT_START_EVENT) {
            return CS_OK;
        }
        yaml_event_delete(event);
    }
}

/* Behind the root nothing follows. */
static cs_status finish(composer *c)
{
    yaml_event_t event;

    CS_TRY(next_event(c, &event)); /* the end of the document */
    yaml_event_delete(&event);
    CS_TRY(next_event(c, &event));
    cs_status status = event.type == YAML_STREAM_END_EVENT
                           ? CS_OK
                           : refuse(c, &event.start_mark, "a second document: one is accepted");
    yaml_event_delete(&event);
    return status;
}

static cs_status compose_root(composer *c, json_t **node_p)
{
    yaml_event_t event;
    cs_status    status;

    CS_TRY(begin(c, &event));
    if (event.type == YAML_STREAM_END_EVENT) {
        status = refuse(c, &event.start_mark, "there is nothing in it");
    } else {
        status = compose(c, &event, 0, c->sought != NULL, node_p);
    }
    if (status == CS_OK && !json_is_object(*node_p)) {
        status = refuse(c, &event.start_mark, "the root is no mapping");
    }
    yaml_event_delete(&event);
    return status == CS_OK ? finish(c) : status;
}

/* Run a composer over a text. */
static cs_status compose_text(composer *c, const char *text, size_t length, json_t **node_p)
{
    cs_tree_setup();
    c->anchors = json_object();
    c->sizes   = json_object();
    if (c->anchors == NULL || c->sizes == NULL || yaml_parser_initialize(&c->parser) == 0) {
        json_decref(c->anchors);
        json_decref(c->sizes);
        return no_memory(c);
    }
    yaml_parser_set_encoding(&c->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&c->parser, (const unsigned char *)text, length);
    cs_status status = compose_root(c, node_p);
    if (status != CS_OK) {
        json_decref(*node_p);
        *node_p = NULL;
    }
    yaml_parser_delete(&c->parser);
    json_decref(c->anchors);
    json_decref(c->sizes);
    return status;
}

cs_status cs_yaml_parse(const char *text, size_t length, const char *input, json_t **tree_p,
                        cs_error *err)
{
    composer c    = {.input = input, .err = err};
    json_t  *tree = NULL;

    CS_TRY(compose_text(&c, text, length, &tree));
    *tree_p = tree;
    return CS_OK;
}

void cs_yaml_locate(const char *text, size_t length, const char *path, bool wants_key, int *line_p,
                    int *column_p)
{
    cs_error ignored = {0};
    cs_path  steps   = {.n_steps = 0}; /* the root */
    composer c    = {.input = "", .err = &ignored, .wants_key = wants_key, .line = 1, .column = 1};
    json_t  *tree = NULL;

    if (*path == '\0' || cs_path_parse(path, &steps, &ignored) == CS_OK) {
        c.sought = &steps;
        (void)!compose_text(&c, text, length, &tree);
        json_decref(tree);
    }
    *line_p   = c.line;
    *column_p = c.column;
}

/* ---- writing ---- */

typedef struct writer {
    yaml_emitter_t emitter;
    bool           failed; /* out of memory; nothing else can fail */
} writer;

static int add_bytes(void *out, unsigned char *bytes, size_t length)
{
    cs_text *text = out;

    cs_text_add_bytes(text, (const char *)bytes, length);
    return !text->failed;
}

static void emit(writer *w, int is_made, yaml_event_t *event)
{
    w->failed = w->failed || is_made == 0 || yaml_emitter_emit(&w->emitter, event) == 0;
}

static void emit_scalar(writer *w, const char *word, yaml_scalar_style_t style)
{
    yaml_event_t event;

    if (!w->failed) {
        int is_made = yaml_scalar_event_initialize(&event, NULL, NULL, (const unsigned char *)word,
                                                   (int)strlen(word), 1, 1, style);
        emit(w, is_made, &event);
    }
}

/* A text that would read as something else is quoted. */
static void emit_text(writer *w, const char *text)
{
    json_t *read = resolve(text);

    w->failed = w->failed || read == NULL;
    emit_scalar(w, text,
                json_is_string(read) ? YAML_ANY_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    json_decref(read);
}

static void emit_number(writer *w, const json_t *node)
{
    char word[40];

    if (json_is_integer(node)) {
        (void)snprintf(word, sizeof word, "%lld", (long long)json_integer_value(node));
    } else {
        cs_number_text(json_real_value(node), word, sizeof word);
    }
    emit_scalar(w, word, YAML_PLAIN_SCALAR_STYLE);
}

static void emit_node(writer *w, json_t *node);

static void emit_members(writer *w, json_t *node)
{
    yaml_event_t event;
    const char  *key;
    json_t      *value;

    emit(w, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE),
         &event);
    json_object_foreach(node, key, value)
    {
        emit_text(w, key);
        emit_node(w, value);
    }
    if (!w->failed) {
        emit(w, yaml_mapping_end_event_initialize(&event), &event);
    }
}

static void emit_elements(writer *w, json_t *node)
{
    yaml_event_t event;

    emit(w, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE),
         &event);
    for (size_t i = 0; i < json_array_size(node); i++) {
        emit_node(w, json_array_get(node, i));
    }
    if (!w->failed) {
        emit(w, yaml_sequence_end_event_initialize(&event), &event);
    }
}

static void emit_node(writer *w, json_t *node)
{
    if (w->failed) {
        return;
    }
    switch (json_typeof(node)) {
    case JSON_OBJECT: emit_members(w, node); break;
    case JSON_ARRAY: emit_elements(w, node); break;
    case JSON_STRING: emit_text(w, json_string_value(node)); break;
    case JSON_INTEGER:
    case JSON_REAL: emit_number(w, node); break;
    case JSON_TRUE: emit_scalar(w, "true", YAML_PLAIN_SCALAR_STYLE); break;
    case JSON_FALSE: emit_scalar(w, "false", YAML_PLAIN_SCALAR_STYLE); break;
    case JSON_NULL: emit_scalar(w, "null", YAML_PLAIN_SCALAR_STYLE); break;
    }
}

cs_status cs_yaml_write(json_t *tree, cs_text *out, cs_error *err)
{
    writer       w = {.failed = false};
    yaml_event_t event;

    if (yaml_emitter_initialize(&w.emitter) == 0) {
        return CS_NO_MEMORY(err, "a YAML text");
    }
    yaml_emitter_set_output(&w.emitter, add_bytes, out);
    yaml_emitter_set_unicode(&w.emitter, 1);
    emit(&w, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
    if (!w.failed) {
        emit(&w, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event);
    }
    emit_node(&w, tree);
    if (!w.failed) {
        emit(&w, yaml_document_end_event_initialize(&event, 1), &event);
    }
    if (!w.failed) {
        emit(&w, yaml_stream_end_event_initialize(&event), &event);
    }
    yaml_emitter_delete(&w.emitter);
    return w.failed ? CS_NO_MEMORY(err, "a YAML text") : cs_text_status(out, err);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/xml.h"

#include "base/alloc.h"

#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
    XML_Parser  parser;
    cs_arena   *arena;
    const char *input;
    cs_error   *err;
    cs_status   status;
    cs_xml     *root, *at;
    uint32_t    depth, max_depth, n_elements;
} builder;

static void *allocate(size_t bytes)
{
    return cs_calloc(bytes, 1);
}

static void *reallocate(void *memory, size_t bytes)
{
    return cs_realloc(memory, bytes, 1);
}

static const XML_Memory_Handling_Suite memory = {allocate, reallocate, cs_free};

bool cs_xml_number(const cs_xml *e, const char *name, long fallback, long *value_p)
{
    const char *text = cs_xml_get(e, name);
    char       *end;

    *value_p = fallback;
    if (text == NULL || *text == '\0') {
        return true;
    }
    *value_p = strtol(text, &end, 0);
    return *end == '\0' && end != text && *value_p > -2147483647L && *value_p < 2147483647L;
}

/* The first failure, where the parser is, and no further event. */
static void stop(builder *b, cs_status status, const char *what)
{
    if (b->status == CS_OK) {
        b->status = CS_FAIL(b->err, status, "", "%s", what);
        cs_error_locate(b->err, b->input, (int)XML_GetCurrentLineNumber(b->parser),
                        (int)XML_GetCurrentColumnNumber(b->parser) + 1);
        (void)XML_StopParser(b->parser, XML_FALSE);
    }
}

/* Copy the name and the attributes of an element into one block: pointers, then texts. */
static bool copy_texts(cs_arena *arena, cs_xml *e, const XML_Char *name,
                       const XML_Char **attributes)
{
    size_t n = 0, bytes = strlen(name) + 1;

    for (; attributes[n] != NULL; n++) {
        bytes += strlen(attributes[n]) + 1;
    }
    char *block = cs_arena_alloc(arena, (n + 1) * sizeof(char *) + bytes, 1);
    if (block == NULL) {
        return false;
    }
    e->attributes = (const char **)(void *)block;
    block += (n + 1) * sizeof(char *);
    e->name = block;
    for (size_t i = 0; i <= n; i++) {
        const char *text   = i == 0 ? name : attributes[i - 1];
        size_t      length = strlen(text) + 1;
        if (i > 0) {
            e->attributes[i - 1] = block;
        }
        memcpy(block, text, length);
        block += length;
    }
    return true;
}

static void XMLCALL begin(void *user, const XML_Char *name, const XML_Char **attributes)
{
    builder *b = user;

    if (b->status != CS_OK) {
        return;
    }
    if (++b->depth > b->max_depth || ++b->n_elements > CS_XML_MAX_ELEMENTS) {
        char what[80];
        snprintf(what, sizeof what, "too many elements: accepted are 2^20, nested %u deep",
                 b->max_depth);
        stop(b, CS_EPARSE, what);
        return;
    }
    cs_xml *e = CS_ARENA_NEW(b->arena, cs_xml, 1);
    if (e == NULL || !copy_texts(b->arena, e, name, attributes)) {
        stop(b, CS_ENOMEM, "out of memory for an XML file");
        return;
    }
    e->parent = b->at;
    e->line   = (int)XML_GetCurrentLineNumber(b->parser);
    e->column = (int)XML_GetCurrentColumnNumber(b->parser) + 1;
    if (b->at == NULL) {
        b->root = e;
    } else if (b->at->last == NULL) {
        b->at->child = b->at->last = e;
    } else {
        b->at->last = b->at->last->next = e;
    }
    b->at = e;
}

static void XMLCALL end(void *user, const XML_Char *name)
{
    builder *b = user;

    (void)name;
    if (b->status == CS_OK) {
        b->depth--;
        b->at = b->at->parent;
    }
}

static void XMLCALL doctype(void *user, const XML_Char *name, const XML_Char *system,
                            const XML_Char *public, int has_internal_subset)
{
    (void)name;
    (void)system;
    (void)public;
    if (has_internal_subset != 0) {
        stop(user, CS_EPARSE, "a DTD inside the file is not accepted");
    }
}

static void XMLCALL entity(void *user, const XML_Char *name, int is_parameter,
                           const XML_Char *value, int value_length, const XML_Char *base,
                           const XML_Char *system, const XML_Char *public, const XML_Char *notation)
{
    (void)name;
    (void)is_parameter;
    (void)value;
    (void)value_length;
    (void)base;
    (void)system;
    (void)public;
    (void)notation;
    stop(user, CS_EPARSE, "entities of its own are not accepted in a file");
}

/* What Expat itself found. */
static void take_error(builder *b)
{
    enum XML_Error code = XML_GetErrorCode(b->parser);

    stop(b, code == XML_ERROR_NO_MEMORY ? CS_ENOMEM : CS_EPARSE,
         code == XML_ERROR_NO_MEMORY ? "out of memory for an XML file" : XML_ErrorString(code));
}

cs_status cs_xml_parse(const char *text, size_t length, const char *input, uint32_t max_depth,
                       cs_arena *arena, cs_xml **root_p, cs_error *err)
{
    builder b = {.arena = arena, .input = input, .max_depth = max_depth, .err = err};

    b.parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (b.parser == NULL) {
        return CS_NO_MEMORY(err, "an XML file");
    }
    (void)XML_SetHashSalt(b.parser, 1); /* nothing is drawn from the machine */
    XML_SetUserData(b.parser, &b);
    XML_SetElementHandler(b.parser, begin, end);
    XML_SetStartDoctypeDeclHandler(b.parser, doctype);
    XML_SetEntityDeclHandler(b.parser, entity);
    if (XML_Parse(b.parser, text, (int)length, XML_TRUE) != XML_STATUS_OK) {
        take_error(&b);
    }
    XML_ParserFree(b.parser);
    *root_p = b.status == CS_OK ? b.root : NULL;
    return b.status;
}

const char *cs_xml_get(const cs_xml *element, const char *name)
{
    for (const char **a = element->attributes; *a != NULL; a += 2) {
        if (strcmp(a[0], name) == 0) {
            return a[1];
        }
    }
    return NULL;
}

void cs_xml_add_text(cs_text *text, const char *name, const char *value)
{
    cs_text_add(text, " %s=\"", name);
    for (const char *at = value; *at != '\0'; at++) {
        const char *instead = *at == '&'   ? "&amp;"
                              : *at == '<' ? "&lt;"
                              : *at == '"' ? "&quot;"
                                           : "";

        if (*instead != '\0') {
            cs_text_add(text, "%s", instead);
        } else if ((unsigned char)*at < ' ') {
            cs_text_add(text, "&#%d;", *at);
        } else {
            cs_text_add_bytes(text, at, 1);
        }
    }
    cs_text_add(text, "\"");
}

void cs_xml_add_real(cs_text *text, const char *name, double value)
{
    cs_text_add(text, " %s=\"", name);
    cs_text_add_number(text, value);
    cs_text_add(text, "\"");
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/xml.h -- XML as a tree of elements and attributes, from untrusted files. The only place
 * that sees Expat.
 *
 * No entities of one's own and no internal DTD: they are refused, an external DTD is never read.
 * Text between elements and comments are ignored.
 */
#ifndef CS_INPUT_XML_H
#define CS_INPUT_XML_H

#include "base/arena.h"
#include "base/text.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CS_XML_USUAL_DEPTH = 64, CS_XML_MAX_ELEMENTS = 1 << 20 };

/* All memory is the arena's. */
typedef struct cs_xml {
    const char    *name;
    const char   **attributes;                   /* name, value, name, value, .., NULL */
    struct cs_xml *parent, *child, *last, *next; /* first and last child, next sibling */
    int            line, column;
} cs_xml;

/* Read a document whose elements are nested at most `max_depth` deep: CS_XML_USUAL_DEPTH where the
 * reader calls itself for children. `input` names it in errors, which carry line and column.
 * O(length). */
cs_status cs_xml_parse(const char *text, size_t length, const char *input, uint32_t max_depth,
                       cs_arena *arena, cs_xml **root_p, cs_error *err);

/* The value of an attribute, or NULL. */
const char *cs_xml_get(const cs_xml *element, const char *name);

/* A whole number, or `fallback` where the attribute is absent or empty; false: it is something
 * else. */
bool cs_xml_number(const cs_xml *element, const char *name, long fallback, long *value_p);

/* Add an attribute, a blank before it, to a text that becomes XML. */
void cs_xml_add_text(cs_text *text, const char *name, const char *value);
void cs_xml_add_real(cs_text *text, const char *name, double value);

/* Fill the error with a message about an element and its place; the status is CS_EPARSE. */
#define CS_XML_FAIL(err, input, element, ...)                       \
    ((void)CS_FAIL((err), CS_EPARSE, (element)->name, __VA_ARGS__), \
     cs_error_locate((err), (input), (element)->line, (element)->column), CS_EPARSE)

#endif

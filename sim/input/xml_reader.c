/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text whose attributes have no blank between them is given these before it is read; places in it
 * are counted without them. */
#include "input/xml_reader.h"

#include "base/alloc.h"
#include "base/text.h"
#include "cs/units.h"

#include <ctype.h>
#include <string.h>

/* Blanks. */

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) != 0 || c == '_' || c == ':';
}

/* What a text is in the middle of. */
typedef struct scan {
    bool in_tag, in_comment;
    char quote; /* or 0 */
} scan;

/* Take one character; true: it closes a quotation. */
static bool scan_on(scan *s, const char *at, const char *end)
{
    size_t left = (size_t)(end - at);

    if (s->in_comment) {
        s->in_comment = left < 3 || memcmp(at, "-->", 3) != 0;
    } else if (s->quote != 0) {
        bool closes = *at == s->quote;
        if (closes) {
            s->quote = '\0';
        }
        return closes;
    } else if (s->in_tag) {
        if (*at == '"' || *at == '\'') {
            s->quote = *at;
        }
        s->in_tag = *at != '>';
    } else if (*at == '<') {
        s->in_comment = left >= 4 && memcmp(at, "<!--", 4) == 0;
        s->in_tag     = !s->in_comment;
    }
    return false;
}

/* Copy a text with a blank between any quotation and a name right behind it. */
static cs_status mend(cs_xml_reader *r, const char *text, size_t length, cs_text *mended)
{
    scan        s    = {0};
    const char *from = text, *end = text + length;
    int         line = 1, column = 1;

    for (const char *at = text; at < end; at++) {
        bool closes = scan_on(&s, at, end);

        column += ((unsigned char)*at & 0xc0u) != 0x80u;
        if (*at == '\n') {
            line++;
            column = 1;
        }
        if (closes && at + 1 < end && begins_name(at[1])) {
            if (!cs_grow(&r->blanks, &r->blank_room, r->n_blanks + 1, 64, sizeof *r->blanks)) {
                return CS_NO_MEMORY(r->err, "an XML file");
            }
            r->blanks[r->n_blanks++] = (cs_xml_blank){line, column++};
            cs_text_add_bytes(mended, from, (size_t)(at + 1 - from));
            cs_text_add_bytes(mended, " ", 1);
            from = at + 1;
        }
    }
    if (r->n_blanks > 0) {
        cs_text_add_bytes(mended, from, (size_t)(end - from));
    }
    return cs_text_status(mended, r->err);
}

/* How many blanks stand before a place of the mended text. */
static size_t blanks_before(const cs_xml_reader *r, int line, int column)
{
    size_t low = 0, high = r->n_blanks;

    while (low < high) {
        size_t              middle = low + (high - low) / 2;
        const cs_xml_blank *b      = &r->blanks[middle];
        if (b->line < line || (b->line == line && b->column < column)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int column_in_file(const cs_xml_reader *r, int line, int column)
{
    return column - (int)(blanks_before(r, line, column) - blanks_before(r, line, 0));
}

cs_xml *cs_xml_next(cs_xml *e, const cs_xml *top)
{
    if (e->child != NULL) {
        return e->child;
    }
    while (e != top && e->next == NULL) {
        e = e->parent;
    }
    return e == top ? NULL : e->next;
}

cs_status cs_xml_read(cs_xml_reader *r, const char *text, size_t length, cs_xml **root_p)
{
    cs_text   mended = {0};
    cs_error  own    = {0};
    cs_status status = CS_OK;

    status = mend(r, text, length, &mended);
    if (status == CS_OK) {
        bool is_whole = r->n_blanks == 0;
        status = cs_xml_parse(is_whole ? text : mended.data, is_whole ? length : mended.length,
                              r->input, r->max_depth, &r->arena, root_p, &own);
        if (status != CS_OK) {
            (void)CS_FAIL(r->err, status, own.where, "%s", own.message);
            cs_error_locate(r->err, r->input, own.input_line,
                            column_in_file(r, own.input_line, own.input_column));
        }
    }
    cs_text_free(&mended);
    for (cs_xml *e = status == CS_OK ? *root_p : NULL; e != NULL; e = cs_xml_next(e, *root_p)) {
        e->column = column_in_file(r, e->line, e->column);
    }
    return status;
}

void cs_xml_reader_free(cs_xml_reader *r)
{
    cs_arena_free(&r->arena);
    cs_free(r->blanks);
    *r = (cs_xml_reader){0};
}

/* Attributes. */

cs_status cs_xml_need_text(const cs_xml_reader *r, const cs_xml *e, const char *name,
                           const char **text_p)
{
    *text_p = cs_xml_get(e, name);
    return *text_p != NULL ? CS_OK : CS_XML_REFUSE(r, e, "the attribute '%s' is missing", name);
}

cs_status cs_xml_need_number(const cs_xml_reader *r, const cs_xml *e, const char *name,
                             uint32_t most, uint32_t *value_p)
{
    const char *text  = NULL;
    uint64_t    value = 0;

    CS_TRY(cs_xml_need_text(r, e, name, &text));
    if (cs_parse_integer(text, 0, most, &value, name, NULL) != CS_OK) {
        return CS_XML_REFUSE(r, e, "%s=\"%.40s\": accepted is 0 to %u", name, text, most);
    }
    *value_p = (uint32_t)value;
    return CS_OK;
}

cs_status cs_xml_take_real(const cs_xml_reader *r, const cs_xml *e, const char *name, bool may_be_0,
                           double unit, double *value_p)
{
    const char *text  = cs_xml_get(e, name);
    double      value = 0;

    if (text == NULL) {
        return CS_OK;
    }
    if (cs_parse_number(text, &value, name, NULL) != CS_OK || value < 0 || value > 1e9 ||
        (!may_be_0 && value * unit <= 0)) {
        return CS_XML_REFUSE(r, e, "%s=\"%.40s\": accepted is %s, up to 1e9", name, text,
                             may_be_0 ? "0 or more" : "more than 0");
    }
    *value_p = value * unit;
    return CS_OK;
}

cs_status cs_xml_take_number(const cs_xml_reader *r, const cs_xml *e, const char *name,
                             uint32_t most, uint32_t *value_p)
{
    return cs_xml_get(e, name) != NULL ? cs_xml_need_number(r, e, name, most, value_p) : CS_OK;
}

cs_status cs_xml_need_name(const cs_xml_reader *r, const cs_xml *e, const char *name)
{
    return strcmp(e->name, name) == 0
               ? CS_OK
               : CS_XML_REFUSE(r, e, "is not known here: accepted is <%s>", name);
}

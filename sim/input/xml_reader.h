/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/xml_reader.h -- one reading of an XML text that need not be well-formed in all: attributes
 * may stand side by side (id='1'ip='a'). Its elements one by one, and what their attributes say.
 * Whatever is wrong is refused with the place in the text as it was given.
 */
#ifndef CS_INPUT_XML_READER_H
#define CS_INPUT_XML_READER_H

#include "input/xml.h"

/* A blank that was put into the text; both count from 1. */
typedef struct cs_xml_blank {
    int line, column;
} cs_xml_blank;

/* Set the first group of fields. */
typedef struct cs_xml_reader {
    const char *input; /* what errors call the text */
    cs_error   *err;
    uint32_t    max_depth; /* of elements */

    cs_arena      arena; /* of the elements */
    cs_xml_blank *blanks;
    size_t        n_blanks, blank_room;
} cs_xml_reader;

/* Read the text; the elements are the reader's. O(length). */
CS_MUST_CHECK cs_status cs_xml_read(cs_xml_reader *r, const char *text, size_t length,
                                    cs_xml **root_p);
void                    cs_xml_reader_free(cs_xml_reader *r);

/* The element behind `e` of the tree below `top`, parents before children; NULL at the end. */
cs_xml *cs_xml_next(cs_xml *e, const cs_xml *top);

/* Refuse an element with another name. */
CS_MUST_CHECK cs_status cs_xml_need_name(const cs_xml_reader *r, const cs_xml *e, const char *name);

/* An attribute that must be there: any text; a whole number in [0, most]. */
CS_MUST_CHECK cs_status cs_xml_need_text(const cs_xml_reader *r, const cs_xml *e, const char *name,
                                         const char **text_p);
CS_MUST_CHECK cs_status cs_xml_need_number(const cs_xml_reader *r, const cs_xml *e,
                                           const char *name, uint32_t most, uint32_t *value_p);

/* One that may be missing, then *value_p stays as it is: a whole number in [0, most]; a number up
 * to 1e9, above 0 or from 0 on, times `unit`. */
CS_MUST_CHECK cs_status cs_xml_take_number(const cs_xml_reader *r, const cs_xml *e,
                                           const char *name, uint32_t most, uint32_t *value_p);
CS_MUST_CHECK cs_status cs_xml_take_real(const cs_xml_reader *r, const cs_xml *e, const char *name,
                                         bool may_be_0, double unit, double *value_p);

/* Refuse an element, or one of its attributes, for a reader `r`. */
#define CS_XML_REFUSE(r, element, ...) CS_XML_FAIL((r)->err, (r)->input, (element), __VA_ARGS__)

#endif

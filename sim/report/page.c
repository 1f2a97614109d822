/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTML file: the frame with its places filled. */
#include "report/page_parts.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

enum { POLICY_BYTES = 640 };

/* The last row, which has no name, where there is none. */
static const cs_page_part *part_of(const char *name)
{
    const cs_page_part *p = cs_page_parts;

    while (p->name != NULL && strcmp(p->name, name) != 0) {
        p++;
    }
    return p;
}

const char *cs_report_policy(bool is_live)
{
    static _Thread_local char policy[POLICY_BYTES];
    const cs_page_part *script = part_of("script"), *d3 = part_of("d3"), *style = part_of("style");

    if (script->name == NULL || d3->name == NULL || style->name == NULL) {
        return NULL;
    }
    (void)snprintf(policy, sizeof policy,
                   "default-src 'none'; script-src 'sha256-%s' 'sha256-%s'; style-src 'sha256-%s'; "
                   "img-src data: blob:; %sbase-uri 'none'; form-action 'none'",
                   d3->sha256, script->sha256, style->sha256,
                   is_live ? "connect-src 'self'; " : "");
    return policy;
}

/* JSON in HTML: what could end the element it stands in is escaped. */
static void add_data(cs_text *html, const cs_text *json)
{
    size_t begin = 0;

    for (size_t i = 0; i < json->length; i++) {
        if (json->data[i] == '<') {
            cs_text_add_bytes(html, json->data + begin, i - begin);
            cs_text_add(html, "\\u003c");
            begin = i + 1;
        }
    }
    cs_text_add_bytes(html, json->data + begin, json->length - begin);
}

static void add_text(cs_text *html, const cs_text *text)
{
    if (text->length > 0) {
        cs_text_add_bytes(html, text->data, text->length);
    }
}

static void add_part(cs_text *html, const char *name)
{
    const cs_page_part *part = part_of(name);
    cs_text_add_bytes(html, part->text, part->length);
}

/* Fill the place of that name. False: there is none. */
static bool add_place(const cs_report *r, bool is_live, const char *name, cs_text *html)
{
    const struct {
        const char    *name;
        const cs_text *text;
    } texts[] = {{"TITLE", &r->title},     {"HEADER", &r->header}, {"SENTENCE", &r->sentence},
                 {"BECAUSE", &r->because}, {"TILES", &r->tiles},   {"RANKING", &r->ranking},
                 {"SOURCE", &r->source}};
    static const char *const parts[][2] = {{"CSS", "style"}, {"D3", "d3"}, {"SCRIPT", "script"}};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(texts[i].name, name) == 0) {
            add_text(html, texts[i].text);
            return true;
        }
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i][0], name) == 0) {
            add_part(html, parts[i][1]);
            return true;
        }
    }
    if (strcmp(name, "DATA") == 0) {
        add_data(html, &r->data);
        return true;
    }
    if (strcmp(name, "CSP") == 0) {
        cs_text_add(html, "%s", cs_report_policy(is_live));
        return true;
    }
    return false;
}

cs_status cs_report_html(const cs_report *report, bool is_live, cs_text *html, cs_error *err)
{
    const cs_page_part *frame = part_of("html");
    char                name[32];

    if (frame->name == NULL) {
        return CS_FAIL(err, CS_EMISSING, "",
                       "this collsim was built without D3: install node-d3 (apt-get install "
                       "node-d3) and build again");
    }
    const char *at = frame->text, *end = frame->text + frame->length;
    while (at < end) {
        const char *open = memchr(at, '{', (size_t)(end - at));
        open             = open != NULL ? open : end;
        cs_text_add_bytes(html, at, (size_t)(open - at));
        const char *close = open + 2 < end ? strstr(open, "}}") : NULL;
        if (close == NULL || open[1] != '{' || (size_t)(close - open) - 2 >= sizeof name) {
            cs_text_add_bytes(html, open, open < end ? 1 : 0);
            at = open + 1;
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s", (int)(close - open) - 2, open + 2);
        if (!add_place(report, is_live, name, html)) {
            return CS_FAIL(err, CS_EINTERNAL, "", "the page has a place '%s'", name);
        }
        at = close + 2;
    }
    return cs_text_status(html, err);
}

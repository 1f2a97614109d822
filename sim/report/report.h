/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/report.h -- one page about results: what it is made of (sim/report/page/README.md), and
 * the HTML file.
 */
#ifndef CS_REPORT_REPORT_H
#define CS_REPORT_REPORT_H

#include "report/data.h"

typedef struct cs_report_options {
    const char *title;   /* of the page; NULL: what was run */
    const char *command; /* that makes it again; "" for none */
    const char *base;    /* name of the file that scenarios' files are looked for beside, or "" */
    const char *start;   /* NULL, or "COLUMN=VALUE,.." of the setting that is shown first */
    const char *description; /* what the configuration says of itself; NULL: nothing */
    const char *begin; /* of the sentence, in the place of what happens in a setting; or NULL */
    const char *doubt; /* a sentence behind every answer, or NULL */
    const char *chance, *late; /* JSON objects of these sections, or NULL: there is none */
    bool        is_live;       /* served by `collsim serve` */
    bool        has_runs;      /* replay the best and what it is compared with, for the timeline */
    size_t      most_cells;    /* 0: CS_SWEEP_MOST_CELLS; what is beyond is thinned */
} cs_report_options;

/* What a page is filled with; `{0}` may be freed. */
typedef struct cs_report {
    cs_text data;                                                     /* JSON, one line */
    cs_text title, header, sentence, because, tiles, ranking, source; /* HTML */
    cs_text notes; /* sentences for people, one a line: what was thinned or left out */
} cs_report;

/* Fill a report from results. They need a column of exposed times; where they say what was run
 * (their column `scenario`, cs_data.has_scenarios), the runs of the setting that is shown first are
 * replayed for the timeline. The same results give the same bytes. CS_EINVAL says what is wrong
 * with the results, or that `start` names no setting. */
CS_MUST_CHECK cs_status cs_report_make(const cs_data *data, const cs_report_options *options,
                                       cs_report *report, cs_error *err);
void                    cs_report_free(cs_report *report);

/* Add the whole page. CS_EMISSING, with what to install, where the program was built without D3. */
CS_MUST_CHECK cs_status cs_report_html(const cs_report *report, bool is_live, cs_text *html,
                                       cs_error *err);

/* What a browser is told to allow, for a page of cs_report_html(): the Content-Security-Policy,
 * with hashes of its scripts and its style. Static storage; NULL without D3. */
const char *cs_report_policy(bool is_live);

/* In front of what is run: where something is broken in all scenarios, sweep over that, too, so
 * that the page has what was before. An error where no scenario with what is broken can be built.
 */
CS_MUST_CHECK cs_status cs_report_before(cs_config *config, cs_error *err);

#endif

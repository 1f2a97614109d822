/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_WIDTH = 30, LINE_BYTES = 160 };

void cs_progress_begin(cs_progress *p, const char *what, bool is_bar, double now_s)
{
    *p = (cs_progress){.what = what, .is_bar = is_bar, .begun_s = now_s, .said_s = now_s};
}

void cs_duration_text(double time_s, char text[CS_DURATION_BYTES])
{
    if (time_s < 100) {
        (void)snprintf(text, CS_DURATION_BYTES, "%.0f s", ceil(time_s));
    } else if (time_s < 6000) {
        (void)snprintf(text, CS_DURATION_BYTES, "%.0f min", ceil(time_s / 60));
    } else {
        (void)snprintf(text, CS_DURATION_BYTES, "%.2g h", time_s / 3600);
    }
}

/* ", about 25 min left"; nothing where the pace is not known yet. */
static void left_text(const cs_progress *p, uint64_t done, uint64_t total, double now_s,
                      char text[LINE_BYTES])
{
    char duration[CS_DURATION_BYTES];

    text[0] = '\0';
    if (done > p->first_done && now_s > p->first_s && done < total) {
        double pace_s = (now_s - p->first_s) / (double)(done - p->first_done);
        cs_duration_text(pace_s * (double)(total - done), duration);
        (void)snprintf(text, LINE_BYTES, ", about %s left", duration);
    }
}

static void draw(cs_progress *p, uint64_t done, uint64_t total, const char *left, cs_text *text)
{
    char bar[BAR_WIDTH + 1], line[2 * LINE_BYTES];
    int  full    = (int)((double)done / (double)total * BAR_WIDTH);
    int  percent = (int)((double)done / (double)total * 100);

    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)full);
    bar[BAR_WIDTH] = '\0';
    (void)snprintf(line, sizeof line, "[%s] %s: %" PRIu64 " of %" PRIu64 ", %d %%%s", bar, p->what,
                   done, total, percent, left);
    size_t columns = strlen(line);
    size_t blank   = p->drawn_columns > columns ? p->drawn_columns - columns : 0;
    cs_text_add(text, "\r%s%*s", line, (int)blank, "");
    p->drawn_columns = columns + blank;
}

void cs_progress_step(cs_progress *p, uint64_t done, uint64_t total, double now_s, cs_text *text)
{
    char left[LINE_BYTES];

    if (total == 0) {
        return;
    }
    done = done < total ? done : total;
    if (!p->has_first) {
        p->has_first  = true;
        p->first_done = done > 1 ? done : 0; /* one item may be the first that took its time */
        p->first_s    = done > 1 ? now_s : p->begun_s;
    }
    bool is_early = p->is_bar && now_s - p->begun_s < CS_PROGRESS_BEGIN_S;
    bool is_due   = now_s - p->said_s >= (p->is_bar ? CS_PROGRESS_DRAW_S : CS_PROGRESS_LINE_S);
    bool is_useless = !p->is_bar && done == total; /* the answer comes now */
    if (is_early || !is_due || is_useless) {
        return;
    }
    p->said_s = now_s;
    left_text(p, done, total, now_s, left);
    if (p->is_bar) {
        draw(p, done, total, left, text);
    } else {
        cs_text_add(text, "collsim: %s: %" PRIu64 " of %" PRIu64 ", %d %%%s\n", p->what, done,
                    total, (int)((double)done / (double)total * 100), left);
    }
}

void cs_progress_hide(cs_progress *p, cs_text *text)
{
    if (p->drawn_columns > 0) {
        cs_text_add(text, "\r%*s\r", (int)p->drawn_columns, "");
        p->drawn_columns = 0;
    }
}

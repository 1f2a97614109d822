/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What links counted, as a table, JSON, CSV and counter tracks: seven ranks send to the eighth at
 * once over the packet model. */
#include "output/link_counters.h"

#include "base/alloc.h"
#include "cs/result.h"
#include "output/chrome_trace.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 400 Gb/s and 1 us of alpha, packets of 4096 + 82 B: 83.56 ns each, 256 of them from each. */
#define SECONDS 150.82308e-6
enum { N = 8, PACKET = 4178, EACH = 256, SENDERS = N - 1 };

typedef struct fan_in {
    ct_scene         scene;
    ct_stream        stream;
    cs_link_counters counters;
    cs_recording     recording;
    cs_outcome       outcome;
} fan_in;

static const cs_model *packet(void)
{
    const cs_model *model = NULL;
    cr_assert_eq(cs_model_find("packet", &model, NULL), CS_OK);
    return model;
}

static cs_status run(fan_in *f, double sample_s, cs_error *err)
{
    cs_plan plan = {.n_chunks = 1, .n_slots = 1, .n_rounds = 1};

    ct_scene_set(&f->scene, "ring", CS_ALLREDUCE, N, 1000);
    f->scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 1e-6, 50e9};
    for (uint32_t r = 1; r < N && f->stream.count < SENDERS; r++) {
        ct_stream_send(&f->stream, &f->scene.scenario.cluster, r, 0, EACH * 4096, CS_OP_COPY,
                       CS_OWN_SRC);
    }
    ct_scene_play(&f->scene, &f->stream, &plan);
    f->recording.limits[0]        = cs_chrome_trace_limit;
    const cs_observer observers[] = {
        cs_recording_observer(&f->recording),
        cs_link_counters_observer(&f->counters, &f->scene.scenario.cluster, sample_s)};
    cs_job job = ct_scene_job(&f->scene, NULL);
    job.verify = false;
    cs_job_set_model(&job, packet(), NULL);
    return cs_job_replay(&job, observers, 2, &f->outcome, err);
}

static void end(fan_in *f)
{
    cs_link_counters_free(&f->counters);
    cs_recording_free(&f->recording);
    ct_stream_free(&f->stream);
}

/* All come at once and one is served at a time: when the last ones have come, as many have started
 * as one rank has sent. */
static uint64_t deepest(void)
{
    return (uint64_t)(SENDERS - 1) * EACH * PACKET;
}

Test(link_counters, a_result_has_totals_and_every_link_its_own)
{
    static fan_in f;

    cr_assert_eq(run(&f, 0, NULL), CS_OK);
    cr_assert_float_eq(f.outcome.elapsed_s, SECONDS, 1e-15);
    cr_assert_eq(f.outcome.counts.packets, SENDERS * EACH);
    cr_assert_eq(f.outcome.counts.drops, 0);
    cr_assert_eq(f.counters.report.n_links, 2 * N);
    cr_assert_eq(f.counters.report.n_samples, 0);
    const cs_link_counts *into = &f.counters.links[N];
    cr_assert_eq(into->packets, SENDERS * EACH);
    cr_assert_eq(into->bytes, SENDERS * EACH * PACKET);
    cr_assert_eq(into->deepest_bytes, deepest(), "%llu", (unsigned long long)into->deepest_bytes);
    cr_assert_float_eq(into->busy_s, SENDERS * EACH * 83.56e-9, 1e-15);
    cr_assert_eq(f.counters.links[1].packets, EACH);
    cr_assert_eq(f.counters.links[1].deepest_bytes, 0);
    end(&f);
}

Test(link_counters, models_that_count_nothing_say_so)
{
    static ct_scene  scene;
    cs_link_counters counters = {0};
    cs_outcome       outcome;

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1000);
    ct_scene_ready(&scene);
    for (size_t i = 0; cs_models[i] != NULL; i++) {
        const cs_network *network  = cs_models[i]->network;
        cs_observer       observer = cs_link_counters_observer(&counters, NULL, 0);
        cs_job            job      = ct_scene_job(&scene, NULL);
        if (network != NULL && (network->watch != NULL || network->is_foreign)) {
            continue;
        }
        cs_job_set_model(&job, cs_models[i], NULL);
        cr_assert_eq(cs_job_replay(&job, &observer, 1, &outcome, NULL), CS_OK);
        cr_assert_eq(outcome.counts.packets, CS_NO_COUNT);
        cr_assert_eq(counters.report.n_links, 0);
    }
}

Test(link_counters, the_worst_link_stands_first_in_the_table)
{
    static fan_in f;
    cs_text       text = {0};
    char          line[200];

    cr_assert_eq(run(&f, 0, NULL), CS_OK);
    cr_assert_eq(cs_link_counters_table(&text, &f.counters, f.outcome.elapsed_s, 3, NULL), CS_OK);
    (void)snprintf(line, sizeof line,
                   "\n#   %12llu  %8d  %11.3f  %8d  %8d  %7.2f  NIC into rank 0\n",
                   (unsigned long long)deepest(), 0, 0.0, 0, 0, 100 * 149.73952 / 150.82308);
    cr_assert_not_null(strstr(text.data, "# links: 8 of 16 in use"), "%s", text.data);
    cr_assert_not_null(strstr(text.data, line), "%s not in %s", line, text.data);
    cr_assert_not_null(strstr(text.data, "14.18  NIC out of rank 1\n"), "%s", text.data);
    cr_assert_not_null(strstr(text.data, "... 5 more ..."));
    cs_text_free(&text);
    end(&f);
}

Test(link_counters, json_has_the_links_that_were_used)
{
    static fan_in f;
    cs_text       text = {0};

    cr_assert_eq(run(&f, 0, NULL), CS_OK);
    cs_link_counters_json(&text, &f.counters, f.outcome.elapsed_s);
    json_t *json  = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    json_t *links = json_object_get(json, "links"), *last = json_array_get(links, 7);
    cr_assert_eq(json_array_size(links), 8, "%s", text.data);
    cr_assert_str_eq(json_string_value(json_object_get(last, "link")), "NIC into rank 0");
    cr_assert_eq((uint64_t)json_integer_value(json_object_get(last, "deepest_bytes")), deepest());
    cr_assert_float_eq(json_real_value(json_object_get(last, "use_fraction")),
                       149.73952 / 150.82308, 1e-12);
    json_decref(json);
    cs_text_free(&text);
    end(&f);
}

/* Intervals of 10 us: 119 packets and two thirds start in one. */
Test(link_counters, the_csv_has_a_line_for_an_interval_and_link)
{
    static fan_in f;
    cs_text       text  = {0};
    uint64_t      bytes = 0, most = 0, lines = 0;

    cr_assert_eq(run(&f, 10e-6, NULL), CS_OK);
    cs_link_counters_csv(&text, &f.counters);
    char *line = strtok(text.data, "\n");
    cr_assert_str_eq(line, "from_s,until_s,link,queue_bytes,carried_bytes,paused_s,drops,marks");
    double last_s = 0;
    while ((line = strtok(NULL, "\n")) != NULL) {
        char               name[80];
        double             from_s, until_s, paused_s;
        unsigned long long queue, carried, drops, marks;
        cr_assert_eq(sscanf(line, "%lf,%lf,%79[^,],%llu,%llu,%lf,%llu,%llu", &from_s, &until_s,
                            name, &queue, &carried, &paused_s, &drops, &marks),
                     8);
        cr_assert(from_s >= last_s && fabs(until_s - from_s - 10e-6) < 1e-18, "%s", line);
        last_s       = from_s;
        bool is_into = strcmp(name, "NIC into rank 0") == 0;
        bytes += is_into ? carried : 0;
        most = queue > most ? queue : most;
        cr_assert(is_into || queue == 0);
        cr_assert(!is_into || (carried <= 120 * PACKET && lines < 16));
        lines += is_into;
    }
    cr_assert_eq(bytes, SENDERS * EACH * PACKET);
    cr_assert_eq(most, deepest());
    cr_assert_eq(lines, 16);
    cs_text_free(&text);
    end(&f);
}

/* One track of the queue, eight of rates; every track ends at 0. */
Test(link_counters, the_timeline_has_tracks)
{
    static fan_in f;
    cs_text       text = {0};
    json_t       *event;
    size_t        i, n_queue = 0, n_rate = 0;
    double        queue = -1, most = 0, time_us = 0;

    cr_assert_eq(run(&f, CS_SAMPLE_AUTO, NULL), CS_OK);
    cr_assert_eq(cs_chrome_trace(&f.recording, &f.scene.scenario, &f.counters, NULL, &text, NULL),
                 CS_OK);
    json_t *json = json_loads(text.data, 0, NULL), *events = json_object_get(json, "traceEvents");
    json_array_foreach(events, i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        json_t     *args = json_object_get(event, "args");
        if (strcmp(json_string_value(json_object_get(event, "ph")), "C") != 0) {
            continue;
        }
        if (strcmp(name, "queue NIC into rank 0") == 0) {
            queue = json_number_value(json_object_get(args, "bytes"));
            most  = fmax(most, queue);
            cr_assert(json_number_value(json_object_get(event, "ts")) > time_us || n_queue == 0);
            time_us = json_number_value(json_object_get(event, "ts"));
            n_queue++;
        }
        cr_assert(strncmp(name, "queue", 5) != 0 || strcmp(name, "queue NIC into rank 0") == 0);
        n_rate += strncmp(name, "rate NIC", 8) == 0;
        cr_assert_null(strstr(name, "paused"));
    }
    cr_assert_eq(queue, 0);
    cr_assert_eq((uint64_t)most, deepest());
    cr_assert_gt(n_queue, 300);
    cr_assert_gt(n_rate, 2 * n_queue);
    json_decref(json);
    cs_text_free(&text);
    end(&f);
}

/* Deep queues before drops, before long pauses, before use; idle links are left out. */
Test(link_counters, the_worst_come_first)
{
    static cs_link_counts links[] = {
        {.packets = 1, .busy_s = 1},       {.packets = 1, .busy_s = 2},
        {.packets = 1, .drops = 2},        {.packets = 0},
        {.packets = 1, .drops = 3},        {.packets = 1, .paused_s = 1},
        {.packets = 1, .deepest_bytes = 9}};
    static const uint32_t  want[]   = {6, 4, 2, 5, 1, 0};
    const cs_link_counters counters = {.links = links, .report = {.n_links = 7}};
    uint32_t              *order, n;

    cr_assert_eq(cs_link_counters_order(&counters, &order, &n, NULL), CS_OK);
    cr_assert_eq(n, 6);
    for (uint32_t i = 0; i < n; i++) {
        cr_expect_eq(order[i], want[i], "place %u: link %u", i, order[i]);
    }
    cs_free(order);
}

/* A track goes back to 0 where an interval has no sample. */
Test(link_counters, tracks_fall_between_samples)
{
    static cs_link_counts links[2]  = {{.packets = 2, .deepest_bytes = 8, .pauses = 1}};
    static cs_link_sample samples[] = {{.interval = 0, .queue_bytes = 8, .bytes = 5000},
                                       {.interval = 4, .queue_bytes = 3, .paused_s = 5e-7}};
    cs_scenario           scenario  = {
                   .cluster = {.n_ranks = 1, .gpus_per_server = 1, .fabrics = {{CS_SWITCHED, 0, 1}}}};
    const cs_link_counters counters = {
        .cluster = &scenario.cluster, .links = links, .report = {2, links, 1e-6, 2, samples}};
    cs_recording             recording = {0};
    cs_text                  text      = {0};
    static const char *const want[]    = {
           "\"ts\":0.000000,\"name\":\"queue NIC out of rank 0\",\"args\":{\"bytes\":8}}",
           "\"ts\":0.000000,\"name\":\"rate NIC out of rank 0\",\"args\":{\"GB/s\":5}}",
           "\"ts\":1.000000,\"name\":\"queue NIC out of rank 0\",\"args\":{\"bytes\":0}}",
           "\"ts\":1.000000,\"name\":\"rate NIC out of rank 0\",\"args\":{\"GB/s\":0}}",
           "\"ts\":4.000000,\"name\":\"queue NIC out of rank 0\",\"args\":{\"bytes\":3}}",
           "\"ts\":4.000000,\"name\":\"paused NIC out of rank 0\",\"args\":{\"share\":0.5}}",
           "\"ts\":5.000000,\"name\":\"queue NIC out of rank 0\",\"args\":{\"bytes\":0}}",
           "\"ts\":5.000000,\"name\":\"paused NIC out of rank 0\",\"args\":{\"share\":0}}"};

    cr_assert_eq(cs_chrome_trace(&recording, &scenario, &counters, NULL, &text, NULL), CS_OK);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        cr_expect_not_null(strstr(text.data, want[i]), "%s not in %s", want[i], text.data);
    }
    cr_expect_null(strstr(text.data, "\"ts\":2.0"));
    cr_expect_null(strstr(text.data, "NIC into"));
    cs_text_free(&text);
}

Test(link_counters, a_timeline_has_tracks_of_some_links)
{
    enum { RANKS = 50, LINKS = 2 * RANKS };
    static cs_link_counts links[LINKS];
    static cs_link_sample samples[LINKS];
    cs_scenario           scenario = {
                  .cluster = {.n_ranks = RANKS, .gpus_per_server = 1, .fabrics = {{CS_SWITCHED, 0, 1}}}};
    const cs_link_counters counters  = {.cluster = &scenario.cluster,
                                        .links   = links,
                                        .report  = {LINKS, links, 1e-6, LINKS, samples}};
    cs_recording           recording = {0};
    cs_text                text      = {0};
    int                    n         = 0;

    for (uint32_t l = 0; l < LINKS; l++) {
        links[l]   = (cs_link_counts){.packets = 1, .deepest_bytes = l};
        samples[l] = (cs_link_sample){.link = l, .bytes = 1000};
    }
    cr_assert_eq(cs_chrome_trace(&recording, &scenario, &counters, NULL, &text, NULL), CS_OK);
    for (const char *at = text.data; (at = strstr(at, "\"args\":{\"GB/s\":1}")) != NULL; at++) {
        n++;
    }
    cr_expect_eq(n, CS_CHROME_TRACE_MOST_LINKS);
    cr_expect_not_null(strstr(text.data, "NIC into rank 49"));
    cr_expect_null(strstr(text.data, "NIC out of rank 0\""));
    cs_text_free(&text);
}

Test(link_counters, names_say_which_port)
{
    cs_cluster       c        = {.n_ranks         = 8,
                                 .gpus_per_server = 4,
                                 .sockets         = 1,
                                 .fabrics         = {{CS_SWITCHED, 0, 1}, {CS_DIRECT, 0, 1}}};
    cs_link_counters counters = {.cluster = &c};
    static const struct {
        uint32_t    link;
        const char *name;
    } cases[] = {{3, "NIC out of rank 3"},
                 {8 + 4 * 5 + 2, "NVLink out of rank 5 to rank 6"},
                 {40 + 7, "NIC into rank 7"},
                 {40 + 8 + 4 * 1 + 3, "NVLink into rank 1 from rank 3"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[CS_COUNTED_NAME_BYTES];
        cs_link_counters_name(&counters, cases[i].link, name);
        cr_expect_str_eq(name, cases[i].name);
    }
}

Test(link_counters, any_allocation_may_fail)
{
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    for (; status != CS_OK && passes < 1000; passes++) {
        static fan_in f;
        cs_text       text = {0};
        cs_error      err  = {0};
        f                  = (fan_in){0};
        cs_alloc_fail_after(passes);
        status = run(&f, 1e-6, &err);
        if (status == CS_OK) {
            status =
                cs_chrome_trace(&f.recording, &f.scene.scenario, &f.counters, NULL, &text, &err);
        }
        if (status == CS_OK) {
            status = cs_link_counters_table(&text, &f.counters, 1, 3, &err);
        }
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && err.message[0] != '\0'));
        cs_text_free(&text);
        end(&f);
    }
    cr_assert(status == CS_OK && passes > 20, "%ld", passes);
}

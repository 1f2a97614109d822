/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph of a topology: every device, switch and link is in it once, with its rate, and wide in
 * proportion to it; what is alike shares a box. Graphviz draws all of them, and its absence or its
 * refusal leaves nothing behind. */
#include "base/alloc.h"
#include "base/arena.h"
#include "output/topology_view.h"
#include "support/config.h"
#include "support/folder.h"
#include "topology/topology_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct sight {
    cs_config       *config;
    cs_case          c;
    cs_topology_file file;
    cs_arena         arena;
    cs_topology_view view;
} sight;

static void look(sight *s, const char *topology, const char *ranks, const char *gpus)
{
    cs_error err = {0};

    *s = (sight){0};
    cr_assert_eq(cs_config_new(&s->config, &err), CS_OK);
    ct_set(s->config, "cluster.topology", topology);
    ct_set(s->config, "model.name", "flow");
    if (ranks != NULL) {
        ct_set(s->config, "cluster.ranks", ranks);
    }
    if (gpus != NULL) {
        ct_set(s->config, "cluster.gpus_per_server", gpus);
    }
    cr_assert_eq(cs_config_case(s->config, 0, &s->c, &err), CS_OK, "%s: %s", topology, err.message);
    s->view = (cs_topology_view){.name = "shown", .cluster = &s->c.job.scenario.cluster};
}

/* Servers of a preset or a file, drawn device by device. */
static void look_at_servers(sight *s, const char *name, const char *ranks)
{
    char     json[600];
    cs_error err = {0};

    (void)snprintf(json, sizeof json, "\"%s\"", name);
    look(s, json, ranks, NULL);
    cr_assert_eq(cs_topology_open(name, &s->arena, &s->file, &err), CS_OK, "%s", err.message);
    s->view.site = &s->file.site;
}

static void look_away(sight *s)
{
    cs_topology_file_close(&s->file);
    cs_arena_free(&s->arena);
    cs_case_free(&s->c);
    cs_config_free(s->config);
}

static cs_text dot_of(const sight *s)
{
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_topology_dot(&s->view, &text, &err), CS_OK, "%s", err.message);
    return text;
}

static size_t count(const cs_text *text, const char *words)
{
    size_t n = 0;

    for (const char *at = text->data; (at = strstr(at, words)) != NULL; at += strlen(words)) {
        n++;
    }
    return n;
}

static void expect(const cs_text *text, const char *words, size_t times)
{
    cr_expect_eq(count(text, words), times, "%zu times, not %zu: %s\n%s", count(text, words), times,
                 words, text->data);
}

/* The number of the first box whose label begins so. */
static long box_of(const cs_text *text, const char *label)
{
    char words[160];

    (void)snprintf(words, sizeof words, " [label=\"%s", label);
    const char *at = strstr(text->data, words);
    cr_assert_not_null(at, "%s\n%s", label, text->data);
    while (at > text->data && at[-1] != ' ') {
        at--;
    }
    cr_assert_eq(strncmp(at, "box", 3), 0);
    return strtol(at + 3, NULL, 10);
}

/* The line between two boxes, the upper one first: is it there once, with these attributes? */
static void expect_line(const cs_text *text, const char *above, const char *below,
                        const char *attributes)
{
    char words[200];

    (void)snprintf(words, sizeof words, "  box%ld -- box%ld [%s", box_of(text, above),
                   box_of(text, below), attributes);
    expect(text, words, 1);
}

static const char leaf_spine[] = "{\"kind\": \"leaf-spine\", \"leaves\": 8, \"spines\": 4, "
                                 "\"uplink_bandwidth\": \"400Gb/s\", \"hop_latency\": \"300ns\"}";

Test(topology_dot, leaves_spines_and_their_ranks)
{
    sight s;

    look(&s, leaf_spine, "64", NULL);
    cs_text text = dot_of(&s);
    expect(&text, "[label=\"leaf ", 8);
    expect(&text, "[label=\"leaf 7\\n200 GB/s\"", 1);
    expect(&text, "[label=\"spine ", 4);
    expect(&text, "[label=\"spine 3\\n400 GB/s\"", 1);
    expect(&text, "[label=\"rank ", 8);
    expect(&text, "[label=\"rank 56 .. 63\\n8 x 450 GB/s\"", 1);
    expect(&text, " penwidth=2.5 tooltip=\"50 GB/s, 0.3 us\"]", 32);
    expect_line(&text, "spine 0", "leaf 0", "color=\"#666666\" penwidth=2.5 ");
    expect_line(&text, "leaf 7", "rank 56", "color=\"#38761d\" penwidth=1]");
    expect(&text, "[color=\"#38761d\"", 8);
    expect(&text, "shown: leaf-spine, 64 ranks, 1 per server\\l", 1);
    expect(&text, "a link: 50 GB/s a direction", 1);
    cs_text_free(&text);
    look_away(&s);
}

/* A level of switches that is too wide: as many boxes as fit, of equally many switches, with the
 * ranks of all of them; what fits is drawn one by one. */
Test(topology_dot, many_leaves_are_few_boxes)
{
    sight s;

    look(&s,
         "{\"kind\": \"leaf-spine\", \"leaves\": 32, \"spines\": 4, \"uplink_bandwidth\": "
         "\"400Gb/s\"}",
         "256", NULL);
    cs_text text = dot_of(&s);
    expect(&text, "[label=\"leaf ", 8);
    expect(&text, "[label=\"leaf 0 .. 3\\n4 x 200 GB/s\"", 1);
    expect(&text, "[label=\"leaf 28 .. 31\\n4 x 200 GB/s\"", 1);
    expect(&text, "[label=\"spine ", 4);
    expect(&text, "[label=\"spine 3\\n1600 GB/s\"", 1);
    expect(&text, "[label=\"rank ", 8);
    expect(&text, "[label=\"rank 224 .. 255\\n32 x 450 GB/s\"", 1);
    expect(&text, " tooltip=\"50 GB/s\"]", 32); /* from each spine to each box of leaves */
    expect(&text, "[color=\"#38761d\"", 8);
    expect(&text, "a box of several has the lines of all of them", 1);
    cs_text_free(&text);
    look_away(&s);
}

/* Pods stay what they are: switches of one pod share a box, a box of cores meets all pods. */
Test(topology_dot, pods_stay_apart)
{
    sight s;

    look(&s,
         "{\"kind\": \"fat-tree\", \"leaf_servers\": 2, \"uplinks\": 4, \"pod_leaves\": 4, "
         "\"oversubscription\": 2}",
         "256", "4");
    cs_text text = dot_of(&s);
    expect(&text, "[label=\"leaf ", 8);
    expect(&text, "[label=\"leaf 4 .. 7\\n", 1);
    expect(&text, "[label=\"spine ", 8);
    expect(&text, "[label=\"spine 1.0 .. 3\\n", 1);
    expect_line(&text, "spine 1.0", "leaf 4 ..", "color=\"#666666\"");
    char none[80];
    (void)snprintf(none, sizeof none, "  box%ld -- box%ld [color", box_of(&text, "spine 1.0"),
                   box_of(&text, "leaf 0 .."));
    expect(&text, none, 0);
    expect_line(&text, "leaf 4 ..", "rank 32 .. 63", "color=\"#38761d\"");
    cs_text_free(&text);
    look_away(&s);
}

/* Points of a page are 4/3 pixels. */
static double pixels_across(const cs_topology_view *view)
{
    cs_text  text   = {0};
    cs_error err    = {0};
    double   points = 0;

    cr_assert_eq(cs_topology_svg(view, &text, &err), CS_OK, "%s", err.message);
    const char *at = strstr(text.data, "<svg width=\"");
    cr_assert_not_null(at);
    cr_assert_eq(sscanf(at, "<svg width=\"%lfpt\"", &points), 1, "%.80s", at);
    cr_expect_not_null(strstr(text.data, "<title>shown: "));
    cr_expect_eq(count(&text, "<title>"), 1);
    cs_text_free(&text);
    return points * 4 / 3;
}

/* No picture is wider than a screen: of no preset, and of no network of many switches. */
Test(topology_dot, pictures_are_no_wider_than_a_screen)
{
    static const char *const presets[] = {
        "dgx-a100",    "dgx-h100",     "hgx-b200",         "mi300x",           "nvl72",
        "p5.48xlarge", "p4d.24xlarge", "parallel-rings-a", "parallel-rings-b", "adapcc"};
    static const struct {
        const char *json, *ranks, *gpus;
    } networks[] = {
        {"{\"kind\": \"leaf-spine\", \"leaves\": 16, \"spines\": 16, \"uplink_bandwidth\": 1e9}",
         "128", "1"},
        {"{\"kind\": \"leaf-spine\", \"leaves\": 31, \"spines\": 13, \"uplink_bandwidth\": 1e9}",
         "992", "1"},
        {"{\"kind\": \"leaf-spine\", \"leaves\": 128, \"spines\": 4, \"uplink_bandwidth\": 1e9}",
         "1024", "1"},
        {"{\"kind\": \"leaf-spine\", \"leaves\": 2, \"spines\": 256, \"uplink_bandwidth\": 1e9}",
         "16", "1"},
        {"{\"kind\": \"rails\", \"spines\": 16, \"oversubscription\": 4}", "1024", "8"},
        {"{\"kind\": \"fat-tree\", \"leaf_servers\": 2, \"uplinks\": 4, \"pod_leaves\": 4, "
         "\"oversubscription\": 2}",
         "512", "8"},
        {"\"nvl72\"", "144", NULL},
        {"\"p5.48xlarge\"", "16", NULL},
    };
    sight s;

    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        look_at_servers(&s, presets[i], NULL);
        cr_expect_leq(pixels_across(&s.view), 1600, "%s", presets[i]);
        look_away(&s);
    }
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        look(&s, networks[i].json, networks[i].ranks, networks[i].gpus);
        double across = pixels_across(&s.view);
        cr_expect_leq(across, 1600, "%s: %g", networks[i].json, across);
        look_away(&s);
    }
}

/* Local rank i of all servers is on rail i. */
Test(topology_dot, rails)
{
    sight s;

    look(&s, "{\"kind\": \"rails\", \"spines\": 2, \"oversubscription\": 4}", "32", "8");
    cs_text text = dot_of(&s);
    expect(&text, "[label=\"rail 0.", 8);
    expect(&text, "[label=\"spine ", 2);
    expect(&text, "[label=\"rank 3, 11 .. 27\\n4 x 450 GB/s\"", 1);
    expect(&text, " tooltip=\"225 GB/s\"]", 16);
    cs_text_free(&text);
    look_away(&s);
}

/* Up to 16 ranks have boxes of their own; lines are as wide as they are fast, and say it while they
 * are few; parallel links are one line, those of one direction have arrows. */
Test(topology_dot, graphs_with_links_that_differ)
{
    static const char graph[] =
        "{\"kind\": \"graph\", \"nodes\": [\"l0\", \"l\\\"1\", \"s0\"], \"links\": ["
        "{\"from\": \"l0\", \"to\": \"s0\", \"bandwidth\": \"100Gb/s\"},"
        "{\"from\": \"s0\", \"to\": \"l0\", \"bandwidth\": \"100Gb/s\"},"
        "{\"from\": \"l\\\"1\", \"to\": \"s0\", \"bandwidth\": \"400Gb/s\", \"latency\": \"1us\"},"
        "{\"from\": \"s0\", \"to\": \"l0\", \"bandwidth\": \"25GB/s\", \"duplex\": false}],"
        "\"ranks\": [\"l0\", \"l0\", \"l\\\"1\", \"l\\\"1\"]}";
    sight s;

    look(&s, graph, "4", NULL);
    cs_text text = dot_of(&s);
    expect(&text, "[label=\"rank ", 4);
    expect(&text, "[label=\"l\\\"1\\n50 GB/s\"", 1);
    expect(&text, "[label=\"s0\\n100 GB/s\"", 1);
    expect(&text, " penwidth=1 tooltip=\"2 x 12.5 GB/s\" label=\" 2 x 12.5 GB/s \"]", 1);
    expect(&text, " penwidth=2.5 tooltip=\"50 GB/s, 1 us\" label=\" 50 GB/s, 1 us \"]", 1);
    expect_line(&text, "s0", "l0",
                "color=\"#666666\" penwidth=1.5 dir=forward tooltip=\"25 GB/s\"");
    expect(&text, "a link: 12.5 to 50 GB/s a direction", 1);
    expect(&text, "style=invis", 3); /* the ranks, in their order */
    expect(&text, "layout=neato", 0);
    cs_text_free(&text);
    look_away(&s);
}

/* Where ranks are attached to every node, nothing is above anything else. */
Test(topology_dot, flat_graphs_lie_in_the_plane)
{
    static const char ring[] =
        "{\"kind\": \"graph\", \"nodes\": [\"a\", \"b\", \"c\", \"d\", \"e\"], \"links\": ["
        "{\"from\": \"a\", \"to\": \"b\", \"bandwidth\": \"10GB/s\"},"
        "{\"from\": \"b\", \"to\": \"c\", \"bandwidth\": \"10GB/s\"},"
        "{\"from\": \"c\", \"to\": \"d\", \"bandwidth\": \"10GB/s\"},"
        "{\"from\": \"d\", \"to\": \"e\", \"bandwidth\": \"10GB/s\"},"
        "{\"from\": \"e\", \"to\": \"a\", \"bandwidth\": \"10GB/s\"}],"
        "\"ranks\": [\"a\", \"b\", \"c\", \"d\", \"e\"]}";
    sight s;

    look(&s, ring, "5", NULL);
    cs_text text = dot_of(&s);
    expect(&text, "layout=neato", 1);
    expect(&text, "constraint=false", 5);
    cs_text_free(&text);
    look_away(&s);
}

Test(topology_dot, ports_alone)
{
    sight s;

    look(&s, "{\"kind\": \"crossbar\"}", "40", "2");
    cs_text text = dot_of(&s);
    expect(&text, "[label=\"crossbar\"", 1);
    expect(&text, "[label=\"rank 0 .. 39\\n40 x 450 GB/s\"", 1);
    cs_text_free(&text);
    look_away(&s);
}

/* The links of stated routes are boxes, both directions one, joined as routes go. */
Test(topology_dot, stated_routes)
{
    char  json[600];
    sight s;

    (void)snprintf(json, sizeof json, "\"%s/configs/platform.xml\"", COLLSIM_SOURCE_DIR);
    look(&s, json, NULL, NULL);
    cs_text text = dot_of(&s);
    expect(&text, "[label=\"nic-", 4);
    expect(&text, "[label=\"nic-d\\n12.5 GB/s\"", 1);
    expect(&text, "[label=\"trunk\\n6.25 GB/s\"", 1);
    expect(&text, "[label=\"rank ", 4);
    expect(&text, "[color=\"#666666\" penwidth=1]", 4); /* a, b, c and d with the trunk */
    expect(&text, "[color=\"#666666\" penwidth=1 constraint=false]", 2); /* a with b, c with d */
    expect(&text, "[color=\"#38761d\" penwidth=1]", 4);
    cs_text_free(&text);
    look_away(&s);
}

/* Links between the parts of servers, where the servers themselves are not known. */
Test(topology_dot, routes_inside_servers)
{
    sight s;

    look(&s, "{\"preset\": \"adapcc\", \"servers\": 2}", NULL, NULL);
    cs_text text = dot_of(&s);
    expect(
        &text,
        "[label=\"wire out of NIC nic0, server 0, wire in of NIC nic0, server 0\\n2 x 12.5 GB/s\"",
        1);
    expect(&text, "[label=\"PCIe of gpu2 up, server 1 .. PCIe of gpu3 down, server 1\\n", 1);
    expect(&text, "[label=\"rank ", 8);
    cs_text_free(&text);
    look_away(&s);
}

Test(topology_dot, a_server_with_switches)
{
    sight s;

    look_at_servers(&s, "dgx-h100", "16");
    cs_text text = dot_of(&s);
    expect(&text, "\"servers 0 .. 1, 8 GPUs\"", 1);
    expect(&text, "[label=\"NVSwitches\\n450 GB/s a GPU\"", 1);
    expect(&text, "[label=\"socket ", 0);
    expect(&text, "label=\"socket ", 2);
    expect(&text, "[label=\"gpu", 8);
    expect(&text, "[label=\"gpu7\\nPCIe 63 GB/s\"", 1);
    expect(&text, "[label=\"PCIe switch\\nup 63 GB/s\"", 8);
    expect(&text, "[label=\"PCIe root\"", 0);
    expect(&text, "[label=\"nic7\\n50 GB/s\"", 1);
    expect_line(&text, "NVSwitches", "gpu7", "color=\"#38761d\" penwidth=2]");
    expect_line(&text, "gpu0", "PCIe switch", "color=\"#666666\" penwidth=1 weight=8]");
    expect_line(&text, "PCIe switch", "nic0", "color=\"#666666\" penwidth=1 weight=8]");
    expect_line(&text, "nic7", "network", "color=\"#b45f06\" penwidth=2]");
    expect(&text, "[color=\"#38761d\"", 8);
    expect(&text, "[color=\"#b45f06\"", 8);
    expect(&text, "[label=\"128 GB/s\"", 1);
    expect(&text, "[color=\"#3d85c6\" penwidth=3]", 2);
    expect(&text, "[style=invis minlen=0]", 7); /* GPUs in their order */
    cs_text_free(&text);
    look_away(&s);
}

Test(topology_dot, many_like_parts_are_one)
{
    sight s;

    look_at_servers(&s, "p5.48xlarge", NULL);
    cs_text text = dot_of(&s);
    expect(&text, "label=\"sockets 0 .. 1, each like this\"", 1);
    expect(&text, "128 GB/s between sockets", 1);
    expect(&text, "[label=\"gpu", 4);
    expect(&text, "[label=\"nic4 .. 7\\n4 x 12.5 GB/s\"", 1);
    expect(&text, "[label=\"nic", 4);
    cs_text_free(&text);
    look_away(&s);
    look_at_servers(&s, "nvl72", NULL);
    text = dot_of(&s);
    expect(&text, "label=\"sockets 0 .. 35, each like this\"", 1);
    expect(&text, "[label=\"gpu", 2);
    expect(&text, "[label=\"nic", 2);
    cs_text_free(&text);
    look_away(&s);
}

/* A link for every pair is one box; NICs and GPUs at a socket hang at its root. */
Test(topology_dot, two_kinds_of_servers)
{
    sight s;

    look_at_servers(&s, "adapcc", NULL);
    cs_text text = dot_of(&s);
    expect(&text, "\"servers 0 .. 3, 4 GPUs, NVLink 100 GB/s\"", 1);
    expect(&text, "\"servers 4 .. 5, 4 GPUs, NVLink 50 GB/s\"", 1);
    expect(&text, "[label=\"NVLink for every pair\\n100 GB/s\"", 1);
    expect(&text, "[label=\"PCIe root\"", 4);
    expect(&text, "[label=\"nic0\\n6.25 GB/s\"", 1);
    expect(&text, "[color=\"#b45f06\"", 2);
    cs_text_free(&text);
    look_away(&s);
    look_at_servers(&s, "adapcc", "16");
    text = dot_of(&s);
    expect(&text, "servers 4", 0);
    cs_text_free(&text);
    look_away(&s);
}

/* Not every pair: a line for each, wide in proportion. */
static const char pairs[] = "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\n"
                            "GPU0\t X \tNV4\tNV1\tPIX\t0-15\n"
                            "GPU1\tNV4\t X \tSYS\tSYS\t16-31\n"
                            "GPU2\tNV1\tSYS\t X \tSYS\t16-31\n"
                            "NIC0\tPIX\tSYS\tSYS\t X \t\n";

Test(topology_dot, nvlinks_of_some_pairs)
{
    sight    s;
    cs_error err = {0};

    look(&s, "{\"kind\": \"crossbar\"}", "3", "3");
    cr_assert_eq(cs_topology_file_parse(pairs, sizeof pairs - 1, "pairs", &s.arena, &s.file, &err),
                 CS_OK, "%s", err.message);
    s.view.site  = &s.file.site;
    cs_text text = dot_of(&s);
    expect(&text, "NVLink 25 to 100 GB/s", 1);
    expect_line(&text, "GPU0", "GPU1", "color=\"#38761d\" penwidth=2.5 constraint=false");
    expect_line(&text, "GPU0", "GPU2", "color=\"#38761d\" penwidth=1 constraint=false");
    expect(&text, "constraint=false", 2);
    expect(&text, "shape=point style=invis", 1); /* what keeps the sockets in their order */
    cs_text_free(&text);
    look_away(&s);
}

Test(topology_dot, too_many_ranks_are_refused)
{
    sight    s;
    cs_text  text = {0};
    cs_error err  = {0};

    look(&s, leaf_spine, "1032", NULL);
    cr_assert_eq(cs_topology_dot(&s.view, &text, &err), CS_ENOTSUP);
    cr_assert_not_null(strstr(err.message, "accepted are 1024 of each"));
    cs_text_free(&text);
    look_away(&s);
}

static void fail_each_allocation(const sight *s)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_text  text = {0};
        cs_error err  = {0};
        cs_alloc_fail_after(passes);
        status = cs_topology_dot(&s->view, &text, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && err.message[0] != '\0'));
        cr_assert_lt(passes, 100);
        cs_text_free(&text);
    }
}

Test(topology_dot, any_allocation_may_fail)
{
    static const char *const kinds[] = {leaf_spine, "{\"kind\": \"rails\", \"spines\": 2}",
                                        "{\"kind\": \"crossbar\"}",
                                        "{\"preset\": \"adapcc\", \"servers\": 2}"};
    sight                    s;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        look(&s, kinds[i], i == 3 ? NULL : "16", i == 1 ? "4" : NULL);
        fail_each_allocation(&s);
        look_away(&s);
    }
    look_at_servers(&s, "adapcc", NULL);
    fail_each_allocation(&s);
    look_away(&s);
}

/* Graphviz itself. */

static bool is_installed(void)
{
    return system("dot -V >/dev/null 2>&1") == 0; /* NOLINT(cert-env33-c): the test's own words */
}

static void expect_picture(sight *s, const char *label)
{
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_topology_svg(&s->view, &text, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_expect_eq(strncmp(text.data, "<?xml", 5), 0);
    cr_expect_not_null(strstr(text.data, label), "%s", label);
    cr_expect_not_null(strstr(text.data, "</svg>"));
    cs_text_free(&text);
    look_away(s);
}

Test(topology_dot, graphviz_draws_all_of_them)
{
    sight s;

    if (!is_installed()) {
        cr_skip_test("graphviz is not installed");
    }
    look(&s, leaf_spine, "64", NULL);
    expect_picture(&s, ">rank 56 .. 63</text>");
    look(&s, "{\"kind\": \"rails\", \"spines\": 2}", "32", "8");
    expect_picture(&s, ">rank 7, 15 .. 31</text>");
    look(&s, "{\"kind\": \"crossbar\"}", "4", NULL);
    expect_picture(&s, ">crossbar</text>");
    for (size_t i = 0; cs_presets[i].name != NULL; i++) {
        look_at_servers(&s, cs_presets[i].name, NULL);
        expect_picture(&s, ">gpu1</text>");
    }
}

/* Run the program with a dot of our own, or none, before it in PATH. */
static int run_with(const char *dot, const char *out, char *said, size_t said_bytes)
{
    char   folder[CT_FOLDER_BYTES], path[CT_FOLDER_BYTES + 4], command[700];
    size_t n;

    ct_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/dot", folder);
    if (dot != NULL) {
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        cr_assert_geq(fprintf(file, "#!/bin/sh\n%s\n", dot), 0);
        cr_assert_eq(fclose(file), 0);
        cr_assert_eq(chmod(path, 0700), 0);
    }
    (void)snprintf(command, sizeof command,
                   "PATH=%s %s topology dgx-h100 --format svg -o %s 2>&1 >/dev/null", folder,
                   COLLSIM_BINARY, out);
    FILE *words = popen(command, "r"); /* NOLINT(cert-env33-c): the test's own words */
    cr_assert_not_null(words);
    n       = fread(said, 1, said_bytes - 1, words);
    said[n] = '\0';
    int how = pclose(words);
    ct_folder_remove(folder);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

Test(topology_dot, without_graphviz_nothing_is_written)
{
    char said[400], out[64];

    (void)snprintf(out, sizeof out, "/tmp/cs_no_picture_%ld.svg", (long)getpid());
    cr_expect_eq(run_with(NULL, out, said, sizeof said), 3);
    cr_expect_not_null(strstr(said, "apt-get install graphviz"), "%s", said);
    cr_expect_neq(access(out, F_OK), 0);
    cr_expect_eq(
        run_with("echo '<svg>'; echo 'syntax error in line 1' >&2; exit 1", out, said, sizeof said),
        3);
    cr_expect_not_null(strstr(said, "dot: ended with status 1: syntax error in line 1"), "%s",
                       said);
    cr_expect_neq(access(out, F_OK), 0);
    cr_expect_eq(run_with("echo 'a warning' >&2; echo '<svg></svg>'", out, said, sizeof said), 0,
                 "%s", said);
    cr_expect_eq(access(out, F_OK), 0);
    (void)unlink(out);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's XML: strategies and logical topologies read and written again; what the released
 * program's files have and lack; sizes and chunks; places in texts that are not well-formed. */
#include "base/alloc.h"
#include "schedules/logical_xml.h"
#include "schedules/strategy_xml.h"

#include <criterion/criterion.h>
#include <string.h>

static const char TWO_TREES[] = "<trees>\n"
                                "  <root id=\"0\" ip=\"10.0.0.1\">\n"
                                "    <gpu id=\"1\" ip=\"10.0.0.1\"/>\n"
                                "    <gpu id=\"2\" ip=\"10.0.0.2\">\n"
                                "      <gpu id=\"3\" ip=\"10.0.0.2\"/>\n"
                                "    </gpu>\n"
                                "  </root>\n"
                                "  <root id=\"2\" ip=\"10.0.0.2\">\n"
                                "    <gpu id=\"0\" ip=\"10.0.0.1\" agg=\"0\">\n"
                                "      <gpu id=\"1\" ip=\"10.0.0.1\"/>\n"
                                "    </gpu>\n"
                                "    <gpu id=\"3\" ip=\"10.0.0.2\"/>\n"
                                "  </root>\n"
                                "</trees>\n";

static cs_status parse(const char *text, cs_strategy_file *file, cs_error *err)
{
    return cs_strategy_parse(text, strlen(text), "f", file, err);
}

static void must_parse(const char *text, cs_strategy_file *file)
{
    cs_error err = {0};
    char     words[900];

    cs_status status = parse(text, file, &err);
    cs_error_text(&err, words, sizeof words);
    cr_assert_eq(status, CS_OK, "%s", words);
}

static void refuse(const char *text, const char *want)
{
    cs_strategy_file file;
    cs_error         err = {0};
    char             words[900];

    cr_assert_neq(parse(text, &file, &err), CS_OK, "%s", text);
    cs_error_text(&err, words, sizeof words);
    cr_expect_str_eq(words, want);
    cs_strategy_free(&file.strategy);
}

Test(strategy_xml, reads_and_writes_the_same)
{
    const uint32_t   first[] = {CS_TREE_ROOT, 0, 0, 2}, second[] = {2, 0, CS_TREE_ROOT, 2};
    cs_strategy_file file;
    cs_text          text = {0};

    must_parse(TWO_TREES, &file);
    cr_assert_eq(file.strategy.n_trees, 2u);
    cr_assert_eq(file.strategy.n_members, 4u);
    cr_assert_arr_eq(file.strategy.trees[0].parent, first, sizeof first);
    cr_assert_arr_eq(file.strategy.trees[1].parent, second, sizeof second);
    cr_assert(!file.strategy.trees[1].aggregates[0] && file.strategy.trees[0].aggregates[0]);
    cr_assert_str_eq(file.strategy.ip[3], "10.0.0.2");
    cr_assert(!file.has_sizes && !file.has_chunks);
    cr_assert_eq(cs_strategy_write(&text, &file.strategy, NULL, NULL), CS_OK);
    cr_assert_str_eq(text.data, TWO_TREES);
    cs_text_free(&text);
    cs_strategy_free(&file.strategy);
}

Test(strategy_xml, attributes_may_stand_side_by_side)
{
    cs_strategy_file file;

    must_parse("<trees><!-- id='1'ip --><root id='0'ip='a'other='>'><gpu id='1'ip='b'></gpu></root>"
               "</trees>",
               &file);
    cr_assert_str_eq(file.strategy.ip[1], "b");
    cs_strategy_free(&file.strategy);
    refuse("<trees>\n<root id='0'ip='a'><gpu id='1'ip='b'/><gpu id='1'ip='b'/></root></trees>",
           "f:2:39: gpu: rank 1 is in tree 0 twice");
    refuse("<trees>\n<root id='0'ip='a'><gpu id='1'ip='b'/><gpu id='2'ip='b'></root></trees>",
           "f:2:59: mismatched tag");
}

Test(strategy_xml, what_is_wrong_has_a_place)
{
    refuse("<trees>", "f:1:8: no element found");
    refuse("<trees/>", "f:1:1: trees: has 0 trees over 0 ranks: accepted are 1 to 1024 trees, and "
                       "2^22 ranks in all");
    refuse("<tree/>", "f:1:1: tree: is not known here: accepted is <trees>");
    refuse("<trees><gpu id='0' ip='a'/></trees>",
           "f:1:8: gpu: is not known here: accepted is <root>");
    refuse("<trees><root id='0' ip='a'><root id='1' ip='a'/></root></trees>",
           "f:1:28: root: is not known here: accepted is <gpu>");
    refuse("<trees><root ip='a'/></trees>", "f:1:8: root: the attribute 'id' is missing");
    refuse("<trees><root id='0'/></trees>", "f:1:8: root: the attribute 'ip' is missing");
    refuse("<trees><root id='-1' ip='a'/></trees>",
           "f:1:8: root: id=\"-1\": accepted is 0 to 65535");
    refuse("<trees><root id='0' ip='a' agg='2'/></trees>",
           "f:1:8: root: agg=\"2\": accepted is 0 to 1");
    refuse("<trees><root id='0' ip='a'/>\n<root id='0' ip='b'/></trees>",
           "f:2:1: root: rank 0 is on server \"b\" here, and on \"a\" in a tree before");
    refuse("<trees><root id='0' ip='a'><gpu id='1' ip='a'/></root>\n<root id='0' ip='a'/></trees>",
           "f:2:1: root: rank 1 is in tree 0, and not in tree 1: all have the same");
    refuse("<trees><root id='0' ip='a'/>\n<root id='0' ip='a'><gpu id='1' ip='a'/></root></trees>",
           "f:2:1: root: rank 1 is in tree 1, and not in tree 0: all have the same");
    refuse("<trees><root id='0' ip='a' size='1K'/><root id='0' ip='a'/></trees>",
           "f:1:39: root: size is said for some trees: accepted is for all or for none");
    refuse("<trees><root id='0' ip='a' size='1K' chunk='2K'/></trees>",
           "f:1:8: root: has chunks of 2048 bytes and 1024 bytes in all");
    refuse("<trees><root id='0' ip='a' size='0'/></trees>",
           "f:1:8: root: size=\"0\": accepted is a number of bytes from 1 to 2^50");
}

Test(strategy_xml, sizes_and_chunks)
{
    cs_strategy_file file;
    cs_error         err = {0};

    must_parse("<trees><root id='0' ip='a' size='3M' chunk='64K'/>"
               "<root id='0' ip='a' size='1M' chunk='1M'/></trees>",
               &file);
    cr_assert(file.has_sizes && file.has_chunks);
    cr_assert_eq(cs_strategy_file_finish(&file, 3 << 20, 0, &err), CS_EINVAL, "it is for 4M");
    cr_assert_eq(cs_strategy_file_finish(&file, 4 << 20, 0, NULL), CS_OK);
    cr_assert_eq(file.strategy.trees[0].size_bytes, 3u << 20);
    cr_assert_eq(file.strategy.trees[1].chunk_bytes, 1u << 20);
    cr_assert_eq(cs_strategy_file_finish(&file, 4 << 20, 2 << 20, NULL), CS_OK);
    cr_assert_eq(file.strategy.trees[0].chunk_bytes, 2u << 20);
    cr_assert_eq(file.strategy.trees[1].chunk_bytes, 1u << 20, "no more than the tree has");
    cs_strategy_free(&file.strategy);

    must_parse(TWO_TREES, &file);
    cr_assert_eq(cs_strategy_file_finish(&file, 7, 2, NULL), CS_OK);
    cr_assert_eq(file.strategy.trees[0].size_bytes, 4u);
    cr_assert_eq(file.strategy.trees[1].size_bytes, 3u);
    cr_assert_eq(file.strategy.trees[1].chunk_bytes, 2u);
    cr_assert_eq(cs_strategy_file_finish(&file, 100, 0, NULL), CS_OK);
    cr_assert_eq(file.strategy.trees[1].chunk_bytes, 50u, "one chunk");
    cs_strategy_free(&file.strategy);
}

Test(strategy_xml, chains_may_be_long)
{
    enum { RANKS = 3000 };
    cs_text          text = {0}, again = {0};
    cs_strategy_file file;

    cs_text_add(&text, "<trees><root id='0' ip='a' size='5' chunk='1'>");
    for (int g = 1; g < RANKS; g++) {
        cs_text_add(&text, "<gpu id='%d' ip='a'>", g);
    }
    for (int g = 1; g < RANKS; g++) {
        cs_text_add(&text, "</gpu>");
    }
    cs_text_add(&text, "</root></trees>");
    must_parse(text.data, &file);
    cr_assert_eq(file.strategy.trees[0].parent[RANKS - 1], RANKS - 2u);
    cr_assert_eq(cs_strategy_write(&again, &file.strategy, NULL, NULL), CS_OK);
    cs_strategy_free(&file.strategy);
    must_parse(again.data, &file);
    cr_assert_eq(file.strategy.trees[0].parent[RANKS - 1], RANKS - 2u);
    cr_assert_eq(file.strategy.trees[0].size_bytes, 5u);
    cs_strategy_free(&file.strategy);
    cs_text_free(&text);
    cs_text_free(&again);
}

/* Graphs. */

static const cs_logical_defaults DEFAULTS = {10e9, 3e-6, {CS_SWITCHED, 1e-6, 300e9}};

static const char GRAPH[] =
    "<graph version=\"demo\">\n"
    "  <server id=\"1\" ip=\"b\"nvlink=\"direct\"nvlink_GBps=\"50\"nvlink_alpha_us=\"5\">\n"
    "    <nic id=\"7\" gbps=\"50\"gbps_in=\"25\"><gpu id=\"3\" model=\"V100\"/><gpu "
    "id=\"2\"/></nic>\n"
    "  </server>\n"
    "  <server id=\"0\" ip=\"a\"><nic id=\"3\"><gpu id=\"1\"/></nic><nic id=\"4\"><gpu "
    "id=\"0\"/></nic>"
    "</server>\n"
    "  <link src=\"2\" dst=\"3\" kind=\"nvlink\" alpha_us=\"2\" GBps=\"25\"/>\n"
    "  <link src=\"nic4\" dst=\"nic7\" kind=\"net\" alpha_us=\"20\"/>\n"
    "  <link src=\"nic7\" dst=\"nic4\" kind=\"net\" GBps=\"1.25\"/>\n"
    "</graph>\n";

static void must_read(const char *text, cs_logical *l)
{
    cs_error err = {0};
    char     words[900];

    cs_status status = cs_logical_parse(text, strlen(text), "g", &DEFAULTS, l, &err);
    cs_error_text(&err, words, sizeof words);
    cr_assert_eq(status, CS_OK, "%s", words);
}

static void refuse_graph(const char *text, const char *want)
{
    cs_logical l;
    cs_error   err = {0};
    char       words[900];

    cr_assert_neq(cs_logical_parse(text, strlen(text), "g", &DEFAULTS, &l, &err), CS_OK, "%s",
                  text);
    cs_error_text(&err, words, sizeof words);
    cr_expect_str_eq(words, want);
    cs_logical_free(&l);
}

static void check_graph(const cs_logical *l)
{
    cr_assert_eq(l->n_servers, 2u);
    cr_assert_eq(l->n_ranks, 4u);
    cr_assert_eq(l->n_nics, 3u);
    cr_assert_str_eq(l->servers[1].ip, "b");
    cr_assert_eq(l->servers[1].first_rank, 2u);
    cr_assert_eq(l->nic_of[0], 1u);
    cr_assert_eq(l->nic_of[1], 0u);
    cr_assert_float_eq(l->nics[0].egress_Bps, 10e9, 1, "the default");
    cr_assert_float_eq(l->nics[2].egress_Bps, 6.25e9, 1);
    cr_assert_float_eq(l->nics[2].ingress_Bps, 3.125e9, 1);
    cr_assert_eq(l->servers[0].nvlink.kind, CS_SWITCHED);
    cr_assert_float_eq(cs_logical_edge_of(l, 2, 3).bandwidth_Bps, 25e9, 1);
    cr_assert_float_eq(cs_logical_edge_of(l, 3, 2).alpha_s, 2e-6, 1e-15, "both directions");
    cr_assert_float_eq(cs_logical_edge_of(l, 0, 2).alpha_s, 20e-6, 1e-15);
    cr_assert_float_eq(cs_logical_edge_of(l, 0, 2).bandwidth_Bps, 3.125e9, 1, "of the ports");
    cr_assert_float_eq(cs_logical_edge_of(l, 3, 1).bandwidth_Bps, 1.25e9, 1);
    cr_assert_float_eq(cs_logical_edge_of(l, 3, 1).alpha_s, 3e-6, 1e-15);
}

Test(logical_xml, reads_and_writes_the_same)
{
    cs_logical l;
    cs_text    text = {0};

    must_read(GRAPH, &l);
    check_graph(&l);
    cs_logical_write(&text, &l);
    cs_logical_free(&l);
    must_read(text.data, &l);
    check_graph(&l);
    cs_logical_free(&l);
    cs_text_free(&text);
}

Test(logical_xml, sockets_and_links_at_once)
{
    cs_logical l;
    cs_text    text = {0};

    must_read("<graph alpha_us='9'><server id='0' ip='a' nvlink='direct' nvlink_GBps='100' "
              "links_at_once='1' sockets='2' cross_GBps='20' cross_alpha_us='8'><nic id='0'>"
              "<gpu id='0'/><gpu id='1'/><gpu id='2'/><gpu id='3'/></nic></server></graph>",
              &l);
    cs_logical_write(&text, &l);
    cs_logical_free(&l);
    must_read(text.data, &l);
    cr_assert_float_eq(l.net_alpha_s, 9e-6, 1e-15);
    cr_assert_float_eq(cs_logical_edge_of(&l, 0, 1).egress_Bps, 100e9, 1);
    cr_assert_float_eq(cs_logical_edge_of(&l, 0, 2).bandwidth_Bps, 20e9, 1);
    cr_assert_float_eq(cs_logical_edge_of(&l, 3, 1).alpha_s, 8e-6, 1e-15);
    cs_logical_free(&l);
    cs_text_free(&text);
}

#define SERVER(id, ip, gpus) \
    "<server id='" id "' ip='" ip "'><nic id='" id "'>" gpus "</nic></server>"
#define GPU(id) "<gpu id='" id "'/>"
#define PAIR    SERVER("0", "a", GPU("0") GPU("1")) SERVER("1", "b", GPU("2"))

Test(logical_xml, what_is_wrong_has_a_place)
{
    refuse_graph("<trees/>", "g:1:1: trees: is not known here: accepted is <graph>");
    refuse_graph("<graph/>", "g:1:1: graph: has 0 GPUs: accepted are 1 to 65536");
    refuse_graph("<graph><server id='0' ip='a'><gpu id='0'/></server></graph>",
                 "g:1:30: gpu: is not known here: accepted is <nic>");
    refuse_graph("<graph>" SERVER("0", "a", GPU("0")) SERVER("1", "a", GPU("1")) "</graph>",
                 "g:1:1: graph: has two servers with ip=\"a\"");
    refuse_graph("<graph>" SERVER("0", "a", GPU("0")) SERVER("0", "b", GPU("1")) "</graph>",
                 "g:1:70: server: id=\"0\" is there twice, in line 1 before");
    refuse_graph("<graph>" SERVER("0", "a", GPU("0")) SERVER("1", "b", GPU("0")) "</graph>",
                 "g:1:104: gpu: id=\"0\": accepted are 1 to 1 on server 1, since world ranks are "
                 "dense, server by server");
    refuse_graph("<graph>" SERVER("0", "a", GPU("0") GPU("0")) "</graph>",
                 "g:1:55: gpu: id=\"0\" is there twice");
    refuse_graph("<graph>" SERVER("0", "a", "") SERVER("1", "b", GPU("0")) "</graph>",
                 "g:1:8: server: has no GPU");
    refuse_graph("<graph><server id='0' ip='a' nvlink='x'><nic id='0'><gpu id='0'/></nic></server>"
                 "</graph>",
                 "g:1:8: server: nvlink=\"x\": accepted are direct, switched");
    refuse_graph("<graph><server id='0' ip='a' sockets='2'><nic id='0'><gpu id='0'/></nic></server>"
                 "</graph>",
                 "g:1:8: server: has 2 sockets, and no cross_GBps");
    refuse_graph("<graph><server id='0' ip='a'><nic id='0' gbps='0'><gpu id='0'/></nic></server>"
                 "</graph>",
                 "g:1:30: nic: gbps=\"0\": accepted is more than 0, up to 1e9");
}

Test(logical_xml, links_have_two_ends)
{
    refuse_graph("<graph>" PAIR "\n<link src='0' dst='1'/></graph>",
                 "g:2:1: link: the attribute 'kind' is missing");
    refuse_graph("<graph>" PAIR "\n<link src='0' dst='1' kind='x'/></graph>",
                 "g:2:1: link: kind=\"x\": accepted are nvlink, pcie, net");
    refuse_graph(
        "<graph>" PAIR "\n<link src='0' dst='2' kind='pcie'/></graph>",
        "g:2:1: link: joins ranks 0 and 2 of two servers: accepted is kind=\"net\" between "
        "their NICs");
    refuse_graph("<graph>" PAIR "\n<link src='1' dst='1' kind='nvlink'/></graph>",
                 "g:2:1: link: joins a rank with itself");
    refuse_graph("<graph>" PAIR "\n<link src='nic0' dst='nic9' kind='net'/></graph>",
                 "g:2:1: link: dst=\"nic9\": there is no such NIC");
    refuse_graph("<graph>" PAIR "\n<link src='nic0' dst='2' kind='net'/></graph>",
                 "g:2:1: link: dst=\"2\": accepted is nicN with the id of a NIC");
    refuse_graph("<graph>" PAIR "<link src='nic0' dst='nic1' kind='net'/>\n"
                 "<link src='nic0' dst='nic1' kind='net'/></graph>",
                 "g:2:1: link: joins a pair that has a link already");
    refuse_graph("<graph>" SERVER("0", "a", GPU("0")) "<server id='1' ip='b'><nic id='0'>"
                                                      "<gpu id='1'/></nic></server>\n<link "
                                                      "src='nic0' dst='nic0' kind='net'/></graph>",
                 "g:2:1: link: src=\"nic0\": there are several NICs with that id");
}

static cs_status read_all(cs_strategy_file *file, cs_logical *l, cs_text *text, cs_error *err)
{
    CS_TRY(cs_strategy_parse(TWO_TREES, strlen(TWO_TREES), "f", file, err));
    CS_TRY(cs_logical_parse(GRAPH, strlen(GRAPH), "g", &DEFAULTS, l, err));
    CS_TRY(cs_strategy_write(text, &file->strategy, l, err));
    cs_logical_write(text, l);
    return cs_text_status(text, err);
}

Test(strategy_xml, memory_may_end_anywhere)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_strategy_file file = {0};
        cs_logical       l    = {0};
        cs_text          text = {0};
        cs_error         err  = {0};

        cr_assert_lt(passes, 400);
        cs_alloc_fail_after(passes);
        status = read_all(&file, &l, &text, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cs_strategy_free(&file.strategy);
        cs_logical_free(&l);
        cs_text_free(&text);
    }
}

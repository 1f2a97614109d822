/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures whose rows are the lines of a CSV. */
#include "base/alloc.h"
#include "figure_setup.h"

static char folder[CT_FOLDER_BYTES];

static void make_folder(void)
{
    find_figures();
    ct_folder_make(folder);
}

static void remove_folder(void)
{
    ct_folder_remove(folder);
}

TestSuite(figure_data, .init = make_folder, .fini = remove_folder);

/* Its ring has the ranks of the line and the rate of the sweep. */
static const char figure[] =
    "{\"cluster\": {\"nic\": {\"alpha\": \"0s\", \"bandwidth\": \"1GB/s\"}}, \"bytes\": 4000,\n"
    " \"sweep\": {\"cluster.nic.bandwidth\": [1e9, 2e9]},\n"
    " \"figure\": {\"title\": \"t\", \"data\": \"d.csv\", \"let\": {\"own\": 7},\n"
    "  \"runs\": {\"ring\": {\"algorithm\": \"= name\", \"cluster.ranks\": \"= n\"}},\n"
    "  \"columns\": [\"n\", \"own\", \"note\", \"us = round(1e6 * ring.elapsed_s)\",\n"
    "    \"times = measured_us / us\"]}}\n";

static cs_status compute_with(const char *csv, cs_figure_data *data, cs_error *err)
{
    char path[128];

    put_file(folder, "f.json", figure);
    put_file(folder, "f.gp", "  plot DATA using 'n':'us'\n");
    put_file(folder, "d.csv", csv);
    (void)snprintf(path, sizeof path, "%s/f.json", folder);
    return compute_figure(path, data, err);
}

Test(figure_data, every_line_is_a_row_at_every_point)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    cr_assert_eq(
        compute_with("# measured\nname,n,measured_us,note\r\n\nring,2,8,\"a, \"\"b\"\"\"\r\n"
                     "ring,4,,\n",
                     &data, &err),
        CS_OK, "%s: %s", err.where, err.message);
    cr_expect_str_eq(data.csv.data, "n,own,note,us,times\n"
                                    "2,7,\"a, \"\"b\"\"\",4,2\n4,7,,6,\n"
                                    "2,7,\"a, \"\"b\"\"\",2,4\n4,7,,3,\n");
    cs_figure_data_free(&data);
}

Test(figure_data, what_is_wrong_is_said_with_its_place)
{
    static const struct {
        const char *csv, *place, *message;
    } cases[] = {
        {"", "d.csv", "has no data"},
        {"name,n\n", "d.csv", "has no data"},
        {"name,n,a b\nring,2,1\n", "d.csv:1:8", "'a b' is no name of a column"},
        {"name,n,\nring,2,1\n", "d.csv:1:8", "'' is no name of a column"},
        {"name,n,name\nring,2,1\n", "d.csv:1:8", "'name' is there already"},
        {"name,n\nring,2\nring\n", "d.csv:3", "1 cells where the header has 2"},
        {"name,n\nring,2,3\n", "d.csv:2", "3 cells where the header has 2"},
        {"name,n\n\"ring,2\n", "d.csv:2:1", "a cell in quotes has no end"},
        {"name,n\n\"ring\"x,2\n", "d.csv:2:1", "a cell in quotes has no end"},
        {"name,n\nring,\xff\n", "d.csv:2:6: n", "UTF-8"},
        {"name,n\nring,two\n", "f.json:4", "is the text 'two'"},
        {"other,n\nring,2\n", "f.json:4", "unknown name 'name'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_figure_data data = {0};
        cs_error       err  = {0};
        char           text[800];
        cr_expect_neq(compute_with(cases[i].csv, &data, &err), CS_OK, "%s", cases[i].csv);
        cs_error_text(&err, text, sizeof text);
        cr_expect_not_null(strstr(text, cases[i].place), "%s", text);
        cr_expect_not_null(strstr(text, cases[i].message), "%s", text);
        cs_figure_data_free(&data);
    }
}

Test(figure_data, a_file_that_is_not_there)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};
    char           path[128];

    put_file(folder, "f.json", figure);
    put_file(folder, "f.gp", "");
    (void)snprintf(path, sizeof path, "%s/f.json", folder);
    cr_expect_eq(compute_figure(path, &data, &err), CS_EIO);
    cs_figure_data_free(&data);
}

/* A figure in another folder that is like it has the same data. */
Test(figure_data, one_like_another)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};
    char           path[128], text[512], other[CT_FOLDER_BYTES];

    cr_assert_eq(compute_with("name,n,measured_us,note\nring,2,8,\n", &data, &err), CS_OK);
    cs_figure_data_free(&data);
    ct_folder_make(other);
    (void)snprintf(text, sizeof text,
                   "{\"sweep\": {\"cluster.nic.bandwidth\": [4e9]}, \"figure\": {\"like\": "
                   "\"%s/f.json\", \"title\": \"u\"}}\n",
                   folder);
    put_file(other, "g.json", text);
    (void)snprintf(path, sizeof path, "%s/g.json", other);
    cr_assert_eq(compute_figure(path, &data, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_expect_str_eq(data.csv.data, "n,own,note,us,times\n2,7,,1,8\n");
    cs_figure_data_free(&data);
    ct_folder_remove(other);
}

Test(figure_data, out_of_memory_is_an_error)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 1000000; passes += 1 + passes / 20) {
        cs_figure_data data = {0};
        cs_error       err  = {0};
        cs_alloc_fail_after(passes);
        status = compute_with("name,n,measured_us,note\nring,2,8,x\nring,4,1,\n", &data, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "passes %ld: %s: %s", passes, err.where,
                  err.message);
        cs_figure_data_free(&data);
    }
    cr_assert_eq(status, CS_OK);
}

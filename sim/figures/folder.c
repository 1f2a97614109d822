/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The folder of figures, which there are, and the file of one. */
#include "figures/figure.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/module.h"
#include "cs/named.h"
#include "input/tree.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, MOST_NAMES = 512 };

static const char ENDING[] = ".json";

/* ---- the folder ---- */

static bool is_folder_of_figures(const char *folder)
{
    char path[PATH_MAX];
    int  n = snprintf(path, sizeof path, "%s/style.gp", folder);

    return n > 0 && n < PATH_MAX && access(path, R_OK) == 0;
}

/* From the folder of the running program: in the tree that it was built from, or where it is
 * installed. */
static bool find_from_program(char *folder, size_t folder_bytes)
{
    static const char *const places[] = {COLLSIM_FIGURES_HERE, COLLSIM_FIGURES_INSTALLED};
    char                     self[PATH_MAX], path[PATH_MAX], whole[PATH_MAX];
    bool                     found = false, is_known = cs_program_folder(self, sizeof self);

    for (size_t i = 0; i < sizeof places / sizeof places[0] && is_known && !found; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", self, places[i]);
        found =
            n > 0 && n < PATH_MAX && is_folder_of_figures(path) && realpath(path, whole) != NULL;
    }
    return found && (size_t)snprintf(folder, folder_bytes, "%s", whole) < folder_bytes;
}

cs_status cs_figure_folder(char *folder, size_t folder_bytes, cs_error *err)
{
    const char *chosen = getenv("COLLSIM_FIGURES");

    if (chosen == NULL || chosen[0] == '\0') {
        return find_from_program(folder, folder_bytes)
                   ? CS_OK
                   : CS_FAIL(err, CS_EMISSING, "figure",
                             "the folder configs/figures is not found from where the program lies; "
                             "COLLSIM_FIGURES can name it");
    }
    int n = snprintf(folder, folder_bytes, "%s", chosen);
    return n > 0 && (size_t)n < folder_bytes && is_folder_of_figures(folder)
               ? CS_OK
               : CS_FAIL(err, CS_EMISSING, "COLLSIM_FIGURES",
                         "'%.200s' is no folder of figures: there is no style.gp in it", chosen);
}

cs_status cs_figure_beside(const char *path, const char *name, const char *ending, char *place,
                           size_t place_bytes, cs_error *err)
{
    const char *slash    = strrchr(path, '/');
    size_t      n_folder = slash != NULL && name[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    size_t      n_ending = strlen(ending), n_name = strlen(name);
    bool        has_it = n_name >= n_ending && strcmp(name + n_name - n_ending, ending) == 0;
    int         n =
        snprintf(place, place_bytes, "%.*s%s%s", (int)n_folder, path, name, has_it ? "" : ending);

    return n > 0 && (size_t)n < place_bytes
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, "", "the path of %.80s is too long", name);
}

/* ---- the list ---- */

/* Digits are compared as numbers: 6c stands before 10c. */
static int compare_names(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char         *end_a, *end_b;
            unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
            if (x != y) {
                return x < y ? -1 : 1;
            }
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != '\0') - (*b != '\0');
}

static int compare_entries(const void *a, const void *b)
{
    const cs_figure_entry *x = a, *y = b;
    return compare_names(x->name, y->name);
}

/* The name of a figure whose file is called so, without its ending; 0: it is no figure. */
static size_t length_of_name(const char *file_name)
{
    size_t n = strlen(file_name), ending = sizeof ENDING - 1;
    return n > ending && strcmp(file_name + n - ending, ENDING) == 0 ? n - ending : 0;
}

/* Names of all, in no order. */
static cs_status read_names(const char *folder, cs_figure_entry **list_p, size_t *n_p,
                            cs_error *err)
{
    DIR             *dir      = opendir(folder);
    cs_figure_entry *list     = NULL;
    size_t           capacity = 0, n = 0;
    cs_status        status = CS_OK;

    if (dir == NULL) {
        return CS_FAIL(err, CS_EIO, folder, "cannot read the folder: %s", strerror(errno));
    }
    for (struct dirent *d = readdir(dir); d != NULL && status == CS_OK; d = readdir(dir)) {
        size_t length = length_of_name(d->d_name);
        if (length == 0) {
            continue;
        }
        char *name = cs_strdup(d->d_name);
        if (name == NULL || !cs_grow(&list, &capacity, n + 1, 32, sizeof *list)) {
            cs_free(name);
            status = CS_NO_MEMORY(err, "the list of figures");
            break;
        }
        name[length] = '\0';
        list[n++]    = (cs_figure_entry){.name = name};
    }
    closedir(dir);
    *list_p = list;
    *n_p    = n;
    return status;
}

/* Read the title and the source of a figure. */
static cs_status read_entry(const char *folder, cs_figure_entry *entry, cs_error *err)
{
    char      path[PATH_MAX];
    char     *text   = NULL;
    size_t    length = 0;
    json_t   *tree   = NULL;
    int       n      = snprintf(path, sizeof path, "%s/%s%s", folder, entry->name, ENDING);
    cs_status status = n > 0 && n < PATH_MAX ? cs_file_read(path, MOST_BYTES, &text, &length, err)
                                             : CS_FAIL(err, CS_EIO, folder,
                                                       "the path of %s is too long", entry->name);

    if (status == CS_OK) {
        status = cs_tree_parse(text, length, path, &tree, err);
    }
    if (status == CS_OK) {
        const json_t *figure = json_object_get(tree, "figure");
        const char   *title  = json_string_value(json_object_get(figure, "title"));
        const char   *source = json_string_value(json_object_get(figure, "source"));
        entry->has_trace     = json_object_get(figure, "trace") != NULL;
        entry->title         = cs_strdup(title != NULL ? title : "");
        entry->source        = cs_strdup(source != NULL ? source : "");
        status               = entry->title == NULL || entry->source == NULL
                                   ? CS_NO_MEMORY(err, "the list of figures")
                                   : CS_OK;
    }
    json_decref(tree);
    cs_free(text);
    return status;
}

cs_status cs_figure_list(cs_figure_entry **list_p, size_t *n_p, cs_error *err)
{
    char             folder[PATH_MAX];
    cs_figure_entry *list   = NULL;
    size_t           n      = 0;
    cs_status        status = cs_figure_folder(folder, sizeof folder, err);

    if (status == CS_OK) {
        status = read_names(folder, &list, &n, err);
    }
    if (status == CS_OK && n > 0) {
        qsort(list, n, sizeof *list, compare_entries);
    }
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        status = read_entry(folder, &list[i], err);
    }
    if (status != CS_OK) {
        cs_figure_list_free(list, n);
        return status;
    }
    *list_p = list;
    *n_p    = n;
    return CS_OK;
}

void cs_figure_list_free(cs_figure_entry *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cs_free(list[i].name);
        cs_free(list[i].title);
        cs_free(list[i].source);
    }
    cs_free(list);
}

/* ---- one of them ---- */

/* Find the figure whose name has `word` as a part. `list` and `named` are filled in. */
static cs_status find_in_list(const char *folder, const char *word, cs_figure_entry **list,
                              cs_named *named, size_t *index_p, cs_error *err)
{
    CS_TRY(read_names(folder, list, &named->n, err));
    if (named->n > 0) {
        qsort(*list, named->n, sizeof **list, compare_entries);
    }
    named->things = *list;
    return cs_find_named(named, word, index_p, "figure", err);
}

/* The file of the figure whose name has `word`, which is the name of no file, as a part. */
static cs_status find_by_part(const char *folder, const char *word, char *path, size_t path_bytes,
                              cs_error *err)
{
    cs_figure_entry *list   = NULL;
    size_t           index  = 0;
    cs_named         named  = {.stride      = sizeof *list,
                               .takes_parts = true,
                               .name        = offsetof(cs_figure_entry, name),
                               .aliases     = CS_NO_ALIASES,
                               .status      = CS_ENOENT,
                               .what        = "no figure",
                               .hint        = "; 'collsim list figures' has all"};
    cs_status        status = find_in_list(folder, word, &list, &named, &index, err);

    if (status == CS_OK) {
        assert(index < named.n);
        int n = snprintf(path, path_bytes, "%s/%s%s", folder, list[index].name, ENDING);
        if (n < 0 || (size_t)n >= path_bytes) {
            status = CS_FAIL(err, CS_EINVAL, "figure", "the path of '%.80s' is too long", word);
        }
    }
    cs_figure_list_free(list, named.n);
    return status;
}

cs_status cs_figure_find(const char *name, char *path, size_t path_bytes, cs_error *err)
{
    char folder[PATH_MAX];
    bool is_path = strchr(name, '/') != NULL || length_of_name(name) > 0;

    if (!is_path) {
        CS_TRY(cs_figure_folder(folder, sizeof folder, err));
    }
    int n = is_path ? snprintf(path, path_bytes, "%s", name)
                    : snprintf(path, path_bytes, "%s/%s%s", folder, name, ENDING);
    if (n < 0 || (size_t)n >= path_bytes) {
        return CS_FAIL(err, CS_EINVAL, "figure", "the path of '%.80s' is too long", name);
    }
    return is_path || access(path, R_OK) == 0 ? CS_OK
                                              : find_by_part(folder, name, path, path_bytes, err);
}

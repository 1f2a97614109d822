/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategies from XML and back. Trees may be as deep as they have ranks: nothing here calls itself.
 */
#include "schedules/strategy_xml.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"
#include "cs/units.h"
#include "input/xml_reader.h"

#include <string.h>

/* Trees times ranks. */
#define MOST_CELLS ((uint64_t)1 << 22)

enum { MOST_INDENT = 16 };

/* How many trees and ranks there are; all elements are what they should be. */
static cs_status count_ranks(const cs_xml_reader *r, cs_xml *trees, uint32_t *n_trees_p,
                             uint32_t *n_ranks_p)
{
    uint64_t n_trees = 0, n_ranks = 0;

    CS_TRY(cs_xml_need_name(r, trees, "trees"));
    for (cs_xml *e = cs_xml_next(trees, trees); e != NULL; e = cs_xml_next(e, trees)) {
        uint32_t id = 0;

        CS_TRY(cs_xml_need_name(r, e, e->parent == trees ? "root" : "gpu"));
        CS_TRY(cs_xml_need_number(r, e, "id", CS_MAX_RANKS - 1, &id));
        n_trees += e->parent == trees;
        n_ranks = id + 1 > n_ranks ? id + 1 : n_ranks;
    }
    if (n_trees < 1 || n_trees > CS_STRATEGY_MAX_TREES || n_trees * n_ranks > MOST_CELLS) {
        return CS_XML_REFUSE(
            r, trees,
            "has %llu trees over %llu ranks: accepted are 1 to %d trees, and 2^22 ranks in "
            "all",
            (unsigned long long)n_trees, (unsigned long long)n_ranks, CS_STRATEGY_MAX_TREES);
    }
    *n_trees_p = (uint32_t)n_trees;
    *n_ranks_p = (uint32_t)n_ranks;
    return CS_OK;
}

/* One element of tree m: a rank, its server, its parent. */
static cs_status read_gpu(const cs_xml_reader *r, cs_strategy *s, uint32_t m, const cs_xml *e,
                          bool is_root)
{
    cs_strategy_tree *t  = &s->trees[m];
    const char       *ip = NULL;
    uint32_t          id = 0, above = 0, adds = 1;

    CS_TRY(cs_xml_need_number(r, e, "id", CS_MAX_RANKS - 1, &id));
    CS_TRY(cs_xml_need_text(r, e, "ip", &ip));
    CS_TRY(cs_xml_take_number(r, e, "agg", 1, &adds));
    if (t->parent[id] != CS_TREE_ABSENT) {
        return CS_XML_REFUSE(r, e, "rank %u is in tree %u twice", id, m);
    }
    if (s->ip[id] == NULL) {
        s->ip[id] = cs_arena_strdup(&s->arena, ip);
        if (s->ip[id] == NULL) {
            return CS_NO_MEMORY(r->err, "trees");
        }
    } else if (strcmp(s->ip[id], ip) != 0) {
        return CS_XML_REFUSE(
            r, e, "rank %u is on server \"%.40s\" here, and on \"%.40s\" in a tree before", id, ip,
            s->ip[id]);
    }
    if (!is_root) {
        CS_TRY(cs_xml_need_number(r, e->parent, "id", CS_MAX_RANKS - 1, &above));
    }
    t->parent[id]     = is_root ? CS_TREE_ROOT : above;
    t->aggregates[id] = adds != 0;
    return CS_OK;
}

/* Bytes of a tree or a chunk; 0 where the attribute is missing. */
static cs_status take_bytes(const cs_xml_reader *r, const cs_xml *e, const char *name,
                            uint64_t *bytes_p)
{
    const char *text = cs_xml_get(e, name);

    *bytes_p = 0;
    if (text == NULL) {
        return CS_OK;
    }
    if (cs_parse_bytes(text, bytes_p, name, NULL) != CS_OK || *bytes_p < 1 ||
        *bytes_p > CS_MAX_BYTES) {
        return CS_XML_REFUSE(r, e, "%s=\"%.40s\": accepted is a number of bytes from 1 to 2^50",
                             name, text);
    }
    return CS_OK;
}

/* Size and chunk of tree m. */
static cs_status read_sizes(const cs_xml_reader *r, cs_strategy_file *file, uint32_t m,
                            const cs_xml *root)
{
    cs_strategy_tree *t    = &file->strategy.trees[m];
    uint64_t          size = 0, chunk = 0;

    CS_TRY(take_bytes(r, root, "size", &size));
    CS_TRY(take_bytes(r, root, "chunk", &chunk));
    if (m == 0) {
        file->has_sizes  = size > 0;
        file->has_chunks = chunk > 0;
    }
    if (file->has_sizes != (size > 0) || file->has_chunks != (chunk > 0)) {
        return CS_XML_REFUSE(r, root, "%s is said for some trees: accepted is for all or for none",
                             file->has_sizes != (size > 0) ? "size" : "chunk");
    }
    if (size > 0 && chunk > size) {
        return CS_XML_REFUSE(r, root, "has chunks of %llu bytes and %llu bytes in all",
                             (unsigned long long)chunk, (unsigned long long)size);
    }
    t->size_bytes  = size;
    t->chunk_bytes = chunk > 0 ? chunk : 1;
    return CS_OK;
}

static cs_status read_tree(const cs_xml_reader *r, cs_strategy_file *file, uint32_t m, cs_xml *root)
{
    cs_strategy *s = &file->strategy;

    for (cs_xml *e = root; e != NULL; e = cs_xml_next(e, root)) {
        CS_TRY(read_gpu(r, s, m, e, e == root));
    }
    for (uint32_t g = 0; g < s->n_ranks; g++) {
        bool is_here = s->trees[m].parent[g] != CS_TREE_ABSENT;
        if (is_here != (s->trees[0].parent[g] != CS_TREE_ABSENT)) {
            return CS_XML_REFUSE(r, root,
                                 "rank %u is in tree %u, and not in tree %u: all have the same", g,
                                 is_here ? m : 0, is_here ? 0 : m);
        }
    }
    return read_sizes(r, file, m, root);
}

static cs_status read_trees(cs_xml_reader *r, cs_xml *trees, cs_strategy_file *file)
{
    uint32_t n_trees = 0, n_ranks = 0, m = 0;

    CS_TRY(count_ranks(r, trees, &n_trees, &n_ranks));
    CS_TRY(cs_strategy_make(&file->strategy, n_ranks, n_trees, r->err));
    file->strategy.ip = CS_ARENA_NEW(&file->strategy.arena, const char *, n_ranks);
    if (file->strategy.ip == NULL) {
        return CS_NO_MEMORY(r->err, "trees");
    }
    for (cs_xml *root = trees->child; root != NULL; root = root->next, m++) {
        CS_TRY(read_tree(r, file, m, root));
    }
    return cs_strategy_check(&file->strategy, r->err);
}

cs_status cs_strategy_parse(const char *text, size_t length, const char *input,
                            cs_strategy_file *file, cs_error *err)
{
    cs_xml_reader r      = {.input = input, .err = err, .max_depth = CS_MAX_RANKS + 2};
    cs_xml       *root   = NULL;
    cs_status     status = cs_xml_read(&r, text, length, &root);

    *file = (cs_strategy_file){0};
    if (status == CS_OK) {
        status = read_trees(&r, root, file);
    }
    cs_xml_reader_free(&r);
    return status;
}

cs_status cs_strategy_load(const char *path, cs_strategy_file *file, cs_error *err)
{
    char  *text   = NULL;
    size_t length = 0;

    *file = (cs_strategy_file){0};
    CS_TRY(cs_file_read(path, CS_STRATEGY_MAX_BYTES, &text, &length, err));
    cs_status status = cs_strategy_parse(text, length, path, file, err);
    cs_free(text);
    return status;
}

static void close_file(void *content)
{
    cs_strategy_file *file = content;

    cs_strategy_free(&file->strategy);
    cs_free(file);
}

static cs_status load_file(const char *path, void **content_p, uint64_t *fingerprint_p,
                           cs_error *err)
{
    cs_strategy_file *file   = CS_NEW(cs_strategy_file, 1);
    char             *text   = NULL;
    size_t            length = 0;
    cs_status status = file != NULL ? cs_file_read(path, CS_STRATEGY_MAX_BYTES, &text, &length, err)
                                    : CS_NO_MEMORY(err, "a strategy");

    if (status == CS_OK) {
        status = cs_strategy_parse(text, length, path, file, err);
    }
    if (status == CS_OK) {
        *fingerprint_p = cs_mix64(cs_hash_bytes(text, length));
        *content_p     = file;
    } else if (file != NULL) {
        close_file(file);
    }
    cs_free(text);
    return status;
}

const cs_file_kind cs_strategy_file_kind = {.load = load_file, .close = close_file};

/* Writing. */

static void indent(cs_text *text, uint32_t depth)
{
    cs_text_add(text, "%*s", (int)(depth < MOST_INDENT ? depth : MOST_INDENT) * 2, "");
}

/* The tag of a rank; it stays open where there are children. */
static void open_gpu(cs_text *text, const cs_strategy *s, const cs_strategy_tree *t, uint32_t g,
                     const cs_logical *logical, uint32_t depth)
{
    bool is_root = t->parent[g] == CS_TREE_ROOT;

    indent(text, depth);
    cs_text_add(text, "<%s id=\"%u\"", is_root ? "root" : "gpu", g);
    cs_xml_add_text(text, "ip",
                    logical != NULL ? logical->servers[logical->server_of[g]].ip : s->ip[g]);
    if (is_root && t->size_bytes > 0) {
        cs_text_add(text, " size=\"%llu\" chunk=\"%llu\"", (unsigned long long)t->size_bytes,
                    (unsigned long long)t->chunk_bytes);
    }
    cs_text_add(text, "%s%s>\n", t->aggregates[g] ? "" : " agg=\"0\"",
                t->n_children[g] > 0 ? "" : "/");
}

/* A tree, down and up again; done[g] counts the children of g that are written. */
static void write_tree(cs_text *text, const cs_strategy *s, const cs_strategy_tree *t,
                       const cs_logical *logical, uint32_t *done)
{
    uint32_t g = cs_tree_root(t), depth = 1;

    open_gpu(text, s, t, g, logical, depth);
    while (g != CS_TREE_ROOT) {
        if (done[g] < t->n_children[g]) {
            g = t->order[t->first_child[g] + done[g]++];
            open_gpu(text, s, t, g, logical, ++depth);
            continue;
        }
        if (t->n_children[g] > 0) {
            indent(text, depth);
            cs_text_add(text, "</%s>\n", depth == 1 ? "root" : "gpu");
        }
        g = t->parent[g];
        depth--;
    }
}

cs_status cs_strategy_write(cs_text *text, const cs_strategy *strategy, const cs_logical *logical,
                            cs_error *err)
{
    uint32_t *done = CS_NEW(uint32_t, strategy->n_ranks);

    if (done == NULL) {
        return CS_NO_MEMORY(err, "a file of trees");
    }
    cs_text_add(text, "<trees>\n");
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        memset(done, 0, strategy->n_ranks * sizeof *done);
        write_tree(text, strategy, &strategy->trees[m], logical, done);
    }
    cs_text_add(text, "</trees>\n");
    cs_free(done);
    return cs_text_status(text, err);
}

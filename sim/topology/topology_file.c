/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "topology/topology_file.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"
#include "input/locate.h"
#include "input/yaml.h"
#include "topology/infragraph.h"
#include "topology/machine_build.h"
#include "topology/topology_json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static cs_status read_xml(const char *text, size_t length, const char *input, cs_arena *arena,
                          cs_topology_file *file, cs_error *err)
{
    cs_xml     *root    = NULL;
    cs_machine *machine = NULL;

    CS_TRY(cs_xml_parse(text, length, input, CS_XML_USUAL_DEPTH, arena, &root, err));
    if (strcmp(root->name, "system") == 0) {
        file->format = CS_FORMAT_NCCL;
        CS_TRY(cs_nccl_topology_read(root, input, arena, &machine, err));
        file->site.machine = machine;
        return CS_OK;
    }
    if (strcmp(root->name, "platform") == 0) {
        file->format = CS_FORMAT_SIMGRID;
        return cs_simgrid_platform_read(root, input, arena, &file->routes, err);
    }
    return CS_XML_FAIL(err, input, root,
                       "the file begins with <%.40s>: accepted are <system> (NCCL) and <platform> "
                       "(SimGrid)",
                       root->name);
}

/* Says where in a text a value is, or its key. */
typedef void locate_value(const char *text, size_t length, const char *path, bool wants_key,
                          int *line_p, int *column_p);

/* What a reading found wrong in a text, with the place. */
static cs_status refuse_value(cs_reading *r, const char *text, size_t length, const char *input,
                              locate_value *locate, cs_error *err)
{
    int line = 0, column = 0;

    if (cs_reading_failed(r)) {
        locate(text, length, r->error.where, r->key_is_wrong, &line, &column);
        cs_error_locate(&r->error, input, line, column);
        if (err != NULL) {
            *err = r->error;
        }
    }
    return r->error.status;
}

/* A server or an infrastructure becomes a site; any other kind stays a tree. */
static cs_status read_json(const char *text, size_t length, const char *input, cs_arena *arena,
                           cs_topology_file *file, cs_error *err)
{
    cs_reading r = {.arena = arena};

    file->format = CS_FORMAT_JSON;
    CS_TRY(cs_tree_parse(text, length, input, &file->tree, err));
    cs_place root = cs_place_root(file->tree);
    if (cs_is_infragraph(file->tree)) {
        file->format = CS_FORMAT_INFRAGRAPH;
        cs_infragraph_read(&r, &root, &file->site);
    } else if (cs_is_server(file->tree)) {
        cs_read_server(&r, &root, &file->site);
    } else {
        return CS_OK;
    }
    cs_topology_file_close(file);
    return refuse_value(&r, text, length, input, cs_locate, err);
}

static cs_status read_yaml(const char *text, size_t length, const char *input, cs_arena *arena,
                           cs_topology_file *file, cs_error *err)
{
    cs_reading r    = {.arena = arena};
    json_t    *tree = NULL;

    file->format = CS_FORMAT_INFRAGRAPH;
    CS_TRY(cs_yaml_parse(text, length, input, &tree, err));
    cs_place root = cs_place_root(tree);
    cs_infragraph_read(&r, &root, &file->site);
    json_decref(tree);
    return refuse_value(&r, text, length, input, cs_yaml_locate, err);
}

/* A pasted text may begin with a tag, too. */
static bool is_xml(const char *text)
{
    return *text == '<' && (strstr(text, "GPU0") == NULL || strstr(text, "<system") != NULL ||
                            strstr(text, "<platform") != NULL);
}

cs_status cs_topology_file_parse(const char *text, size_t length, const char *input,
                                 cs_arena *arena, cs_topology_file *file, cs_error *err)
{
    const char *p       = text;
    cs_machine *machine = NULL;
    cs_status   status;

    *file = (cs_topology_file){.site        = {.n_servers = 1},
                               .fingerprint = cs_mix64(cs_hash_bytes(text, length))};
    while (isspace((unsigned char)*p)) {
        p++;
    }
    if (is_xml(p)) {
        return read_xml(text, length, input, arena, file, err);
    }
    if (*p == '{') {
        return read_json(text, length, input, arena, file, err);
    }
    if (cs_begins_infragraph(p)) {
        return read_yaml(text, length, input, arena, file, err);
    }
    if (strlen(text) == length && strstr(p, "GPU0") != NULL) {
        file->format       = CS_FORMAT_SMI;
        status             = cs_smi_parse(text, input, arena, &machine, err);
        file->site.machine = machine;
        return status;
    }
    status = CS_FAIL(err, CS_EPARSE, "",
                     "is no topology: accepted are NCCL's and SimGrid's XML, the matrix of "
                     "'nvidia-smi topo -m', InfraGraph's YAML and JSON");
    cs_error_locate(err, input, 0, 0);
    return status;
}

cs_status cs_topology_file_load(const char *path, cs_arena *arena, cs_topology_file *file,
                                cs_error *err)
{
    char       *text   = NULL;
    size_t      length = 0;
    const char *slash  = strrchr(path, '/');

    CS_TRY(cs_file_read(path, CS_TOPOLOGY_MAX_BYTES, &text, &length, err));
    cs_status status = cs_topology_file_parse(text, length, path, arena, file, err);
    cs_free(text);
    CS_TRY(status);
    if (file->site.machine != NULL) {
        /* Readers name the format; people know the file. */
        cs_machine *named = CS_ARENA_NEW(arena, cs_machine, 1);
        if (named == NULL) {
            return CS_NO_MEMORY(err, "a topology");
        }
        *named = *file->site.machine;
        (void)snprintf(named->name, sizeof named->name, "%.63s", slash != NULL ? slash + 1 : path);
        file->site.machine = named;
    }
    return CS_OK;
}

bool cs_topology_is_preset(const char *name)
{
    for (const cs_preset *p = cs_presets; p->name != NULL; p++) {
        if (strcmp(p->name, name) == 0) {
            return true;
        }
    }
    return strpbrk(name, "./") == NULL;
}

cs_status cs_topology_open(const char *name, cs_arena *arena, cs_topology_file *file, cs_error *err)
{
    if (!cs_topology_is_preset(name)) {
        return cs_topology_file_load(name, arena, file, err);
    }
    *file = (cs_topology_file){.format = CS_FORMAT_PRESET};
    return cs_preset_find(name, arena, &file->site, err);
}

void cs_topology_file_close(cs_topology_file *file)
{
    json_decref(file->tree);
    file->tree = NULL;
}

/* A file with what it lives in. */
typedef struct loaded {
    cs_topology_file file; /* the first member: what the cache shows */
    cs_arena         arena;
} loaded;

static void close_loaded(void *content)
{
    loaded *l = content;

    cs_topology_file_close(&l->file);
    cs_arena_free(&l->arena);
    cs_free(l);
}

static cs_status load_topology(const char *path, void **content_p, uint64_t *fingerprint_p,
                               cs_error *err)
{
    loaded *l = CS_NEW(loaded, 1);

    if (l == NULL) {
        return CS_NO_MEMORY(err, "a topology");
    }
    cs_status status = cs_topology_file_load(path, &l->arena, &l->file, err);
    if (status != CS_OK) {
        close_loaded(l);
        return status;
    }
    *fingerprint_p = l->file.fingerprint;
    *content_p     = l;
    return CS_OK;
}

const cs_file_kind cs_topology_file_kind = {.load = load_topology, .close = close_loaded};

const char *cs_topology_format_name(cs_topology_format format)
{
    switch (format) {
    case CS_FORMAT_PRESET: return "preset";
    case CS_FORMAT_NCCL: return "NCCL topology XML";
    case CS_FORMAT_SMI: return "matrix of nvidia-smi topo -m";
    case CS_FORMAT_SIMGRID: return "SimGrid platform XML";
    case CS_FORMAT_INFRAGRAPH: return "InfraGraph";
    case CS_FORMAT_JSON: break;
    }
    return "JSON";
}

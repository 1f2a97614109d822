/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a fuzz target over every file of a folder, in the order of their names, without libFuzzer.
 * An empty folder is a failure. */
#include "base/alloc.h"
#include "base/file.h"
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int run_file(const char *folder, const char *name)
{
    char     path[1024];
    char    *data   = NULL;
    size_t   length = 0;
    cs_error err    = {0};

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (cs_file_read(path, 1 << 20, &data, &length, &err) != CS_OK) {
        (void)fprintf(stderr, "%s: %s\n", path, err.message);
        return 1;
    }
    (void)printf("%s\n", name);
    (void)fflush(stdout);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)data, length);
    cs_free(data);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    int             failed = 0;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int count = scandir(argv[1], &entries, visible, alphasort);
    if (count <= 0) {
        (void)fprintf(stderr, "%s: no inputs\n", argv[1]);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        failed |= run_file(argv[1], entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    (void)printf("%d inputs\n", count);
    return failed;
}

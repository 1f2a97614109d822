/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding modules: see base/module.h. */
#include "base/module.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_in(const char *folder, const char *below, const char *file_name, int mode,
                  char *path, size_t path_bytes)
{
    int n = snprintf(path, path_bytes, "%s/%s%s", folder, below, file_name);
    return n > 0 && (size_t)n < path_bytes && access(path, mode) == 0;
}

bool cs_program_folder(char *folder, size_t folder_bytes)
{
    ssize_t length = readlink("/proc/self/exe", folder, folder_bytes - 1);
    char   *slash  = NULL;

    if (length > 0) {
        folder[length] = '\0';
        slash          = strrchr(folder, '/');
    }
    if (slash != NULL) {
        *slash = '\0';
    }
    return slash != NULL;
}

bool cs_module_find(const char *file_name, int mode, char *path, size_t path_bytes)
{
    const char *chosen = getenv("COLLSIM_MODULES");
    char        self[PATH_MAX];

    if (chosen != NULL && chosen[0] != '\0') {
        return is_in(chosen, "", file_name, mode, path, path_bytes);
    }
    if (!cs_program_folder(self, sizeof self)) {
        return false;
    }
    return is_in(self, "", file_name, mode, path, path_bytes) ||
           is_in(self, COLLSIM_MODULE_FOLDER "/", file_name, mode, path, path_bytes);
}

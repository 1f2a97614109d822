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

bool cs_module_find(const char *file_name, int mode, char *path, size_t path_bytes)
{
    const char *chosen = getenv("COLLSIM_MODULES");
    char        self[PATH_MAX];
    ssize_t     length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (chosen != NULL && chosen[0] != '\0') {
        return is_in(chosen, "", file_name, mode, path, path_bytes);
    }
    if (length <= 0) {
        return false;
    }
    self[length] = '\0';
    char *slash  = strrchr(self, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return is_in(self, "", file_name, mode, path, path_bytes) ||
           is_in(self, COLLSIM_MODULE_FOLDER "/", file_name, mode, path, path_bytes);
}

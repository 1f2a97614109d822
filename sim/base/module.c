/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules beside the running program, or beside the library that this is a part of. */
#include "base/module.h"

#include <dlfcn.h>
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

/* The folder of the library that this is a part of, which some other program has loaded. */
static bool library_folder(char *folder, size_t folder_bytes)
{
    static const char here;
    Dl_info           info;

    if (dladdr(&here, &info) == 0 || strchr(info.dli_fname, '/') == NULL) {
        return false;
    }
    size_t length = (size_t)(strrchr(info.dli_fname, '/') - info.dli_fname);
    int    n      = snprintf(folder, folder_bytes, "%.*s", (int)length, info.dli_fname);
    return n >= 0 && (size_t)n < folder_bytes;
}

bool cs_module_find(const char *file_name, int mode, char *path, size_t path_bytes)
{
    const char *chosen = getenv("COLLSIM_MODULES");
    char        self[PATH_MAX];

    if (chosen != NULL && chosen[0] != '\0') {
        return is_in(chosen, "", file_name, mode, path, path_bytes);
    }
    if (cs_program_folder(self, sizeof self) &&
        (is_in(self, "", file_name, mode, path, path_bytes) ||
         is_in(self, COLLSIM_MODULE_FOLDER "/", file_name, mode, path, path_bytes))) {
        return true;
    }
    return library_folder(self, sizeof self) &&
           (is_in(self, "", file_name, mode, path, path_bytes) ||
            is_in(self, "collsim/", file_name, mode, path, path_bytes));
}

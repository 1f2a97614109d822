/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/folder.h"

#include "base/alloc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cs_folder_is(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Digits compare as the number that they are: longer ones are larger, but for leading zeros. */
static int compare_digits(const char **a_p, const char **b_p)
{
    const char *a = *a_p + strspn(*a_p, "0"), *b = *b_p + strspn(*b_p, "0");
    size_t      n = strspn(a, "0123456789"), m = strspn(b, "0123456789");

    *a_p = a + n;
    *b_p = b + m;
    return n != m ? (n > m) - (n < m) : strncmp(a, b, n);
}

static int by_name(const void *x, const void *y)
{
    const char *first = *(char *const *)x, *second = *(char *const *)y;
    const char *a = first, *b = second;

    while (*a != '\0' && *b != '\0') {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            int order = compare_digits(&a, &b);
            if (order != 0) {
                return order;
            }
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a != *b ? (*a != '\0') - (*b != '\0') : strcmp(first, second);
}

static cs_status fail(const char *path, const char *message, int code, cs_error *err)
{
    cs_error wrong = {0};

    cs_status status = CS_FAIL(&wrong, CS_EIO, "", "%s: %s", message, strerror(code));
    cs_error_locate(&wrong, path, 0, 0);
    if (err != NULL && err->status == CS_OK) {
        *err = wrong;
    }
    return status;
}

/* FOLDER/NAME, if it is a regular file. */
static cs_status add(cs_folder *folder, const char *path, const char *name, size_t most,
                     cs_error *err)
{
    struct stat info;
    size_t      length = strlen(path) + strlen(name) + 2;
    char       *joined = CS_NEW(char, length);

    if (joined == NULL ||
        !cs_grow(&folder->paths, &folder->capacity, folder->n + 1, 16, sizeof *folder->paths)) {
        cs_free(joined);
        return CS_NO_MEMORY(err, "the names of files");
    }
    bool has_slash = path[0] != '\0' && path[strlen(path) - 1] == '/';
    (void)snprintf(joined, length, "%s%s%s", path, has_slash ? "" : "/", name);
    if (stat(joined, &info) == 0 && !S_ISREG(info.st_mode)) {
        cs_free(joined);
        return CS_OK;
    }
    folder->paths[folder->n++] = joined;
    return folder->n <= most ? CS_OK : CS_FAIL(err, CS_EINVAL, path, "more than %zu files", most);
}

cs_status cs_folder_read(const char *path, size_t most, cs_folder *folder, cs_error *err)
{
    DIR      *stream = opendir(path);
    cs_status status = CS_OK;

    *folder = (cs_folder){0};
    if (stream == NULL) {
        return fail(path, "cannot be opened", errno, err);
    }
    while (status == CS_OK) {
        errno                      = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            status = errno != 0 ? fail(path, "cannot be read", errno, err) : CS_OK;
            break;
        }
        if (entry->d_name[0] != '.') {
            status = add(folder, path, entry->d_name, most, err);
        }
    }
    (void)closedir(stream);
    if (folder->n > 0) {
        qsort(folder->paths, folder->n, sizeof *folder->paths, by_name);
    }
    return status;
}

void cs_folder_free(cs_folder *folder)
{
    for (size_t i = 0; i < folder->n; i++) {
        cs_free(folder->paths[i]);
    }
    cs_free(folder->paths);
    *folder = (cs_folder){0};
}

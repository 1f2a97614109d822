/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files, through the POSIX calls.
 *
 * Writing goes to a new file ".collsim-PID-N.tmp" in the folder of the target, which is
 * synced and renamed: the target has the old bytes or the new ones, never some of each. The
 * folder itself is not synced. A file that is replaced keeps its permissions, and its owner and
 * group where we may give them. A symbolic link stays one, the file it leads to is replaced. What
 * is no regular file, and everything below /dev and /proc (where a link leads to an output that is
 * already open), is appended to directly.
 */
#include "base/file.h"

#include "base/alloc.h"
#include "base/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fail with `message` and what errno says, at the file `path`. */
static cs_status fail_errno(cs_error *err, const char *path, const char *message)
{
    const char *reason = strerror(errno);
    bool        is_new = err != NULL && err->status == CS_OK;
    cs_status   status = CS_FAIL(err, CS_EIO, NULL, "%s: %s", message, reason);

    if (is_new) {
        cs_error_locate(err, path, 0, 0);
    }
    return status;
}

/* Fail with a message of its own, at the file `path`. */
static cs_status fail_plain(cs_error *err, const char *path, cs_status status, const char *message)
{
    bool is_new = err != NULL && err->status == CS_OK;

    (void)CS_FAIL(err, status, NULL, "%s", message);
    if (is_new) {
        cs_error_locate(err, path, 0, 0);
    }
    return status;
}

/* Read until `size` bytes or the end are there; -1 on failure. */
static ssize_t read_all(int fd, char *data, size_t size)
{
    size_t length = 0;

    while (length < size) {
        ssize_t n = read(fd, data + length, size - length);
        if (n < 0 && errno != EINTR) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        length += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)length;
}

/* Read from an open file: see cs_file_read(). */
static cs_status read_open(int fd, const char *path, size_t max_bytes, char **data_p,
                           size_t *length_p, cs_error *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        return fail_errno(err, path, "cannot be read");
    }
    if (!S_ISREG(info.st_mode)) {
        return fail_plain(err, path, CS_EIO, "is not a regular file");
    }
    if ((uintmax_t)info.st_size > max_bytes) {
        char message[96];
        (void)snprintf(message, sizeof message, "has %jd bytes: at most %zu are accepted",
                       (intmax_t)info.st_size, max_bytes);
        return fail_plain(err, path, CS_EINVAL, message);
    }
    char *data = cs_calloc((size_t)info.st_size + 1, 1);
    if (data == NULL) {
        return fail_plain(err, path, CS_ENOMEM, "does not fit into memory");
    }
    ssize_t length = read_all(fd, data, (size_t)info.st_size);
    if (length < 0) {
        cs_status status = fail_errno(err, path, "cannot be read");
        cs_free(data);
        return status;
    }
    *data_p   = data;
    *length_p = (size_t)length;
    return CS_OK;
}

cs_status cs_file_read(const char *path, size_t max_bytes, char **data_p, size_t *length_p,
                       cs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return fail_errno(err, path, "cannot be opened");
    }
    cs_status status = read_open(fd, path, max_bytes, data_p, length_p, err);
    (void)close(fd);
    return status;
}

/* Write everything; false (and errno) on failure. */
static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        data += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static cs_status write_directly(const char *path, const char *data, size_t length, cs_error *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd < 0) {
        return fail_errno(err, path, "cannot be opened for writing");
    }
    bool written = write_all(fd, data, length);
    if (!written) {
        (void)fail_errno(err, path, "cannot be written");
    }
    if (close(fd) != 0 && written) {
        return fail_errno(err, path, "cannot be written");
    }
    return written ? CS_OK : CS_EIO;
}

/* A new file beside the one that it will replace. */
typedef struct temporary {
    char name[PATH_MAX];
    int  fd; /* -1: it could not be opened */
    int  note;
} temporary;

/* In the folder of `path`; errno is set where fd is -1. */
static void temporary_open(temporary *t, const char *path, mode_t mode)
{
    const char *slash  = strrchr(path, '/');
    int         folder = slash != NULL ? (int)(slash - path + 1) : 0;
    sigset_t    before;

    cs_leftovers_hold(&before);
    t->fd   = -1;
    t->note = -1;
    errno   = EEXIST;
    for (int attempt = 0; t->fd < 0 && errno == EEXIST && attempt < 10000; attempt++) {
        int n = snprintf(t->name, sizeof t->name, "%.*s.collsim-%ld-%d.tmp", folder, path,
                         (long)getpid(), attempt);
        if (n < 0 || (size_t)n >= sizeof t->name) {
            errno = ENAMETOOLONG;
            break;
        }
        t->fd = open(t->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    t->note = t->fd >= 0 ? cs_leftover_file(t->name) : -1;
    cs_leftovers_release(&before);
}

/* Give it its final name, or remove it where there is none; false (and errno) on failure. */
static bool temporary_finish(const temporary *t, const char *path)
{
    sigset_t before;

    cs_leftovers_hold(&before);
    bool is_done = path != NULL ? rename(t->name, path) == 0 : unlink(t->name) == 0;
    if (is_done) {
        cs_leftover_forget(t->note);
    }
    cs_leftovers_release(&before);
    return is_done;
}

/* Write, sync and close; false (and errno) on failure. Always closes. */
static bool fill_and_close(int fd, const char *data, size_t length)
{
    bool done   = write_all(fd, data, length) && fsync(fd) == 0;
    int  reason = errno;

    if (close(fd) != 0 && done) {
        return false;
    }
    errno = reason;
    return done;
}

/* As far as we may: a group that is not that of the old file is let do no more than everybody. */
static void inherit(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;

    if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0) {
        mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
    }
    (void)fchmod(fd, mode);
}

/* `old`: of the file that is replaced; NULL: there is none. */
static cs_status replace_file(const char *path, const struct stat *old, const char *data,
                              size_t length, cs_error *err)
{
    temporary t;

    temporary_open(&t, path, old != NULL ? 0600 : 0666);
    if (t.fd < 0) {
        return fail_errno(err, path, "cannot be written");
    }
    if (old != NULL) {
        inherit(t.fd, old);
    }
    if (fill_and_close(t.fd, data, length) && temporary_finish(&t, path)) {
        return CS_OK;
    }
    cs_status status = fail_errno(err, path, "cannot be written");
    (void)temporary_finish(&t, NULL);
    return status;
}

static bool is_below(const char *path, const char *folder)
{
    return strncmp(path, folder, strlen(folder)) == 0;
}

cs_status cs_file_write(const char *path, const char *data, size_t length, cs_error *err)
{
    struct stat info;
    char        target[PATH_MAX];

    if (is_below(path, "/dev/") || is_below(path, "/proc/")) {
        return write_directly(path, data, length, err);
    }
    if (lstat(path, &info) != 0) {
        return errno == ENOENT ? replace_file(path, NULL, data, length, err)
                               : fail_errno(err, path, "cannot be written");
    }
    if (S_ISLNK(info.st_mode)) {
        if (realpath(path, target) == NULL || lstat(target, &info) != 0) {
            return fail_errno(err, path, "cannot be written");
        }
        path = target;
    }
    return S_ISREG(info.st_mode) ? replace_file(path, &info, data, length, err)
                                 : write_directly(path, data, length, err);
}

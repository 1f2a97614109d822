/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files: whole or not at all, nothing left behind, permissions of the umask. */
#include "base/alloc.h"
#include "base/file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/collsim-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

/* Entries of the folder; with `remove_them` they are unlinked, too. */
static int count_entries(bool remove_them)
{
    DIR *dir   = opendir(folder);
    int  count = 0;

    cr_assert_not_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        count++;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (remove_them && unlink(path) != 0) {
            cr_assert_eq(rmdir(path), 0);
        }
    }
    cr_assert_eq(closedir(dir), 0);
    return count;
}

static void remove_folder(void)
{
    (void)count_entries(true);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(file, .init = make_folder, .fini = remove_folder);

static const char *in_folder(const char *name)
{
    static char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void check_content(const char *path, const char *expected, size_t expected_length)
{
    cs_error err    = {0};
    char    *data   = NULL;
    size_t   length = 0;

    cr_assert_eq(cs_file_read(path, 1 << 24, &data, &length, &err), CS_OK, "%s", err.message);
    cr_assert_eq(length, expected_length);
    cr_assert_eq(memcmp(data, expected, expected_length), 0);
    cr_assert_eq(data[length], '\0');
    cs_free(data);
}

Test(file, what_is_written_is_read)
{
    static char large[3000000];
    const char *path = in_folder("a.bin");

    for (size_t i = 0; i < sizeof large; i++) {
        large[i] = (char)(i * 31 % 251);
    }
    cr_assert_eq(cs_file_write(path, large, sizeof large, NULL), CS_OK);
    check_content(path, large, sizeof large);
    cr_assert_eq(cs_file_write(path, "new", 3, NULL), CS_OK);
    check_content(path, "new", 3);
    cr_assert_eq(cs_file_write(path, "", 0, NULL), CS_OK);
    check_content(path, "", 0);
    cr_assert_eq(count_entries(false), 1, "a temporary file is left");
}

Test(file, permissions_follow_the_umask)
{
    struct stat info;
    const char *path = in_folder("a");

    (void)umask(027);
    cr_assert_eq(cs_file_write(path, "x", 1, NULL), CS_OK);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0640);
}

Test(file, a_file_that_is_overwritten_keeps_its_permissions)
{
    static const mode_t modes[] = {0600, 0644, 0664, 0755, 0400};
    struct stat         info;
    const char         *path = in_folder("a");

    (void)umask(022);
    cr_assert_eq(cs_file_write(path, "x", 1, NULL), CS_OK);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        cr_assert_eq(chmod(path, modes[i]), 0);
        cr_assert_eq(cs_file_write(path, "y", 1, NULL), CS_OK);
        cr_assert_eq(stat(path, &info), 0);
        cr_expect_eq(info.st_mode & 07777, modes[i], "%o", (unsigned)info.st_mode);
    }
}

/* Only root may give files away. */
Test(file, a_file_that_is_overwritten_keeps_its_owner)
{
    struct stat info;
    const char *path  = in_folder("a");
    uid_t       owner = geteuid() == 0 ? 4321 : geteuid();
    gid_t       group = geteuid() == 0 ? 1234 : getegid();

    cr_assert_eq(cs_file_write(path, "x", 1, NULL), CS_OK);
    cr_assert_eq(chown(path, owner, group), 0);
    cr_assert_eq(chmod(path, 0640), 0);
    cr_assert_eq(cs_file_write(path, "y", 1, NULL), CS_OK);
    cr_assert_eq(stat(path, &info), 0);
    cr_expect_eq(info.st_uid, owner);
    cr_expect_eq(info.st_gid, group);
    cr_expect_eq(info.st_mode & 07777, 0640);
}

/* Where the group cannot be kept, the new one may do no more than everybody. */
Test(file, a_foreign_group_gets_no_rights)
{
    struct stat info;
    const char *path = in_folder("a");
    int         how  = 0;

    if (geteuid() != 0) {
        return; /* it takes root to make such a file */
    }
    cr_assert_eq(cs_file_write(path, "x", 1, NULL), CS_OK);
    cr_assert_eq(chown(path, 0, 1234), 0);
    cr_assert_eq(chmod(path, 0664), 0);
    cr_assert_eq(chmod(folder, 0777), 0);
    pid_t child = fork();
    if (child == 0) {
        bool is_other = setgroups(0, NULL) == 0 && setgid(4321) == 0 && setuid(4321) == 0;
        _exit(is_other && cs_file_write(path, "y", 1, NULL) == CS_OK ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert_eq(how, 0);
    cr_assert_eq(stat(path, &info), 0);
    cr_expect_eq(info.st_gid, 4321);
    cr_expect_eq(info.st_mode & 07777, 0644, "%o", (unsigned)info.st_mode);
}

Test(file, a_failed_write_leaves_nothing)
{
    cs_error err = {0};
    char     text[256];

    cr_assert_eq(mkdir(in_folder("sub"), 0777), 0);
    const char *path = in_folder("none/a");
    cr_assert_eq(cs_file_write(path, "x", 1, &err), CS_EIO);
    cs_error_text(&err, text, sizeof text);
    cr_assert_eq(strncmp(text, path, strlen(path)), 0);
    cr_assert_str_eq(text + strlen(path), ": cannot be written: No such file or directory");
    cr_assert_eq(cs_file_write(in_folder("sub"), "x", 1, NULL), CS_EIO);
    cr_assert_eq(cs_file_write(in_folder("sub/"), "x", 1, NULL), CS_EIO);
    cr_assert_eq(cs_file_write("", "x", 1, NULL), CS_EIO);
    cr_assert_eq(count_entries(false), 1);
}

/* Once the folder has the temporary file, the disk is "full". */
Test(file, a_write_that_fails_half_way_keeps_the_old_file)
{
    static char   large[100000];
    cs_error      err   = {0};
    struct rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};

    cr_assert_eq(cs_file_write(in_folder("a"), "old", 3, NULL), CS_OK);
    cr_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(cs_file_write(in_folder("a"), large, sizeof large, &err), CS_EIO);
    cr_assert_str_eq(err.message, "cannot be written: File too large");
    check_content(in_folder("a"), "old", 3);
    cr_assert_eq(count_entries(false), 1, "a temporary file is left");
}

Test(file, a_stale_temporary_file_is_no_obstacle)
{
    char stale[80];

    (void)snprintf(stale, sizeof stale, ".collsim-%ld-0.tmp", (long)getpid());
    FILE *file = fopen(in_folder(stale), "w");
    cr_assert_not_null(file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(cs_file_write(in_folder("a"), "x", 1, NULL), CS_OK);
    check_content(in_folder("a"), "x", 1);
    check_content(in_folder(stale), "", 0);
    cr_assert_eq(count_entries(false), 2);
}

Test(file, a_link_stays_a_link)
{
    struct stat info;

    cr_assert_eq(cs_file_write(in_folder("real"), "old", 3, NULL), CS_OK);
    cr_assert_eq(symlink("real", in_folder("link")), 0);
    cr_assert_eq(cs_file_write(in_folder("link"), "new", 3, NULL), CS_OK);
    cr_assert_eq(lstat(in_folder("link"), &info), 0);
    cr_assert(S_ISLNK(info.st_mode));
    check_content(in_folder("real"), "new", 3);
    cr_assert_eq(count_entries(false), 2);
}

Test(file, devices_are_written_directly)
{
    cs_error err = {0};

    cr_assert_eq(cs_file_write("/dev/null", "x", 1, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_file_write("/dev/full", "x", 1, &err), CS_EIO);
    cr_assert_str_eq(err.message, "cannot be written: No space left on device");
    struct stat info;
    cr_assert_eq(stat("/dev/null", &info), 0);
    cr_assert(S_ISCHR(info.st_mode));
}

Test(file, a_pipe_is_written_directly)
{
    int  ends[2];
    char path[64], got[8] = "";

    cr_assert_eq(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    cr_assert_eq(cs_file_write(path, "abc", 3, NULL), CS_OK);
    cr_assert_eq(read(ends[0], got, sizeof got), 3);
    cr_assert_str_eq(got, "abc");
}

static void check_unreadable(const char *path, size_t max_bytes, cs_status status,
                             const char *message)
{
    cs_error err    = {0};
    char    *data   = NULL;
    size_t   length = 7;

    cr_assert_eq(cs_file_read(path, max_bytes, &data, &length, &err), status);
    cr_assert_str_eq(err.input, path);
    cr_assert_str_eq(err.message, message);
    cr_assert_null(data);
    cr_assert_eq(length, 7);
}

Test(file, what_cannot_be_read_is_named)
{
    check_unreadable(in_folder("none"), 10, CS_EIO, "cannot be opened: No such file or directory");
    check_unreadable(folder, 10, CS_EIO, "is not a regular file");
    check_unreadable("/dev/null", 10, CS_EIO, "is not a regular file");
    cr_assert_eq(cs_file_write(in_folder("eleven"), "12345678901", 11, NULL), CS_OK);
    check_unreadable(in_folder("eleven"), 10, CS_EINVAL, "has 11 bytes: at most 10 are accepted");
    check_content(in_folder("eleven"), "12345678901", 11);
}

Test(file, a_fifo_without_a_writer_does_not_block)
{
    cr_assert_eq(mkfifo(in_folder("fifo"), 0666), 0);
    check_unreadable(in_folder("fifo"), 10, CS_EIO, "is not a regular file");
}

Test(file, memory_runs_out)
{
    cr_assert_eq(cs_file_write(in_folder("a"), "x", 1, NULL), CS_OK);
    cs_alloc_fail_after(0);
    check_unreadable(in_folder("a"), 10, CS_ENOMEM, "does not fit into memory");
    cs_alloc_fail_after(-1);
}

Test(file, the_first_error_keeps_its_place)
{
    cs_error err = {0};
    char    *data;
    size_t   length;

    (void)CS_FAIL(&err, CS_EINVAL, "key", "earlier");
    cr_assert_eq(cs_file_read(in_folder("none"), 1, &data, &length, &err), CS_EIO);
    cr_assert_str_eq(err.input, "");
    cr_assert_str_eq(err.message, "earlier");
}

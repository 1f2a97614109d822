/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void ct_folder_make(char folder[CT_FOLDER_BYTES])
{
    (void)snprintf(folder, CT_FOLDER_BYTES, "/tmp/collsim-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

void ct_folder_remove(const char *folder)
{
    char command[CT_FOLDER_BYTES + 16];

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

static char entered[CT_FOLDER_BYTES];

void ct_folder_enter(void)
{
    ct_folder_make(entered);
    cr_assert_eq(chdir(entered), 0);
}

void ct_folder_leave(void)
{
    cr_assert_eq(chdir("/"), 0);
    ct_folder_remove(entered);
}

cs_text ct_file_read(const char *path)
{
    cs_text text = {0};
    char    block[4096];
    size_t  got;
    FILE   *file = fopen(path, "r");

    cr_assert_not_null(file, "%s", path);
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        cs_text_add_bytes(&text, block, got);
    }
    cs_text_add(&text, "%s", "");
    cr_assert_eq(fclose(file), 0, "%s", path);
    return text;
}

void ct_file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file, "%s", path);
    cr_assert_geq(fputs(text, file), 0, "%s", path);
    cr_assert_eq(fclose(file), 0, "%s", path);
}

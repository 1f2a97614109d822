/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

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

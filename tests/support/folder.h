/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/folder.h -- a folder of its own for the files of a test, and whole files. */
#ifndef CT_SUPPORT_FOLDER_H
#define CT_SUPPORT_FOLDER_H

#include "base/text.h"

enum { CT_FOLDER_BYTES = 64 };

/* A new empty folder in /tmp; its name without a slash behind it. */
void ct_folder_make(char folder[CT_FOLDER_BYTES]);

/* Remove it with all that is in it. */
void ct_folder_remove(const char *folder);

/* .init and .fini of a suite: a new folder is each test's working folder. */
void ct_folder_enter(void);
void ct_folder_leave(void);

/* A whole file; free the text. */
cs_text ct_file_read(const char *path);
void    ct_file_write(const char *path, const char *text);

#endif

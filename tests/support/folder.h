/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/folder.h -- a folder of its own for the files of a test. */
#ifndef CT_SUPPORT_FOLDER_H
#define CT_SUPPORT_FOLDER_H

enum { CT_FOLDER_BYTES = 64 };

/* A new empty folder in /tmp; its name without a slash behind it. */
void ct_folder_make(char folder[CT_FOLDER_BYTES]);

/* Remove it with all that is in it. */
void ct_folder_remove(const char *folder);

#endif

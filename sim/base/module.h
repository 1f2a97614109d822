/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/module.h -- files that belong to the program and are not part of it. */
#ifndef CS_BASE_MODULE_H
#define CS_BASE_MODULE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder in which the running program lies; false: that cannot be found out. */
bool cs_program_folder(char *folder, size_t folder_bytes);

/* Find a module: a library to load or a program to start. It lies in the folder that the
 * environment's COLLSIM_MODULES names, or beside the running program, or in the folder of libraries
 * that belongs to it, or beside libcollsim or in the folder of modules there. `mode` as of
 * access(2). Writes the path; false: it is nowhere. */
bool cs_module_find(const char *file_name, int mode, char *path, size_t path_bytes);

#endif

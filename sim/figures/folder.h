/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/folder.h -- where the files of figures lie. */
#ifndef CS_FIGURES_FOLDER_H
#define CS_FIGURES_FOLDER_H

#include "cs/error.h"

#include <stddef.h>

/* The file of a figure: a name of the list, or a path (it has a '/' or ends in ".json"). */
cs_status cs_figure_find(const char *name, char *path, size_t path_bytes, cs_error *err);

/* The path of a file whose name is meant beside the file `path`; `ending` is added where the name
 * has none. */
cs_status cs_figure_beside(const char *path, const char *name, const char *ending, char *place,
                           size_t place_bytes, cs_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `collsim run CONFIG.json --format json` prints, with KEY set to VALUE, by two threads.
 *   cc run_config.c $(pkg-config --cflags --libs collsim) && ./a.out CONFIG.json KEY VALUE */
#include <cs/collsim.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    cs_config *config = NULL;
    char      *json   = NULL, text[800];
    cs_error   err    = {0};
    cs_status  status = argc == 4 ? cs_config_load(argv[1], &config, &err) : CS_EINVAL;

    if (status == CS_OK) {
        status = cs_config_set(config, argv[2], argv[3], argv[2], &err);
    }
    if (status == CS_OK) {
        status = cs_config_run(config, 2, &json, &err);
    }
    if (status == CS_OK) {
        fputs(json, stdout);
    } else {
        cs_error_text(&err, text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    cs_string_free(json);
    cs_config_free(config);
    return status == CS_OK ? 0 : 1;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a configuration: what report/report.h makes of it, once it was run. */
#include "report/report.h"
#include "serve/api.h"

#include <string.h>

static const char *title_of(const cs_api *api, const cs_config *config)
{
    const char *name  = cs_config_text(config, "name");
    const char *slash = api->base_path != NULL ? strrchr(api->base_path, '/') : NULL;

    return name != NULL ? name : slash != NULL ? slash + 1 : api->base_path; /* NULL: what is run */
}

static cs_status make(const cs_api *api, const cs_config *config, bool is_live, bool has_runs,
                      cs_report *report, cs_error *err)
{
    cs_data           data    = {.has_scenarios = true};
    cs_text           command = {0};
    cs_report_options options = {.title       = title_of(api, config),
                                 .base        = api->base_path != NULL ? api->base_path : "",
                                 .description = cs_config_text(config, "description"),
                                 .is_live     = is_live,
                                 .has_runs    = has_runs};
    cs_status         status  = cs_api_command(api, "report", config, &command, err);

    options.command = command.data;
    status          = status == CS_OK ? cs_data_run(config, api->jobs, &data, err) : status;
    status          = status == CS_OK ? cs_report_make(&data, &options, report, err) : status;
    cs_data_free(&data);
    cs_text_free(&command);
    return status;
}

cs_status cs_api_page_data(const cs_api *api, const cs_config *config, bool has_runs, cs_text *text,
                           cs_error *err)
{
    cs_report report = {.data = {0}};
    cs_status status = make(api, config, true, has_runs, &report, err);

    if (status == CS_OK) {
        cs_text_add_bytes(text, report.data.data, report.data.length);
    }
    cs_report_free(&report);
    return status;
}

cs_status cs_api_page(const cs_api *api, const cs_config *config, bool is_live, cs_text *text,
                      cs_error *err)
{
    cs_report report = {.data = {0}};
    cs_status status = cs_report_policy(is_live) != NULL
                           ? make(api, config, is_live, true, &report, err)
                           : CS_OK; /* what is missing is said below, without a run */

    status = status == CS_OK ? cs_report_html(&report, is_live, text, err) : status;
    cs_report_free(&report);
    return status;
}

const char *cs_api_page_policy(void)
{
    return cs_report_policy(true);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/optcc_point.h -- one AllReduce of OptCC's figures: servers of which some have slow NICs,
 * by replay, and what OptCC's closed forms say of it.
 *
 * The formulas are those of sim/doc/optcc.md, of this project's construction and of the paper's.
 */
#ifndef CS_FIGURES_OPTCC_POINT_H
#define CS_FIGURES_OPTCC_POINT_H

#include "cs/result.h"
#include "figures/figures.h"

enum { CS_OPTCC_SLOW = 4, CS_OPTCC_OPTIONS = 4 };

/* The machine. Every GPU has a NIC of its own. */
typedef struct cs_optcc_machine {
    double alpha_s, bandwidth_Bps; /* of a NIC */
    double nvlink_alpha_s, nvlink_Bps;
} cs_optcc_machine;

typedef struct cs_optcc_point {
    const char      *algorithm, *model;
    cs_optcc_machine machine;
    uint32_t         servers, gpus; /* GPUs of each server */
    uint64_t         bytes;
    uint32_t         n_slow;              /* servers 0 .. n_slow - 1 */
    double           slow[CS_OPTCC_SLOW]; /* their slowdowns */
    struct {
        const char *key, *value;
    } options[CS_OPTCC_OPTIONS]; /* of the algorithm; key NULL: none */
} cs_optcc_point;

/* Whether there are such an algorithm and such a model, and they accept the point. */
bool cs_optcc_accepted(const cs_optcc_point *point);

/* Run it, and add checks: the schedule is correct, and no lower bound is above its time. */
CS_MUST_CHECK cs_status cs_optcc_replay(cs_figure_data *data, const cs_optcc_point *point,
                                        cs_result *result_p, cs_error *err);

/* A number among the options as resolved; NAN where there is none. */
double cs_optcc_number(const cs_result *result, const char *key);
/* Whether an option has this word as its value. */
bool cs_optcc_is(const cs_result *result, const char *key, const char *word);

/* What the formulas need of a schedule. */
typedef struct cs_optcc_form {
    uint32_t      servers, gpus, n_slow;
    const double *slow;
    uint32_t      rounds, ramp;
    bool          has_bubbles;
    double        alpha; /* in units of the time of the buffer's share of one NIC, bytes / gpus */
} cs_optcc_form;

/* The form of a replayed point of `optcc`. */
cs_optcc_form cs_optcc_form_of(const cs_optcc_point *point, const cs_result *result);

/* Sections of equal size; a special one counts, bubbles do not. */
double cs_optcc_sections(const cs_optcc_form *form);

/* The time in the units of `alpha`; *is_exact_p: the replay must meet it, otherwise it must not
 * exceed it. Costs of NVLink are those of (gpus - 1) times the bandwidth of a NIC and no alpha. */
double cs_optcc_formula(const cs_optcc_form *form, bool *is_exact_p);

/* What the paper states for as many sections, without alpha; NAN for several slow servers of
 * several GPUs. */
double cs_optcc_paper(const cs_optcc_form *form);

/* What cs_optcc_formula() tends to with ever more sections, without alpha. */
double cs_optcc_limit(const cs_optcc_form *form);

#endif

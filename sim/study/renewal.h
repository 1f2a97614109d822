/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/renewal.h -- are the trees in use still good on the links that a profile found?
 *
 * Behind every profile AdapCC synthesises trees anew and changes to them where they differ. Here
 * both are held against each other by the model whose time trees are made to lower, on what was
 * measured, so that trees are only changed where that pays.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, section IV-B; when it pays is the project's.
 */
#ifndef CS_STUDY_RENEWAL_H
#define CS_STUDY_RENEWAL_H

#include "algorithms/adapcc/adapcc.h"
#include "study/profile.h"

/* What a change costs, beside the profile, which has been paid for, and for how long it lasts. */
typedef struct cs_renewal_terms {
    double   solve_s, setup_s; /* until there are trees; until they are connected */
    uint32_t period;           /* collectives until the next profile, >= 1 */
} cs_renewal_terms;

typedef struct cs_renewal {
    double old_s, new_s; /* of one collective, by that model */
    double break_even;   /* collectives that save what a change costs; INFINITY: new trees save
                            nothing */
    bool keeps;          /* it is more than there are until the next profile */
} cs_renewal;

/* Hold the trees in use against new ones for the scenario's collective, size and root, made as the
 * options say. `old` has sizes that add up to the scenario's bytes. `made` gets the new trees; the
 * caller frees it, also after a failure. Refuses (CS_EINVAL) trees of another cluster, and
 * collectives without trees (CS_ENOTSUP). As long as a synthesis. */
CS_MUST_CHECK cs_status cs_renew_trees(const cs_profile *profile, const cs_scenario *scenario,
                                       const cs_adapcc_options *options,
                                       const cs_renewal_terms *terms, const cs_strategy *old,
                                       cs_strategy *made, cs_renewal *renewal_p, cs_error *err);

#endif

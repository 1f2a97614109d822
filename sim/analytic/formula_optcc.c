/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC's closed forms, worked out from the description in sim/doc/optcc.md and from the paper, and
 * nothing else: they are held against replays. H healthy servers, M = rounds * (H - 1), one section
 * has size 1 / `elements` in units of the share of one NIC. */
#include "analytic/formula.h"

#include <math.h>

static double healthy(const cs_optcc_form *f)
{
    return (double)f->servers - f->n_slow;
}

static double places(const cs_optcc_form *f)
{
    return f->rounds * (healthy(f) - 1);
}

static double largest(const cs_optcc_form *f)
{
    double most = 1;

    for (uint32_t i = 0; i < f->n_slow; i++) {
        most = fmax(most, f->slow[i]);
    }
    return most;
}

static double sum(const cs_optcc_form *f)
{
    double total = 0;

    for (uint32_t i = 0; i < f->n_slow; i++) {
        total += f->slow[i];
    }
    return total;
}

/* One slow server, l >= 2, one GPU each, and enough sections: one of them is reduced there. */
static bool has_special(const cs_optcc_form *f)
{
    return f->n_slow == 1 && f->gpus == 1 && f->slow[0] >= 2 && places(f) >= (double)f->servers + 1;
}

double cs_formula_optcc_sections(const cs_optcc_form *form)
{
    double missing = form->n_slow == 1 ? 1 : 2;
    return places(form) - (has_special(form) ? 0 : missing);
}

static double weight(const cs_optcc_form *f, int64_t round)
{
    int64_t rounds = f->rounds, ramp = f->ramp, edge = rounds - 1 - round;
    double  ratio = f->slow[0] - 1;

    edge = round < edge ? round : edge;
    if (round < 0 || round >= rounds) {
        return 0;
    }
    return edge >= ramp ? 1 : pow(ratio, (double)(ramp - edge));
}

/* Blocks that the slow server reduces in its bubbles, each of (2 - l) / l. */
static double blocks(const cs_optcc_form *f)
{
    double H = healthy(f);
    return f->has_bubbles ? floor((f->rounds - 2.0 * f->ramp) * (H - 1) / H) : 0;
}

/* The share of one NIC in sections of full size. */
static double elements(const cs_optcc_form *f)
{
    double total = 0, l = largest(f);

    if (f->ramp == 0) {
        return cs_formula_optcc_sections(f) + blocks(f) * (2 - l) / l;
    }
    for (int64_t r = 0; r < (int64_t)f->rounds; r++) {
        total += (healthy(f) - 1) * weight(f, r);
    }
    return total - weight(f, 0) + blocks(f) * (2 - l) / l;
}

static double slow_server(const cs_optcc_form *f, double s, double a)
{
    double l = f->slow[0], hops = (double)f->servers - 2;
    double slots = cs_formula_optcc_sections(f) + (has_special(f) ? 1 : 2);

    return (l * s + a) * slots + (2 * s + a) * hops;
}

static double fast_server(const cs_optcc_form *f, double s, double a)
{
    double l = f->slow[0], H = healthy(f), M = places(f), phases = 0;

    if (f->ramp == 0) {
        return s * (2 * M + 2 * H * (l - 1) + 2 - l) + a * (M + H);
    }
    for (int64_t r = 0; r <= (int64_t)f->rounds; r++) {
        double now = weight(f, r), before = weight(f, r - 1);
        phases += (H - 1) * fmax(now + before, l * fmax(now, before));
    }
    return s * (phases + 3 * l) + a * (M + H);
}

static double several(const cs_optcc_form *f, double s, double a)
{
    double H = healthy(f), ring = 2 * s + a, slots = s * sum(f) + f->n_slow * a;
    double loop = fmax(H * fmax(ring, largest(f) * s + a), (H - 1) * ring + slots);

    return loop * (cs_formula_optcc_sections(f) + H + 1) / H + slots;
}

double cs_formula_optcc(const cs_optcc_form *form, bool *is_exact_p)
{
    double s = 1 / elements(form), a = form->alpha;
    double nvlink = form->gpus > 1 ? 2 * s : 0;

    if (form->n_slow > 1) {
        *is_exact_p = false;
        return several(form, s, a) + nvlink;
    }
    if (form->slow[0] >= 2) {
        *is_exact_p = form->rounds >= 3 && (has_special(form) || a <= 0);
        return slow_server(form, s, a) + nvlink;
    }
    *is_exact_p = form->rounds >= 3 && form->ramp == 0 && form->servers >= 4 && a <= 0;
    return fast_server(form, s, a) + nvlink;
}

double cs_formula_optcc_paper(const cs_optcc_form *form)
{
    double l = largest(form), H = healthy(form), N = cs_formula_optcc_sections(form);
    double k = N / (form->servers - 1);

    if (form->gpus > 1) {
        return form->n_slow == 1 ? form->gpus * cs_formula_optcc_servers(form->gpus, l, k)
                                 : (double)NAN;
    }
    return form->n_slow > 1 ? cs_formula_optcc_multi(form->servers, form->n_slow, form->slow, N / H)
                            : cs_formula_optcc_single(form->servers, l, k);
}

double cs_formula_optcc_limit(const cs_optcc_form *form)
{
    double l = largest(form);

    if (form->n_slow > 1) {
        return fmax(fmax(l, 2), 2 + (sum(form) - 2) / healthy(form));
    }
    return form->has_bubbles ? cs_formula_theorem_6(form->servers, l) : fmax(l, 2);
}

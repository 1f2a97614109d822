/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz.h -- what the fuzz targets share: claims that must hold for any input. */
#ifndef FUZZ_H
#define FUZZ_H

#include "cs/replay.h"

#include <stddef.h>
#include <stdint.h>

/* What libFuzzer, or replay_corpus.c, calls with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

/* Abort with the claim when it does not hold. */
#define FUZZ_CLAIM(claim)                            \
    do {                                             \
        if (!(claim)) {                              \
            fuzz_broken(#claim, __FILE__, __LINE__); \
        }                                            \
    } while (0)
_Noreturn void fuzz_broken(const char *claim, const char *file, int line);

/* A failure must say what is wrong, in one printable line, with a status of its own. */
void fuzz_claim_error(cs_status status, const cs_error *err);

/* An observer that ends a replay after some thousand transfers: keeps inputs quick. */
typedef struct fuzz_limit {
    size_t transfers_left;
} fuzz_limit;
cs_observer fuzz_limit_observer(fuzz_limit *limit);

#endif

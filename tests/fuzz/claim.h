/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim.h -- claims that must hold for any input, for targets in C and in C++. */
#ifndef FUZZ_CLAIM_H
#define FUZZ_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What libFuzzer, or replay_corpus.c, calls with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

/* Abort with the claim when it does not hold. */
#define FUZZ_CLAIM(claim)                            \
    do {                                             \
        if (!(claim)) {                              \
            fuzz_broken(#claim, __FILE__, __LINE__); \
        }                                            \
    } while (0)
__attribute__((noreturn)) void fuzz_broken(const char *claim, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a simulator in a process of its own is told: whatever the bytes, a message is refused by a
 * sentence, or is what the simulator may be given; and no more memory is taken than there are
 * bytes. The simulator need not be there. What a fuzz target has of it:
 *
 *   struct child {
 *       using request = ...;                        what reads and checks a message
 *       void claim_open(request &r, size_t length); the first message, behind the build
 *       void claim_work(request &r, size_t length); one that has work
 *   };
 *
 * `length` is that of the whole input.
 */
#ifndef FUZZ_FOREIGN_CHILD_HH
#define FUZZ_FOREIGN_CHILD_HH

#include "claim.h"
#include "models/lib/child.hh"

#include <functional>

/* The bytes that are left. */
struct fuzz_input {
    const uint8_t *at;
    size_t         left;

    bool operator()(void *data, size_t bytes)
    {
        if (bytes > left) {
            return false;
        }
        memcpy(data, at, bytes);
        at += bytes;
        left -= bytes;
        return true;
    }
};

/* As the child does; false where the conversation ends. */
template <class Child> bool fuzz_hear(fuzz_input &bytes, size_t length, bool is_first, Child &child)
{
    typename Child::request request;

    if (!request.read_next(std::ref(bytes))) {
        return false;
    }
    if (is_first) {
        FUZZ_CLAIM(request.take_build().size() <= CS_TALK_BUILD_BYTES);
        child.claim_open(request, length);
    } else if (request.kind == CS_TALK_WORK) {
        child.claim_work(request, length);
    } else if (request.kind == CS_TALK_RUN) {
        FUZZ_CLAIM(request.take_horizon() >= 0);
    } else {
        return false;
    }
    FUZZ_CLAIM(request.is_over());
    return true;
}

/* A whole input. */
template <class Child> int fuzz_child(const uint8_t *data, size_t length)
{
    fuzz_input bytes{data, length};
    Child      child{};
    bool       is_first = true;

    try {
        while (fuzz_hear(bytes, length, is_first, child)) {
            is_first = false;
        }
    } catch (const std::runtime_error &e) {
        FUZZ_CLAIM(strlen(e.what()) > 0 && strchr(e.what(), '\n') == nullptr);
    }
    return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* models/lib/child.hh -- the child's side of the conversation of models/lib/frames.h: what it is
 * told, read and checked, and how it replies. It needs no simulator.
 *
 * What is not as the protocol says is thrown as std::runtime_error, before memory is taken for it.
 */
#ifndef CS_MODELS_LIB_CHILD_HH
#define CS_MODELS_LIB_CHILD_HH

#include "models/lib/frames.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

/* A message, read by pieces. */
class cs_child_request
{
    std::vector<char> body;
    size_t            at = 0;

  protected:
    template <class T> std::vector<T> take(size_t count)
    {
        if (count > (body.size() - at) / sizeof(T)) {
            throw std::runtime_error("a message is too short");
        }
        std::vector<T> items(count);
        if (count > 0) {
            memcpy(static_cast<void *>(items.data()), body.data() + at, count * sizeof(T));
        }
        at += count * sizeof(T);
        return items;
    }
    void must_be_over() const
    {
        if (!is_over()) {
            throw std::runtime_error("a message is too long");
        }
    }

  public:
    uint32_t kind = 0;

    /* Read the next message by read(data, bytes), which says whether it could. False at the end of
     * the conversation. */
    template <class Read> bool read_next(Read read)
    {
        constexpr size_t piece_bytes = size_t{1} << 20;
        cs_talk_frame    frame;

        if (!read(&frame, sizeof frame)) {
            return false;
        }
        kind = frame.kind;
        at   = 0;
        body.clear();
        while (body.size() < frame.bytes) {
            const size_t n = std::min(piece_bytes, frame.bytes - body.size());
            body.resize(body.size() + n);
            if (!read(body.data() + body.size() - n, n)) {
                return false;
            }
        }
        return true;
    }

    bool is_over() const
    {
        return at == body.size();
    }

    /* The build of who says the first message. */
    std::string take_build()
    {
        const auto opening = take<cs_talk_opening>(1)[0];

        if (kind != CS_TALK_OPEN) {
            throw std::runtime_error("the first message is not the first");
        }
        return std::string(opening.build, strnlen(opening.build, sizeof opening.build));
    }
};

inline bool cs_child_read(void *data, size_t bytes)
{
    char *to = static_cast<char *>(data);

    while (bytes > 0) {
        const ssize_t n = read(STDIN_FILENO, to, bytes);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return false;
        }
        to += n > 0 ? n : 0;
        bytes -= n > 0 ? static_cast<size_t>(n) : 0;
    }
    return true;
}

inline void cs_child_write(const void *data, size_t bytes)
{
    const char *from = static_cast<const char *>(data);

    while (bytes > 0) {
        const ssize_t n = write(STDIN_FILENO, from, bytes);
        if (n < 0 && errno != EINTR) {
            _Exit(1); /* nobody is there */
        }
        from += n > 0 ? n : 0;
        bytes -= n > 0 ? static_cast<size_t>(n) : 0;
    }
}

inline void cs_child_say(uint32_t kind, const void *body, size_t bytes)
{
    const cs_talk_frame frame = {kind, static_cast<uint32_t>(bytes)};

    cs_child_write(&frame, sizeof frame);
    cs_child_write(body, bytes);
}

/* An event, and the numbers of what ended. */
template <class Event> void cs_child_say_event(const Event &event, const std::vector<uint32_t> &ended)
{
    std::vector<char> body(sizeof event + ended.size() * sizeof(uint32_t));

    memcpy(body.data(), &event, sizeof event);
    if (!ended.empty()) {
        memcpy(body.data() + sizeof event, ended.data(), ended.size() * sizeof(uint32_t));
    }
    cs_child_say(CS_TALK_EVENT, body.data(), body.size());
}

[[noreturn]] inline void cs_child_fail(const char *why)
{
    cs_child_say(CS_TALK_FAILED, why, strlen(why));
    _Exit(1);
}

/* Refuse a model of another build. */
inline void cs_child_must_be_of(const std::string &program, const std::string &ours,
                                const std::string &theirs)
{
    if (ours != theirs) {
        throw std::runtime_error(program + " is of build " + ours + ", the program of " + theirs);
    }
}

#endif

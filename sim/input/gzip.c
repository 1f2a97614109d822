/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gzip by zlib: one loop that takes from a file or from memory, and gives piece by piece. */
#include "input/gzip.h"

#include "base/alloc.h"
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

enum { IN_BYTES = 1 << 16, FIRST_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16 };

struct cs_gzip {
    z_stream       z;
    FILE          *file; /* NULL: all is in memory */
    unsigned char *in;   /* [IN_BYTES], owned; NULL: all is in memory */
    const Bytef   *data; /* in memory: what zlib has not been given */
    size_t         left;
    bool           is_at_end; /* behind the last member */
};

bool cs_gzip_is(const char *data, size_t length)
{
    return length >= 2 && (unsigned char)data[0] == 0x1f && (unsigned char)data[1] == 0x8b;
}

static voidpf take_memory(voidpf user, uInt count, uInt size)
{
    (void)user;
    return cs_calloc(count, size);
}

static void give_memory(voidpf user, voidpf memory)
{
    (void)user;
    cs_free(memory);
}

static cs_status begin(cs_gzip *g, cs_error *err)
{
    g->z.zalloc = take_memory;
    g->z.zfree  = give_memory;
    return inflateInit2(&g->z, GZIP_WINDOW) == Z_OK ? CS_OK
                                                    : CS_NO_MEMORY(err, "a compressed file");
}

cs_status cs_gzip_open(FILE *file, cs_gzip **gzip_p, cs_error *err)
{
    cs_gzip *g = CS_NEW(cs_gzip, 1);

    if (g == NULL || (g->in = CS_NEW(unsigned char, IN_BYTES)) == NULL) {
        cs_free(g);
        return CS_NO_MEMORY(err, "a compressed file");
    }
    g->file          = file;
    cs_status status = begin(g, err);
    if (status != CS_OK) {
        cs_free(g->in);
        cs_free(g);
        return status;
    }
    *gzip_p = g;
    return CS_OK;
}

void cs_gzip_close(cs_gzip *gzip)
{
    if (gzip != NULL) {
        (void)inflateEnd(&gzip->z);
        cs_free(gzip->in);
        cs_free(gzip);
    }
}

/* Let zlib have something to read, if there is something. */
static cs_status refill(cs_gzip *g, cs_error *err)
{
    if (g->z.avail_in > 0) {
        return CS_OK;
    }
    if (g->in == NULL) {
        uInt n        = g->left < UINT_MAX ? (uInt)g->left : UINT_MAX;
        g->z.next_in  = g->data;
        g->z.avail_in = n;
        g->data += n;
        g->left -= n;
        return CS_OK;
    }
    g->z.next_in  = g->in;
    g->z.avail_in = (uInt)fread(g->in, 1, IN_BYTES, g->file);
    return g->z.avail_in == 0 && ferror(g->file) != 0
               ? CS_FAIL(err, CS_EIO, "", "cannot be read: %s", strerror(errno))
               : CS_OK;
}

/* Behind a member: another one, zeros, or the end. */
static cs_status next_member(cs_gzip *g, cs_error *err)
{
    CS_TRY(refill(g, err));
    if (g->z.avail_in == 0 || g->z.next_in[0] == 0) {
        g->is_at_end = true;
        return CS_OK;
    }
    if (g->z.next_in[0] != 0x1f || inflateReset(&g->z) != Z_OK) {
        return CS_FAIL(err, CS_EPARSE, "", "is damaged: bytes behind its gzip data");
    }
    return CS_OK;
}

static cs_status refuse(const cs_gzip *g, int code, cs_error *err)
{
    switch (code) {
    case Z_MEM_ERROR: return CS_NO_MEMORY(err, "a compressed file");
    case Z_BUF_ERROR:
        return CS_FAIL(err, CS_EPARSE, "", "is cut off: the file ends before its gzip data do");
    default: break;
    }
    return CS_FAIL(err, CS_EPARSE, "", "is damaged: its gzip data have an %s",
                   g->z.msg != NULL ? g->z.msg : "unknown form");
}

cs_status cs_gzip_next(cs_gzip *gzip, char *bytes, size_t room, size_t *n_p, cs_error *err)
{
    size_t n = 0;

    *n_p = 0;
    while (n < room && !gzip->is_at_end) {
        CS_TRY(refill(gzip, err));
        bool is_empty        = gzip->z.avail_in == 0;
        gzip->z.next_out     = (Bytef *)bytes + n;
        gzip->z.avail_out    = room - n < UINT_MAX ? (uInt)(room - n) : UINT_MAX;
        const uInt available = gzip->z.avail_out;
        int        code      = inflate(&gzip->z, Z_NO_FLUSH);
        n += available - gzip->z.avail_out;
        *n_p = n;
        if (code == Z_STREAM_END) {
            CS_TRY(next_member(gzip, err));
        } else if (code != Z_OK && (code != Z_BUF_ERROR || is_empty || gzip->z.avail_in > 0)) {
            return refuse(gzip, code, err);
        }
    }
    return CS_OK;
}

/* All that is left into a growing buffer, which is the caller's also on failure. */
static cs_status take_all(cs_gzip *g, size_t most_bytes, char **text_p, size_t *length_p,
                          cs_error *err)
{
    size_t room = 0, length = 0, n = 0;

    do {
        if (room - length < 2) {
            size_t wanted = room > 0 ? 2 * room : FIRST_BYTES;
            wanted        = wanted < most_bytes + 2 ? wanted : most_bytes + 2;
            if (!cs_resize(text_p, wanted, 1)) {
                return CS_NO_MEMORY(err, "what a compressed file holds");
            }
            room = wanted;
        }
        CS_TRY(cs_gzip_next(g, *text_p + length, room - length - 1, &n, err));
        length += n;
        if (length > most_bytes) {
            return CS_FAIL(err, CS_EINVAL, "",
                           "unpacks to more than the %zu bytes that are accepted", most_bytes);
        }
    } while (!g->is_at_end);
    (*text_p)[length] = '\0';
    *length_p         = length;
    return CS_OK;
}

cs_status cs_gzip_unpack(const char *data, size_t length, size_t most_bytes, char **text_p,
                         size_t *length_p, cs_error *err)
{
    cs_gzip g    = {.data = (const Bytef *)data, .left = length};
    char   *text = NULL;

    CS_TRY(begin(&g, err));
    cs_status status = take_all(&g, most_bytes, &text, length_p, err);
    (void)inflateEnd(&g.z);
    if (status != CS_OK) {
        cs_free(text);
        return status;
    }
    *text_p = text;
    return CS_OK;
}

cs_status cs_gzip_read(const char *path, size_t most_bytes, char **text_p, size_t *length_p,
                       cs_error *err)
{
    char    *data = NULL, *text = NULL;
    size_t   length = 0;
    cs_error wrong  = {0};

    CS_TRY(cs_file_read(path, most_bytes, &data, &length, err));
    if (!cs_gzip_is(data, length)) {
        *text_p   = data;
        *length_p = length;
        return CS_OK;
    }
    cs_status status = cs_gzip_unpack(data, length, most_bytes, &text, length_p, &wrong);
    cs_free(data);
    if (status == CS_OK) {
        *text_p = text;
        return CS_OK;
    }
    cs_error_locate(&wrong, path, 0, 0);
    if (err != NULL && err->status == CS_OK) {
        *err = wrong;
    }
    return status;
}

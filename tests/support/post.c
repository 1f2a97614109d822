/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/post.h"

#include <stdlib.h>
#include <string.h>

struct ct_letter {
    ct_letter *next;
    int        from, kind;
    size_t     bytes;
    char       data[];
};

static int post_send(void *self, int to, int kind, const void *data, size_t bytes)
{
    ct_seat   *s = self;
    ct_letter *l = malloc(sizeof *l + bytes);

    *l = (ct_letter){.from = s->rank, .kind = kind, .bytes = bytes};
    memcpy(l->data, data, bytes);
    pthread_mutex_lock(&s->post->lock);
    *s->post->last[to] = l;
    s->post->last[to]  = &l->next;
    if (kind == CS_MESSAGE_ROWS) {
        uint32_t n;
        memcpy(&n, data, sizeof n);
        s->post->n_waiting_rows += n;
        if (s->post->n_waiting_rows > s->post->most_waiting_rows) {
            s->post->most_waiting_rows = s->post->n_waiting_rows;
        }
    }
    pthread_mutex_unlock(&s->post->lock);
    return 0;
}

static int post_probe(void *self, int *from_p, int *kind_p, size_t *bytes_p)
{
    ct_seat *s = self;

    if (atomic_load(&s->post->n_aborted) > 0) {
        return -1;
    }
    pthread_mutex_lock(&s->post->lock);
    ct_letter *l = s->post->first[s->rank];
    if (l != NULL) {
        *from_p  = l->from;
        *kind_p  = l->kind;
        *bytes_p = l->bytes;
    }
    pthread_mutex_unlock(&s->post->lock);
    return l != NULL;
}

static int post_receive(void *self, int from, int kind, void *data, size_t bytes)
{
    ct_seat *s = self;

    pthread_mutex_lock(&s->post->lock);
    ct_letter *l            = s->post->first[s->rank];
    s->post->first[s->rank] = l->next;
    if (l->next == NULL) {
        s->post->last[s->rank] = &s->post->first[s->rank];
    }
    if (kind == CS_MESSAGE_ROWS) {
        uint32_t n;
        memcpy(&n, l->data, sizeof n);
        s->post->n_waiting_rows -= n;
    }
    pthread_mutex_unlock(&s->post->lock);
    bool is_same = l->from == from && l->kind == kind && l->bytes == bytes;
    memcpy(data, l->data, bytes);
    free(l);
    return is_same ? 0 : -1;
}

static void post_leave(void *self)
{
    atomic_fetch_add(&((ct_seat *)self)->post->n_left, 1);
}

static void post_abort(void *self, int code)
{
    ct_post *net = ((ct_seat *)self)->post;
    atomic_fetch_add(&net->n_aborted, 1);
    atomic_store(&net->abort_code, code);
}

void ct_post_open(ct_post *post, int size)
{
    memset(post, 0, sizeof *post);
    pthread_mutex_init(&post->lock, NULL);
    post->size = size;
    for (int i = 0; i < size; i++) {
        post->seats[i] = (ct_seat){post, i};
        post->last[i]  = &post->first[i];
    }
}

cs_transport ct_post_transport(ct_post *post, int rank)
{
    return (cs_transport){.self    = &post->seats[rank],
                          .rank    = rank,
                          .size    = post->size,
                          .send    = post_send,
                          .probe   = post_probe,
                          .receive = post_receive,
                          .leave   = post_leave,
                          .abort   = post_abort};
}

void ct_post_close(ct_post *post)
{
    for (int i = 0; i < post->size; i++) {
        while (post->first[i] != NULL) {
            ct_letter *l   = post->first[i];
            post->first[i] = l->next;
            free(l);
        }
    }
    pthread_mutex_destroy(&post->lock);
}

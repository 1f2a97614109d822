/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks under way: see replay/dispatch_record.h. */
#include "replay/dispatch_record.h"

#include "base/alloc.h"
#include "models/lib/serve.h"
#include "replay/dispatch.h"

#include <string.h>

struct cs_page {
    cs_block    block;
    size_t      left; /* transfers that have not ended */
    cs_transfer transfers[CS_DISPATCH_BLOCK];
    cs_interval intervals[CS_DISPATCH_BLOCK];
};

static cs_status grow(cs_record *r)
{
    size_t    capacity = r->capacity == 0 ? 16 : 2 * r->capacity;
    cs_page **pages    = CS_NEW(cs_page *, capacity);

    if (pages == NULL) {
        return CS_ENOMEM;
    }
    for (uint64_t i = r->first; r->capacity > 0 && i < r->end; i++) {
        pages[i % capacity] = r->pages[i % r->capacity];
    }
    cs_free(r->pages);
    r->pages    = pages;
    r->capacity = capacity;
    return CS_OK;
}

cs_status cs_record_add(cs_record *record, const cs_block *block)
{
    if (record->end - record->first == record->capacity && grow(record) != CS_OK) {
        return CS_ENOMEM;
    }
    cs_page *page = record->spare != NULL ? record->spare : CS_NEW(cs_page, 1);
    if (page == NULL) {
        return CS_ENOMEM;
    }
    record->spare         = NULL;
    page->block           = *block;
    page->block.transfers = page->transfers;
    page->left            = block->count;
    memcpy(page->transfers, block->transfers, block->count * sizeof *block->transfers);
    record->pages[record->end++ % record->capacity] = page;
    return CS_OK;
}

void cs_record_end(cs_record *record, uint64_t number, size_t offset, size_t parts,
                   cs_interval held, double startup_s)
{
    cs_page *page = record->pages[number % record->capacity];

    cs_slice_message(&page->transfers[offset], parts, held, startup_s, &page->intervals[offset]);
    for (size_t k = offset; k < offset + parts; k++) {
        page->intervals[k].start_s -= record->first_s;
        page->intervals[k].end_s -= record->first_s;
    }
    page->left -= parts;
}

static cs_status show(const cs_record *r, const cs_page *page, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < r->n_observers && status == CS_OK; i++) {
        status = r->observers[i].block(r->observers[i].user, &page->block, page->intervals, err);
    }
    return status;
}

cs_status cs_record_show(cs_record *record, cs_error *err)
{
    cs_status status = CS_OK;

    while (record->first < record->end && status == CS_OK) {
        cs_page *page = record->pages[record->first % record->capacity];
        if (page->left > 0) {
            break;
        }
        status = show(record, page, err);
        cs_free(record->spare);
        record->spare = page;
        record->first++;
    }
    return status;
}

void cs_record_free(cs_record *record)
{
    for (uint64_t i = record->first; i < record->end; i++) {
        cs_free(record->pages[i % record->capacity]);
    }
    cs_free(record->spare);
    cs_free(record->pages);
    *record = (cs_record){0};
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocation and arenas: alignment, zeroes, overflow, and the n-th allocation failing. */
#include "base/alloc.h"
#include "base/arena.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(alloc, the_nth_allocation_fails)
{
    cs_alloc_fail_after(2);
    void *first  = cs_calloc(1, 8);
    char *second = cs_strdup("text");
    cr_assert_not_null(first);
    cr_assert_not_null(second);
    cr_assert_null(cs_calloc(1, 8));
    cr_assert_null(cs_strdup("text"));
    cr_assert_null(cs_realloc(second, 1, 100));
    cr_assert_str_eq(second, "text");
    cs_alloc_fail_after(-1);
    void *third = cs_calloc(1, 8);
    cr_assert_not_null(third);
    cs_free(first);
    cs_free(second);
    cs_free(third);
    cs_free(NULL);
}

Test(alloc, nothing_and_too_much)
{
    volatile size_t huge    = SIZE_MAX / 2;
    void           *nothing = cs_calloc(0, 0);
    cr_assert_not_null(nothing);
    nothing = cs_realloc(nothing, 0, 8);
    cr_assert_not_null(nothing);
    cr_assert_null(cs_calloc(huge, 3));
    cr_assert_null(cs_realloc(nothing, huge, 3));
    cs_free(nothing);
}

Test(alloc, an_array_grows_by_as_much_as_it_has)
{
    uint32_t *numbers  = NULL;
    size_t    capacity = 0;

    cr_assert(cs_grow(&numbers, &capacity, 0, 4, sizeof *numbers));
    cr_assert(numbers == NULL && capacity == 0);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert(cs_grow(&numbers, &capacity, i + 1u, 3, sizeof *numbers));
        numbers[i] = i * i;
    }
    cr_assert_eq(capacity, 192);
    cr_assert(cs_grow(&numbers, &capacity, 1000, 3, sizeof *numbers));
    cr_assert_eq(capacity, 1000);
    cs_alloc_fail_after(0);
    cr_assert(cs_grow(&numbers, &capacity, 1000, 3, sizeof *numbers));
    cr_assert(!cs_grow(&numbers, &capacity, 1001, 3, sizeof *numbers));
    cs_alloc_fail_after(-1);
    cr_assert_eq(capacity, 1000);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(numbers[i], i * i);
    }
    cs_free(numbers);
}

Test(arena, objects_are_zeroed_aligned_and_apart)
{
    enum { COUNT = 3000 };
    cs_arena       arena = {0};
    unsigned char *objects[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        size_t size = 1 + i * 37 % 500;
        objects[i]  = cs_arena_alloc(&arena, 1, size);
        cr_assert_not_null(objects[i]);
        cr_assert_eq((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++) {
            cr_assert_eq(objects[i][k], 0);
        }
        memset(objects[i], (int)(i % 255 + 1), size);
    }
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = 1 + i * 37 % 500;
        cr_assert_eq(objects[i][0], i % 255 + 1);
        cr_assert_eq(objects[i][size - 1], i % 255 + 1);
    }
    cs_arena_free(&arena);
    cr_assert_null(arena.blocks);
}

Test(arena, large_empty_and_impossible_objects)
{
    volatile size_t huge  = SIZE_MAX / 2;
    cs_arena        arena = {0};
    char           *large = cs_arena_alloc(&arena, 3, 1000000);
    cr_assert_not_null(large);
    memset(large, 1, 3000000);
    cr_assert_not_null(cs_arena_alloc(&arena, 0, 8));
    cr_assert_not_null(cs_arena_alloc(&arena, 8, 0));
    cr_assert_null(cs_arena_alloc(&arena, huge, 3));
    cr_assert_null(cs_arena_alloc(&arena, 1, SIZE_MAX));
    cs_arena_free(&arena);
    cr_assert_str_eq(cs_arena_strdup(&arena, "again"), "again");
    cs_arena_free(&arena);
}

/* Whichever block cannot be had, what was allocated before stays as it was. */
Test(arena, the_nth_block_fails)
{
    for (long passes = 0; passes < 4; passes++) {
        cs_arena    arena = {0};
        const char *last  = NULL;
        int         count = 0;
        cs_alloc_fail_after(passes);
        for (const char *next = ""; next != NULL && count < 10000; count += next != NULL) {
            next = cs_arena_strdup(&arena, "something of more than thirty-two characters");
            last = next != NULL ? next : last;
        }
        cs_alloc_fail_after(-1);
        cr_assert_eq(last == NULL, passes == 0);
        cr_assert(count < 10000);
        cr_assert(last == NULL || strncmp(last, "something", 9) == 0);
        cs_arena_free(&arena);
    }
}

/* 64 KiB first, then twice as much each time: seven blocks end at 4 MiB. */
Test(arena, blocks_grow)
{
    cs_arena arena = {0};
    size_t   count = 0;

    cs_alloc_fail_after(7);
    while (cs_arena_alloc(&arena, 1, 1024) != NULL) {
        count++;
    }
    cs_alloc_fail_after(-1);
    cr_assert_eq(count, 8 + 16 + 32 + 64 + 128 + 256 + 512);
    cs_arena_free(&arena);
}

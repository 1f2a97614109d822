/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of fields over a JSON tree: every type, what is absent, null or required, lists, kinds and
 * forms; every refusal with its path. */
#include "input/reader.h"

#include "base/alloc.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct part {
    uint32_t rank;
    double   delay_s;
} part;

typedef struct shape {
    int kind;
    union {
        struct {
            double side;
        } square;
        struct {
            double   radius;
            uint32_t steps;
        } circle;
    };
} shape;

typedef struct whole {
    bool        flag;
    uint32_t    count, limited, most;
    uint64_t    bytes, seed;
    double      ratio, time_s, rate_Bps;
    int         choice, thing;
    const char *text;
    char        chars[8];
    part        inner;
    part       *parts;
    double     *times_s;
    size_t      n_parts, n_times;
    shape       shape;
    const char *label;
    double      number;
    bool        is_hooked;
} whole;

static const char *const words[] = {"alpha", "beta", "gamma"};
static const cs_named    things  = CS_NAMED_WORDS(words, 3, "no thing", NULL);

/* A rule between two fields. */
static void check_part(cs_reading *r, const cs_place *place, void *object)
{
    const part *p     = object;
    cs_place    delay = cs_place_get(place, "delay");

    if (p->rank == 0 && p->delay_s > 1) {
        CS_REFUSE(r, &delay, CS_EINVAL, "rank 0 is never so late");
    }
}

/* Called where the key is absent, too. */
static void hook(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    (void)r;
    ((whole *)object)->is_hooked = place->node == NULL && strcmp(row->name, "hooked") == 0;
}

/* clang-format off */
static const cs_field part_fields[] = {
    CS_KEY(part, rank, "rank", .max = 100, .is_rank = true, .is_required = true),
    CS_KEY(part, delay_s, "delay", .unit = CS_UNIT_TIME, .fallback = 0.5, .max = 10, .is_above = true),
    CS_FIELD_END,
};
static const cs_field a_part[] = {
    {.name = "part", .type = CS_FIELD_OBJECT, .fields = part_fields, .check = check_part}, CS_FIELD_END};
static const cs_field a_time[] = {
    {.name = "time", .type = CS_FIELD_F64, .unit = CS_UNIT_TIME, .max = 1}, CS_FIELD_END};
static const cs_field square_fields[] = {
    {.name = "kind", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE},
    CS_KEY(shape, square.side, "side", .max = 9, .is_required = true), CS_FIELD_END};
static const cs_field circle_fields[] = {
    {.name = "kind", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE},
    CS_KEY(shape, circle.radius, "radius", .max = 9), CS_KEY(shape, circle.steps, "steps", .fallback = 12, .min = 3, .max = 99),
    CS_FIELD_END};
static const cs_field kinds[] = {
    {.name = "square", .type = CS_FIELD_OBJECT, .fields = square_fields, .offset = offsetof(whole, shape)},
    {.name = "circle", .type = CS_FIELD_OBJECT, .fields = circle_fields, .offset = offsetof(whole, shape)}, CS_FIELD_END};
static const cs_field forms[] = {
    CS_KEY(whole, number, "number", .unit = CS_UNIT_TIME, .max = 5),
    {.name = "part", .type = CS_FIELD_OBJECT, .fields = part_fields, .offset = offsetof(whole, inner)},
    CS_FIELD_END};

static const cs_field fields[] = {
    CS_KEY(whole, flag, "flag", .max = 1),
    CS_KEY(whole, count, "count", .fallback = 3, .min = 1, .max = 8),
    CS_KEY(whole, limited, "limited", .fallback = CS_AUTO, .max = 50, .has_auto = true),
    CS_KEY(whole, most, "most", .fallback = 7, .min = 1, .max = 9, .has_null = true),
    CS_KEY(whole, bytes, "bytes", .unit = CS_UNIT_SIZE, .min = 1, .max = 1 << 20),
    CS_KEY(whole, seed, "seed", .max = (double)INFINITY),
    CS_KEY(whole, ratio, "ratio", .min = -1, .max = 1),
    CS_KEY(whole, time_s, "time", .unit = CS_UNIT_TIME, .max = 100),
    CS_KEY(whole, rate_Bps, "rate", .unit = CS_UNIT_RATE, .min = 1, .max = 1e12),
    CS_KEY(whole, choice, "choice", .choices = "one|two|three"),
    CS_KEY(whole, thing, "thing", .names = &things),
    CS_KEY(whole, text, "text", .help = "any"),
    CS_KEY(whole, chars, "chars", .help = "short"),
    CS_KEY_OF(CS_FIELD_OBJECT, whole, inner, "inner", .fields = part_fields, .check = check_part),
    CS_KEY_LIST(whole, parts, n_parts, "parts", a_part, .min = 1, .max = 3),
    CS_KEY_LIST(whole, times_s, n_times, "times", a_time, .help = "any number"),
    CS_KEY_OF(CS_FIELD_KIND, whole, shape.kind, "shape", .selector = "kind", .fields = kinds),
    {.name = "either", .type = CS_FIELD_EITHER, .fields = forms},
    CS_KEY(whole, label, "label", .names = &things, .choices = "none"),
    {.name = "hooked", .type = CS_FIELD_ANY, .read = hook},
    CS_FIELD_END,
};
/* clang-format on */

static const cs_cluster cluster = {.n_ranks = 4};

/* Read a text; the arena is the caller's. */
static bool read(const char *json, cs_arena *arena, whole *w, cs_reading *r)
{
    json_t *tree = json_loads(json, 0, NULL);

    cr_assert_not_null(tree, "%s", json);
    *r            = (cs_reading){.arena = arena, .cluster = &cluster};
    cs_place root = cs_place_root(tree);
    memset(w, 0, sizeof *w);
    cs_fields_default(fields, w);
    bool is_read = cs_read_fields(r, &root, fields, w);
    json_decref(tree);
    return is_read;
}

static void expect_refused(const char *json, const char *want)
{
    cs_arena   arena = {0};
    cs_reading r;
    whole      w;
    char       text[800];

    cr_expect_not(read(json, &arena, &w, &r), "%s", json);
    cs_error_text(&r.error, text, sizeof text);
    cr_expect_str_eq(text, want);
    cs_arena_free(&arena);
}

Test(reader, what_is_absent_has_its_default)
{
    cs_arena   arena = {0};
    cs_reading r;
    whole      w;

    cr_assert(read("{}", &arena, &w, &r));
    cr_expect(!w.flag && w.count == 3 && w.limited == CS_AUTO && w.most == 7);
    cr_expect(w.inner.delay_s == 0.5 && w.parts == NULL && w.n_parts == 0 && w.text == NULL);
    cr_expect(w.is_hooked, "a reader of its own is asked where the key is absent, too");
    cs_arena_free(&arena);
}

Test(reader, every_type)
{
    static const char json[] =
        "{\"flag\": true, \"count\": 8, \"limited\": \"auto\", \"most\": null, \"bytes\": \"4K\","
        " \"ratio\": -0.25, \"time\": \"3us\", \"rate\": 5e9, \"choice\": \"three\", \"thing\": "
        "\"beta\","
        " \"text\": \"tree\", \"chars\": \"1234567\", \"inner\": {\"rank\": 3, \"delay\": 1},"
        " \"parts\": [{\"rank\": 0}, {\"rank\": 1, \"delay\": \"2s\"}], \"times\": [0, \"1ms\", 1],"
        " \"shape\": {\"kind\": \"circle\", \"radius\": 2}, \"either\": \"5ms\", \"label\": "
        "\"none\"}";
    cs_arena   arena = {0};
    cs_reading r;
    whole      w;

    cr_assert(read(json, &arena, &w, &r), "%s: %s", r.error.where, r.error.message);
    cr_expect(w.flag && w.count == 8 && w.limited == CS_AUTO && w.most == 7 && w.bytes == 4096);
    cr_expect(w.ratio == -0.25 && w.time_s == 3e-6 && w.rate_Bps == 5e9);
    cr_expect(w.choice == 2 && w.thing == 1);
    cr_expect_str_eq(w.text, "tree");
    cr_expect_str_eq(w.chars, "1234567");
    cr_expect_str_eq(w.label, "none");
    cr_expect(w.inner.rank == 3 && w.inner.delay_s == 1);
    cr_assert_eq(w.n_parts, 2);
    cr_expect(w.parts[0].rank == 0 && w.parts[0].delay_s == 0.5);
    cr_expect(w.parts[1].rank == 1 && w.parts[1].delay_s == 2);
    cr_assert_eq(w.n_times, 3);
    cr_expect(w.times_s[0] == 0 && w.times_s[1] == 1e-3 && w.times_s[2] == 1);
    cr_expect(w.shape.kind == 1 && w.shape.circle.radius == 2 && w.shape.circle.steps == 12);
    cr_expect(w.number == 5e-3);
    cs_arena_free(&arena);
    cr_assert(read("{\"either\": {\"rank\": 2}, \"times\": [], \"count\": 4.0}", &arena, &w, &r));
    cr_expect(w.inner.rank == 2 && w.times_s == NULL && w.n_times == 0 && w.count == 4);
    cs_arena_free(&arena);
}

Test(reader, scalars_that_do_not_fit)
{
    expect_refused("{\"flag\": 1}", "flag: is a number: accepted is true or false");
    expect_refused("{\"count\": \"4\"}", "count: is the text '4': accepted is a number");
    expect_refused("{\"count\": 9}", "count: 9 is outside [1, 8]");
    expect_refused("{\"count\": -1}", "count: -1 is outside [1, 8]");
    expect_refused("{\"count\": 1.5}", "count: '1.5' is not a whole number: accepted are 1 to 8");
    expect_refused(
        "{\"limited\": \"some\"}",
        "limited: 'some' is neither auto nor a whole number: accepted are auto, 0 to 50");
    expect_refused("{\"most\": false}", "most: is a truth value: accepted is a number, or null");
    expect_refused("{\"bytes\": null}",
                   "bytes: is null: accepted is a size, as in 4096 or \"32MiB\"");
    expect_refused("{\"bytes\": \"2M\"}", "bytes: 2M is outside [1, 1048576]");
    expect_refused("{\"ratio\": 2}", "ratio: 2 is outside [-1, 1]");
    expect_refused("{\"ratio\": 2.3}", "ratio: 2.3 is outside [-1, 1]");
    expect_refused("{\"seed\": 9007199254740993}",
                   "seed: 9007199254740993 is outside [0, 9007199254740992]");
    expect_refused("{\"seed\": -9007199254740993}",
                   "seed: -9007199254740993 is outside [0, 9007199254740992]");
    expect_refused("{\"time\": 101}", "time: 101 s is outside [0 s, 100 s]");
    expect_refused("{\"time\": \"101s\"}", "time: 101s is outside [0 s, 100 s]");
    expect_refused("{\"time\": -1}", "time: '-1' is negative: accepted are 700ns, 3us, 4.48ms, 1s, "
                                     "5min, 2h, 30d, 1y, or a bare number of "
                                     "seconds");
    expect_refused(
        "{\"rate\": \"3us\"}",
        "rate: '3us' is not a rate: accepted are 450GB/s, 450GiB/s, 200Gb/s, 200Gbps, or a "
        "bare number of B/s");
    expect_refused("{\"choice\": \"tow\"}",
                   "choice: unknown word 'tow', did you mean 'two'?: accepted are one, two, three");
    expect_refused("{\"thing\": \"bet\"}",
                   "thing: no thing 'bet', did you mean 'beta'?: accepted are alpha, beta, gamma");
    expect_refused("{\"chars\": \"12345678\"}", "chars: has 8 bytes: accepted are at most 7");
    expect_refused("{\"text\": []}", "text: is an array: accepted is a text");
    expect_refused("{\"label\": \"nobody\"}",
                   "label: no thing 'nobody': accepted are alpha, beta, gamma");
}

Test(reader, objects_lists_kinds_and_forms)
{
    expect_refused(
        "{\"cuont\": 1}",
        "cuont: unknown key 'cuont', did you mean 'count'?: accepted are flag, count, "
        "limited, most, bytes, seed, ratio, time, rate, choice, thing, text, chars, inner, parts, "
        "times, shape, either, label, hooked");
    expect_refused("{\"inner\": {}}", "inner: the key 'rank' is missing");
    expect_refused("{\"inner\": 3}", "inner: is a number: accepted is an object");
    expect_refused("{\"inner\": {\"rank\": 4}}", "inner.rank: 4 is outside [0, 3]");
    expect_refused("{\"inner\": {\"rank\": 1, \"delay\": 0}}",
                   "inner.delay: 0 s is outside (0 s, 10 s]");
    expect_refused("{\"parts\": [{\"rank\": 1}, {\"rank\": 0, \"delay\": 2}]}",
                   "parts[1].delay: rank 0 is never so late");
    expect_refused("{\"parts\": []}", "parts: is empty: accepted is one element or more");
    expect_refused("{\"parts\": [1, 2, 3, 4]}", "parts: has 4 elements: accepted are 1 to 3");
    expect_refused("{\"parts\": {}}", "parts: is an object: accepted is an array");
    expect_refused("{\"times\": [0, {}]}",
                   "times[1]: is an object: accepted is a time, as in \"3us\"");
    expect_refused("{\"shape\": {\"side\": 2}}", "shape: the key 'kind' is missing");
    expect_refused("{\"shape\": {\"knid\": \"square\"}}",
                   "shape.knid: unknown key 'knid', did you mean 'kind'?: accepted are kind, side, "
                   "radius, steps");
    expect_refused("{\"shape\": {\"kind\": 1}}", "shape.kind: is a number: accepted is a text");
    expect_refused("{\"shape\": {\"kind\": \"cube\"}}",
                   "shape.kind: unknown word 'cube': accepted are square, circle");
    expect_refused("{\"shape\": {\"kind\": \"square\", \"radius\": 1}}",
                   "shape.radius: unknown key 'radius': accepted are kind, side");
    expect_refused("{\"shape\": {\"kind\": \"square\"}}", "shape: the key 'side' is missing");
    expect_refused("{\"shape\": \"square\"}",
                   "shape: is the text 'square': accepted is an object with a 'kind'");
    expect_refused("{\"either\": []}",
                   "either: is an array: accepted is a time, as in \"3us\", or an object");
    expect_refused("[]", "is an array: accepted is an object");
}

/* The first thing that is wrong ends a reading: what follows is neither read nor named. */
Test(reader, the_first_refusal_stays)
{
    cs_arena   arena = {0};
    cs_reading r;
    whole      w;

    cr_expect_not(read("{\"count\": 9, \"bytes\": 77, \"ratio\": 5}", &arena, &w, &r));
    cr_expect_str_eq(r.error.where, "count");
    cr_expect_eq(w.bytes, 0);
    cr_expect_not(r.key_is_wrong);
    cr_expect_not(read("{\"x\": 1}", &arena, &w, &r));
    cr_expect(r.key_is_wrong, "the key itself is wrong");
    cs_arena_free(&arena);
}

/* A place and a format, as a refusal; what failed first stays. */
Test(reader, memory_that_is_out_is_said_at_the_place)
{
    json_t    *tree  = json_object();
    cs_place   root  = cs_place_root(tree);
    cs_place   place = cs_place_get(&root, "links");
    cs_reading r     = {0};

    CS_REFUSE_MEMORY(&r, &place, "%u links", 12u);
    CS_REFUSE_MEMORY(&r, &root, "a topology");
    cr_expect_eq(r.error.status, CS_ENOMEM);
    cr_expect_str_eq(r.error.where, "links");
    cr_expect_str_eq(r.error.message, "out of memory for 12 links");
    json_decref(tree);
}

Test(reader, any_allocation_may_fail)
{
    static const char json[]  = "{\"text\": \"a\", \"parts\": [{\"rank\": 1}], \"times\": [1, 1],"
                                " \"label\": \"gamma\"}";
    bool              is_read = false;

    for (long passes = 0; !is_read; passes++) {
        cs_arena   arena = {0};
        cs_reading r     = {.arena = &arena};
        whole      w     = {0};
        json_t    *tree  = json_loads(json, 0, NULL);
        cs_place   root  = cs_place_root(tree);
        cr_assert_lt(passes, 100);
        cs_alloc_fail_after(passes);
        is_read = cs_read_fields(&r, &root, fields, &w);
        cs_alloc_fail_after(-1);
        cr_expect(is_read ? r.error.status == CS_OK : r.error.status == CS_ENOMEM, "%s",
                  r.error.message);
        cs_arena_free(&arena);
        json_decref(tree);
    }
}

/* The clock: order within an instant, no step back, network and timers as one sequence. */
#include "support.h"

#include "engine.h"
#include "id_map.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <stdlib.h>

static void timers_fire_in_order(void **state) {
    (void)state;
    static const int64_t when[] = {30, 10, 20, 10, 30, 0}, order[] = {5, 1, 3, 2, 0, 4};
    struct engine engine = {0};
    struct engine_event event;
    struct error error;
    for (int64_t i = 0; i < 6; i++)
        assert_int_equal(engine_schedule(&engine, when[i], i, (uint32_t)i + 7, &error), STATUS_OK);
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(engine_next(&engine, &event, &error), STATUS_OK);
        assert_int_equal(event.kind, ENGINE_TIMER);
        assert_int_equal(event.payload, order[i]);
        assert_int_equal(event.generation, order[i] + 7);
        assert_int_equal(engine.now_ns, when[order[i]]);
    }
    assert_int_equal(engine_next(&engine, &event, &error), STATUS_OK);
    assert_int_equal(event.kind, ENGINE_END);
    assert_int_equal(engine.now_ns, 30);
    engine_clear(&engine);
}

/* A flow of 1 s ends before a timer of the same instant; the clock visits 0.5, 1, 1 and 2 s. */
static void network_comes_before_timers(void **state) {
    (void)state;
    struct host_def hosts[] = {{.name = "a", .has_links = true, .up_Bps = 100, .down_Bps = 100},
                               {.name = "b", .has_links = true, .up_Bps = 100, .down_Bps = 100}};
    struct error error = {0};
    struct engine_event event;
    struct network *network = network_create(&(struct network_def){.hosts = hosts, .host_count = 2}, &error);
    struct engine engine = {.network = network};
    int64_t id, expected_ns[] = {SECOND / 2, SECOND, SECOND, SECOND, 2 * SECOND};
    static const enum engine_event_kind kinds[] = {ENGINE_TIMER, ENGINE_NETWORK, ENGINE_NETWORK, ENGINE_TIMER,
                                                   ENGINE_TIMER};
    assert_non_null(network);
    assert_int_equal(
        network_start_flow(network, 0, &(struct flow_def){.source = 0, .destination = 1, .bytes = 100}, &id, &error),
        STATUS_OK);
    assert_int_equal(engine_schedule(&engine, 2 * SECOND, 3, 0, &error), STATUS_OK);
    assert_int_equal(engine_schedule(&engine, SECOND, 2, 0, &error), STATUS_OK);
    assert_int_equal(engine_schedule(&engine, SECOND / 2, 1, 0, &error), STATUS_OK);
    for (int32_t i = 0; i < 5; i++) {
        assert_int_equal(engine_next(&engine, &event, &error), STATUS_OK);
        assert_int_equal(event.kind, kinds[i]);
        assert_int_equal(engine.now_ns, expected_ns[i]);
    }
    assert_int_equal(engine_next(&engine, &event, &error), STATUS_OK);
    assert_int_equal(event.kind, ENGINE_END);
    engine_clear(&engine);
    network_free(network);
}

/* The map against an array, with ids that come, go and come again. */
static void id_map_is_an_array(void **state) {
    (void)state;
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    struct id_map map = {0};
    struct error error;
    int64_t values[500];
    for (int32_t i = 0; i < 500; i++) values[i] = -1;
    assert_int_equal(id_map_get(&map, 3), -1);
    id_map_remove(&map, 3);
    for (int32_t i = 0; i < 20000; i++) {
        int64_t id = rng_below(&rng, 500), key = id << 31 | (id % 7);
        assert_int_equal(id_map_get(&map, key), values[id]);
        if (rng_below(&rng, 2)) {
            values[id] = i;
            assert_int_equal(id_map_put(&map, key, i, &error), STATUS_OK);
        } else {
            values[id] = -1;
            id_map_remove(&map, key);
        }
    }
    for (int64_t id = 0; id < 500; id++) assert_int_equal(id_map_get(&map, id << 31 | (id % 7)), values[id]);
    id_map_clear(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(timers_fire_in_order),
                                       cmocka_unit_test(network_comes_before_timers),
                                       cmocka_unit_test(id_map_is_an_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

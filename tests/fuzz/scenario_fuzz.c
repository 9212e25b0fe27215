/* Scenario files: whatever the bytes are, there is a scenario or one line that says why not, and what was read prints
 * to JSON that reads back to the same. The text before a first line "#set" is the file, the lines after it overrides.
 */
#include "fuzz.h"

#include "scenarios/scenarios.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

static struct scenario *read_bytes(const char *bytes, size_t length, const char *const *overrides, int32_t count,
                                   struct error *error) {
    return scenario_read(fuzz_file((const uint8_t *)bytes, length), overrides, count, 0, error);
}

static void check_round_trip(const struct scenario *scenario, int64_t cell) {
    struct text json = {0}, again = {0};
    struct error error;
    fuzz_require(scenario_print_json(scenario_cell(scenario, cell), &json) == STATUS_OK, "a cell can be printed");
    struct scenario *copy = read_bytes(json.bytes, json.length, NULL, 0, &error);
    fuzz_require(copy && scenario_cell_count(copy) == 1, "printed JSON is a scenario of one cell");
    fuzz_require(scenario_print_json(scenario_cell(copy, 0), &again) == STATUS_OK, "a cell can be printed");
    fuzz_require(strcmp(json.bytes, again.bytes) == 0, "printed JSON reads back to the same");
    scenario_free(copy);
    text_clear(&json);
    text_clear(&again);
}

#define MAX_OVERRIDES 4

/* Cuts the lines behind "#set\n" into overrides; returns the length of the file before them. */
static size_t split(char *text, size_t length, const char **overrides, int32_t *count) {
    char *mark = memmem(text, length, "#set\n", 5);
    *count = 0;
    if (!mark) return length;
    char *rest = mark + 5;
    while (rest && *rest && *count < MAX_OVERRIDES) overrides[(*count)++] = strsep(&rest, "\n");
    return (size_t)(mark - text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct error error;
    const char *overrides[MAX_OVERRIDES];
    int32_t count;
    int64_t blocks = alloc_live_blocks();
    char *text = alloc_zero(length + 1, 1, "input", NULL);
    if (!text) return 0;
    if (length) memcpy(text, bytes, length);
    size_t file_length = split(text, length, overrides, &count);
    struct scenario *scenario = read_bytes(text, file_length, overrides, count, &error);
    if (scenario) {
        int64_t cells = scenario_cell_count(scenario);
        fuzz_require(cells >= 1, "a scenario has a cell");
        check_round_trip(scenario, 0);
        check_round_trip(scenario, cells - 1);
        scenario_free(scenario);
    } else {
        fuzz_require(error.status == STATUS_INPUT && error.message[0], "a refusal has a reason");
        fuzz_require(!strchr(error.message, '\n'), "a reason is one line");
    }
    alloc_free(text);
    fuzz_require(alloc_live_blocks() == blocks, "no memory stays behind");
    return 0;
}

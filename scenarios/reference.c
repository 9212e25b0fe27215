/* The reference page of scenario keys, from the key table: docs/scenario.md is this text. */
#include "value.h"

#include "scenarios.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* "cluster" of "cluster.link.up"; "" of "seed". */
static int top_length(const char *path) {
    return strchr(path, '.') ? (int)strcspn(path, ".") : 0;
}

static void print_default(const struct key *key, const struct sim_def *defaults, struct text *markdown) {
    if (!value_is_printed(key, defaults)) {
        text_append(markdown, " ");
        return;
    }
    struct text value = {0};
    value_print(key, defaults, &value);
    markdown->failed = markdown->failed || value.failed;
    const char *shown = text_get(&value);
    size_t length = strlen(shown);
    bool quoted = length >= 2 && shown[0] == '"';
    if (length > (quoted ? 2u : 0u))
        text_append(markdown, "`%.*s`", (int)(length - (quoted ? 2 : 0)), shown + (quoted ? 1 : 0));
    text_clear(&value);
}

static void print_row(const struct key *key, const struct sim_def *defaults, struct text *markdown) {
    char range[256];
    text_append(markdown, "| `%s` | %s | ", key->path, key_kind_help(key->kind));
    print_default(key, defaults, markdown);
    text_append(markdown, " | %s | %s%s%s |\n", key_describe_range(key, range, sizeof range), key->help,
                key->needs ? " Needs: " : "", key->needs ? key->needs : "");
}

static void print_section(const char *top, int length, struct text *markdown) {
    const struct sim_def defaults = sim_default();
    if (length > 0)
        text_append(markdown, "\n## %.*s\n\n", length, top);
    else
        text_append(markdown, "\n## The run as a whole\n\n");
    text_append(markdown, "| key | value | default | range | meaning |\n|---|---|---|---|---|\n");
    for (int32_t row = 0; row < key_count(); row++) {
        const struct key *key = key_at(row);
        bool here = top_length(key->path) == length && strncmp(key->path, top, (size_t)length) == 0;
        if (here && key->kind != KEY_UNSUPPORTED) print_row(key, &defaults, markdown);
    }
}

static bool seen_before(int32_t row) {
    const char *path = key_at(row)->path;
    int length = top_length(path);
    for (int32_t i = 0; i < row; i++)
        if (top_length(key_at(i)->path) == length && strncmp(key_at(i)->path, path, (size_t)length) == 0) return true;
    return false;
}

enum status scenario_print_reference(struct text *markdown) {
    text_append(
        markdown,
        "# Scenario files\n\n"
        "A scenario is a YAML map of the keys below; every key has a default, so a file says only what is its\n"
        "own. `--set section.key=value` overrides a key, `--set section.key=null` takes it back to its default.\n"
        "Quantities carry their unit: `100 Mbps`, `20 ms`, `1.5B`, `5%%`.\n\n"
        "`grid:` maps keys (with dots) to lists of values: every combination is one cell, the first key varying\n"
        "slowest, seeds fastest. Any key or section may be an axis. `--set` of a key that is an axis puts that one\n"
        "value in its place; `--set grid=null` drops the grid, `--set grid.KEY=[a, b]` adds an axis. Equal cells\n"
        "are played once. A key that has no effect in a cell (say `outer.lr` under DDP) counts as its default\n"
        "there; one that has no effect in any cell is an error.\n");
    for (int32_t row = 0; row < key_count(); row++)
        if (!seen_before(row)) print_section(key_at(row)->path, top_length(key_at(row)->path), markdown);
    text_append(markdown, "\n## Not in this version\n\nDocumented, and refused with a clear line:");
    for (int32_t row = 0; row < key_count(); row++)
        if (key_at(row)->kind == KEY_UNSUPPORTED) text_append(markdown, " `%s`", key_at(row)->path);
    text_append(markdown, "\n");
    return markdown->failed ? STATUS_MEMORY : STATUS_OK;
}

/* The resolved def as one canonical JSON text, and the hash that names it.
 *
 * Rows of the key table in their order, sections nested, every number in the shortest form that reads back to the same
 * bits. JSON being YAML, scenario_read() of this text gives the same def again.
 */
#include "value.h"

#include "scenarios.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

static int32_t dots(const char *path, size_t length) {
    int32_t count = 0;
    for (size_t i = 0; i < length; i++) count += path[i] == '.';
    return count;
}

/* Length of the sections that both paths begin with, their last dot included. */
static size_t common_sections(const char *a, const char *b) {
    size_t common = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '.') common = i + 1;
    return common;
}

/* Closes the sections of `before` that `path` does not share, opens those it adds, and writes the key's last name. */
static void move_to(const char *before, const char *path, struct text *json) {
    size_t common = common_sections(before, path);
    for (int32_t i = dots(before + common, strlen(before + common)); i > 0; i--) text_append(json, "}");
    if (before[0]) text_append(json, ", ");
    const char *name = path + common;
    for (const char *dot; (dot = strchr(name, '.')); name = dot + 1)
        text_append(json, "\"%.*s\": {", (int)(dot - name), name);
    text_append(json, "\"%s\": ", name);
}

enum status scenario_print_json(const struct sim_def *def, struct text *json) {
    const char *before = "";
    text_append(json, "{");
    for (int32_t row = 0; row < key_count(); row++) {
        const struct key *key = key_at(row);
        if (!value_is_printed(key, def)) continue;
        move_to(before, key->path, json);
        value_print(key, def, json);
        before = key->path;
    }
    for (int32_t i = dots(before, strlen(before)); i >= 0; i--) text_append(json, "}");
    return json->failed ? STATUS_MEMORY : STATUS_OK;
}

enum status scenario_hash(const struct sim_def *def, char *hex, struct error *error) {
    struct text json = {0};
    struct hash *hash = hash_create(error);
    enum status status = STATUS_MEMORY;
    if (!hash) goto done;
    status = scenario_print_json(def, &json);
    if (status != STATUS_OK) {
        error_set(error, status, "not enough memory for the text of a scenario");
        goto done;
    }
    hash_text(hash, text_get(&json));
    hash_hex(hash, hex);
done:
    hash_free(hash);
    text_clear(&json);
    return status;
}

/* What messages and the reference page say of the keys: the nearest name, what a value looks like, its range. */
#include "keys.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- did you mean ---- */

#define MAX_SIBLINGS 64

/* The names that may stand directly in `section`, each once. */
static int32_t siblings_of(const char *section, char names[][KEY_MAX_PATH]) {
    int32_t count = 0;
    size_t skip = section[0] ? strlen(section) + 1 : 0;
    for (int32_t i = 0; i < key_count(); i++) {
        if (!key_lies_in(key_at(i)->path, section, strlen(section)) || key_at(i)->kind == KEY_UNSUPPORTED) continue;
        const char *rest = key_at(i)->path + skip;
        char name[KEY_MAX_PATH];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "."), rest);
        bool known = false;
        for (int32_t j = 0; j < count; j++) known = known || strcmp(names[j], name) == 0;
        if (!known && count < MAX_SIBLINGS) memcpy(names[count++], name, sizeof name);
    }
    if (!section[0]) snprintf(names[count++], KEY_MAX_PATH, "grid");
    return count;
}

const char *key_nearest(const char *section, const char *word, char *buffer, size_t size) {
    char names[MAX_SIBLINGS + 1][KEY_MAX_PATH];
    const char *candidates[MAX_SIBLINGS + 1];
    int32_t count = siblings_of(section, names);
    for (int32_t i = 0; i < count; i++) candidates[i] = names[i];
    const char *nearest = text_nearest(word, candidates, (size_t)count);
    if (!nearest) return NULL;
    snprintf(buffer, size, "%s", nearest);
    return buffer;
}

/* ---- descriptions ---- */

const char *key_kind_help(enum key_kind kind) {
    switch (kind) {
    case KEY_DURATION:
        return "a duration, such as 20 ms";
    case KEY_BANDWIDTH:
    case KEY_RATE:
        return "a rate, such as 100 Mbps";
    case KEY_COUNT:
        return "a count, such as 4M";
    case KEY_SEEDS:
    case KEY_SEED:
    case KEY_INTEGER:
        return "a whole number";
    case KEY_NUMBER:
        return "a number, such as 3e-3";
    case KEY_FRACTION:
        return "a fraction, such as 5% or 0.05";
    case KEY_FLOPS:
        return "arithmetic per second, such as 312 TFLOP/s";
    case KEY_BOOLEAN:
        return "true or false";
    case KEY_ENUM:
    case KEY_NAME:
    case KEY_PRESET:
    case KEY_STRATEGY:
        return "a name";
    case KEY_TEXT:
        return "text";
    case KEY_FILE:
        return "a path";
    case KEY_PROGRAM:
        return "a list of operations, such as [inner H, mix2 outer_gradient global, outer]";
    case KEY_SUBSET:
        return "a list of block names, such as [embedding, head, layer0]";
    case KEY_BETAS:
        return "two numbers, such as [0.9, 0.95]";
    case KEY_UNSUPPORTED:
        return "nothing in this version";
    }
    return "";
}

static char *describe_bounds(const struct key *key, char *buffer, size_t size) {
    const char *from = key->above_minimum ? "above " : "";
    if (key->kind == KEY_DURATION)
        snprintf(buffer, size, key->minimum > 0 ? "above 0 s" : "0 s or more");
    else if (key->maximum > 0)
        snprintf(buffer, size, "%s%.10g to %.10g", from, key->minimum, key->maximum);
    else
        buffer[0] = '\0';
    return buffer;
}

char *key_describe_range(const struct key *key, char *buffer, size_t size) {
    describe_bounds(key, buffer, size);
    size_t used = strlen(buffer);
    const char *name;
    for (int32_t i = 0; key->choice && (name = key->choice(i)) && used < size; i++) {
        snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", name);
        used += strlen(buffer + used);
    }
    if (key->word && used < size) snprintf(buffer + used, size - used, "%s%s", used ? ", or " : "", key->word);
    return buffer;
}

bool key_name_is_planned(const char *path, const char *name) {
    static const char *const optimizers[] = {"lordo", "ldadam", "galore", "qhm"};
    if (strcmp(path, "train.optimizer.name") != 0) return false;
    for (size_t i = 0; i < sizeof optimizers / sizeof optimizers[0]; i++)
        if (strcasecmp(optimizers[i], name) == 0) return true;
    return false;
}

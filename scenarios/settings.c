#include "settings.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void put(struct settings *settings, int32_t row, const struct yaml_node *node) {
    assert(row < SETTINGS_MAX);
    settings->nodes[row] = node;
}

/* Every key of the section goes back to its default. */
static void put_section(struct settings *settings, const char *section, const struct yaml_node *node) {
    for (int32_t row = 0; row < key_count(); row++)
        if (key_at(row)->kind != KEY_UNSUPPORTED && key_in_list(key_at(row)->path, section)) put(settings, row, node);
}

static bool is_planned(const char *path) {
    int32_t row = key_find(path);
    return row >= 0 && key_at(row)->kind == KEY_UNSUPPORTED;
}

enum status settings_unknown_key(const char *section, const char *name, const struct yaml_node *node,
                                 struct error *error) {
    char nearest[KEY_MAX_PATH];
    const char *where = section[0] ? section : "a scenario";
    if (key_nearest(section, name, nearest, sizeof nearest))
        return yaml_key_error(node, error, "", "unknown key '%.60s' in %s; did you mean '%s'?", name, where, nearest);
    if (!section[0] && (key_find(name) >= 0 || (strchr(name, '.') && key_is_section(name))))
        return yaml_key_error(node, error, "", "unknown key '%.60s'; in a file sections are nested: %.*s: {...}", name,
                              (int)strcspn(name, "."), name);
    for (int32_t row = 0; row < key_count(); row++) {
        const char *last = strrchr(key_at(row)->path, '.');
        if (last && strcmp(last + 1, name) == 0 && key_at(row)->kind != KEY_UNSUPPORTED)
            return yaml_key_error(node, error, "", "unknown key '%.60s' in %s; there is '%s'", name, where,
                                  key_at(row)->path);
    }
    return yaml_key_error(node, error, "", "unknown key '%.60s' in %s; docs/scenario.md lists all", name, where);
}

static enum status add_child(struct settings *settings, const char *section, const struct yaml_node *child,
                             struct error *error) {
    char path[2 * KEY_MAX_PATH];
    int length = snprintf(path, sizeof path, "%s%s%s", section, section[0] ? "." : "", child->key);
    bool known = length >= 0 && (size_t)length < sizeof path && !strchr(child->key, '.') &&
                 (key_find(path) >= 0 || key_is_section(path));
    if (!known) return settings_unknown_key(section, child->key, child, error);
    return settings_add(settings, path, child, error);
}

enum status settings_add(struct settings *settings, const char *path, const struct yaml_node *node,
                         struct error *error) {
    int32_t row = key_find(path);
    if (row >= 0 && key_at(row)->kind == KEY_UNSUPPORTED)
        return yaml_key_error(node, error, "", "key '%s' is not supported by this version", path);
    if (row >= 0) {
        put(settings, row, node);
        return STATUS_OK;
    }
    if (yaml_is_null(node)) {
        put_section(settings, path, node);
        return STATUS_OK;
    }
    const char *named = path[0] ? path : "";
    if (yaml_is_empty(node))
        return path[0] ? yaml_error(node, error, named, "is empty; write a map of keys, or null")
                       : yaml_error(node, error, "", "the file is empty; a scenario is a map of keys");
    if (node->kind != YAML_MAP) {
        char planned[2 * KEY_MAX_PATH];
        snprintf(planned, sizeof planned, "%s.%.40s", path, node->text);
        if (is_planned(planned))
            return yaml_error(node, error, "", "'%s: %.40s' is not supported by this version", path, node->text);
        return yaml_error(node, error, named, "must be a map of keys, not %s", yaml_kind_name(node->kind));
    }
    for (const struct yaml_node *child = node->first; child; child = child->next)
        if (path[0] || strcmp(child->key, "grid") != 0) TRY(add_child(settings, path, child, error));
    return STATUS_OK;
}

bool settings_touch(const struct settings *top, int32_t row) {
    if (top->nodes[row]) return true;
    for (int32_t other = 0; other < key_count(); other++)
        if (top->nodes[other] && !yaml_is_null(top->nodes[other]) &&
            key_in_list(key_at(row)->path, key_at(other)->replaces))
            return true;
    return false;
}

void settings_lay_over(struct settings *base, const struct settings *top) {
    for (int32_t row = 0; row < key_count(); row++) {
        if (!settings_touch(top, row)) continue;
        const struct yaml_node *node = top->nodes[row];
        base->nodes[row] = node && !yaml_is_null(node) ? node : NULL;
    }
}

int32_t settings_overlap(const struct settings *a, const struct settings *b) {
    for (int32_t row = 0; row < key_count(); row++)
        if ((a->nodes[row] && settings_touch(b, row)) || (b->nodes[row] && settings_touch(a, row))) return row;
    return -1;
}

/* ---- where a message's subject was written ---- */

static const struct yaml_node *node_of_row(const struct settings *settings, int32_t row) {
    if (settings->nodes[row]) return settings->nodes[row];
    for (int32_t other = 0; other < key_count(); other++) {
        bool related = key_in_list(key_at(row)->path, key_at(other)->replaces) ||
                       (key_at(other)->kind == KEY_PRESET && strncmp(key_at(row)->path, "model.", 6) == 0);
        if (related && settings->nodes[other]) return settings->nodes[other];
    }
    return NULL;
}

/* What is given for `path`: the key itself, one that decides it too, or else some key of its section. */
static const struct yaml_node *node_of_path(const struct settings *settings, char *path) {
    while (path[0]) {
        int32_t row = key_find(path);
        const struct yaml_node *node = row >= 0 ? node_of_row(settings, row) : NULL;
        for (row = 0; !node && row < key_count(); row++)
            if (strchr(path, '.') && key_in_list(key_at(row)->path, path)) node = settings->nodes[row];
        if (node) return node;
        char *last = strrchr(path, '.');
        if (!last) return NULL;
        *last = '\0';
    }
    return NULL;
}

const struct yaml_node *settings_find_subject(const struct settings *settings, const char *message) {
    static const char of_a_path[] = "abcdefghijklmnopqrstuvwxyz_.";
    for (const char *word = message; *word;) {
        char path[KEY_MAX_PATH];
        size_t length = strspn(word, of_a_path);
        snprintf(path, sizeof path, "%.*s", (int)length, word);
        const struct yaml_node *node = word == message || strchr(path, '.') ? node_of_path(settings, path) : NULL;
        if (node) return node;
        word += length;
        word += strcspn(word, of_a_path);
    }
    return NULL;
}

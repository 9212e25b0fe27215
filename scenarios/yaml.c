#include "yaml.h"

#include "base/alloc.h"
#include "base/text.h"

#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes and their texts are pushed into chunks, so that their addresses stay. */
#define CHUNK_BYTES ((size_t)64 << 10)

struct chunk {
    struct chunk *next;
    size_t used, size;
    char bytes[];
};

struct yaml {
    struct yaml_origin origin;
    struct chunk *chunks;
    struct yaml_node *root;
    int32_t nodes;
};

/* ---- errors ---- */

static enum status error_from(const struct yaml_origin *origin, int32_t line, int32_t column, struct error *error,
                              const char *path, const char *format, va_list arguments) {
    char message[sizeof error->message];
    vsnprintf(message, sizeof message, format, arguments);
    if (origin->set) return error_set(error, STATUS_INPUT, "--set %s: %s", path[0] ? path : origin->set, message);
    if (!path[0]) return error_at(error, STATUS_INPUT, origin->file, line, column, "%s", message);
    return error_at(error, STATUS_INPUT, origin->file, line, column, "%s: %s", path, message);
}

static enum status origin_error(const struct yaml_origin *origin, int32_t line, int32_t column, struct error *error,
                                const char *format, ...) PRINTF_LIKE(5, 6);
static enum status origin_error(const struct yaml_origin *origin, int32_t line, int32_t column, struct error *error,
                                const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    enum status status = error_from(origin, line, column, error, "", format, arguments);
    va_end(arguments);
    return status;
}

/* ---- memory ---- */

static void *push(struct yaml *yaml, size_t bytes, struct error *error) {
    bytes = (bytes + 15) / 16 * 16;
    struct chunk *chunk = yaml->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = alloc_zero(1, sizeof *chunk + 16 + size, "a scenario's text", error);
        if (!chunk) return NULL;
        chunk->next = yaml->chunks;
        chunk->size = size;
        /* bytes[] starts behind three words: align what is handed out to 16. */
        chunk->used = (16 - (uintptr_t)chunk->bytes % 16) % 16;
        chunk->size += chunk->used;
        yaml->chunks = chunk;
    }
    void *memory = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return memory;
}

static char *push_text(struct yaml *yaml, const char *text, size_t length, struct error *error) {
    char *copy = push(yaml, length + 1, error);
    if (copy && length) memcpy(copy, text, length);
    return copy;
}

/* ---- events to nodes ---- */

struct reader {
    struct yaml *yaml;
    struct error *error;
    struct yaml_node *open; /* the list or map being filled */
    int32_t depth;
    struct fy_mark last; /* where the last event was */
    bool have_key;       /* in a map: key, key_line and key_column wait for their value */
    const char *key;
    int32_t key_line, key_column;
};

static enum status fault(struct reader *reader, const struct fy_mark *mark, const char *message) {
    return origin_error(&reader->yaml->origin, mark->line + 1, mark->column + 1, reader->error, "%s", message);
}

static enum status take_key(struct reader *reader, const struct fy_mark *mark, const char *text, size_t length) {
    if (length == 0) return fault(reader, mark, "a key is empty; write 'key: value'");
    char *key = push_text(reader->yaml, text, length, reader->error);
    if (!key) return STATUS_MEMORY;
    reader->have_key = true;
    reader->key = key;
    reader->key_line = mark->line + 1;
    reader->key_column = mark->column + 1;
    return STATUS_OK;
}

static enum status add_node(struct reader *reader, const struct fy_mark *mark, enum yaml_kind kind,
                            struct yaml_node **added) {
    struct yaml_node *parent = reader->open;
    if (++reader->yaml->nodes > YAML_MAX_NODES)
        return fault(reader, mark, "too many values; at most 1000000 in a file");
    struct yaml_node *node = push(reader->yaml, sizeof *node, reader->error);
    if (!node) return STATUS_MEMORY;
    *node = (struct yaml_node){.kind = kind,
                               .line = mark->line + 1,
                               .column = mark->column + 1,
                               .text = "",
                               .origin = &reader->yaml->origin,
                               .parent = parent};
    if (parent && parent->kind == YAML_MAP) {
        node->key = reader->key;
        node->key_line = reader->key_line;
        node->key_column = reader->key_column;
        reader->have_key = false;
    }
    if (parent) {
        if (parent->last) parent->last->next = node;
        if (!parent->first) parent->first = node;
        parent->last = node;
        parent->count++;
    } else {
        reader->yaml->root = node;
    }
    *added = node;
    return STATUS_OK;
}

static bool wants_key(const struct reader *reader) {
    return reader->open && reader->open->kind == YAML_MAP && !reader->have_key;
}

static enum status open_node(struct reader *reader, const struct fy_mark *mark, enum yaml_kind kind) {
    if (wants_key(reader)) return fault(reader, mark, "a key must be one word, not a list or map");
    if (++reader->depth > YAML_MAX_DEPTH) return fault(reader, mark, "nested too deeply; at most 16 levels");
    struct yaml_node *node;
    TRY(add_node(reader, mark, kind, &node));
    reader->open = node;
    return STATUS_OK;
}

static int compare_keys(const void *left, const void *right) {
    const struct yaml_node *a = *(const struct yaml_node *const *)left, *b = *(const struct yaml_node *const *)right;
    int order = strcmp(a->key, b->key);
    if (order) return order;
    return a->key_line != b->key_line ? (a->key_line > b->key_line) - (a->key_line < b->key_line)
                                      : (a->key_column > b->key_column) - (a->key_column < b->key_column);
}

/* No key twice in the map; sorted, so that a map of a hundred thousand hosts is no trouble. */
static enum status check_keys(const struct reader *reader, const struct yaml_node *map) {
    if (map->count < 2) return STATUS_OK;
    const struct yaml_node **nodes = alloc_zero((size_t)map->count, sizeof *nodes, "the keys of a map", reader->error);
    if (!nodes) return STATUS_MEMORY;
    int32_t count = 0;
    for (const struct yaml_node *child = map->first; child; child = child->next) nodes[count++] = child;
    qsort(nodes, (size_t)count, sizeof *nodes, compare_keys);
    enum status status = STATUS_OK;
    for (int32_t i = 1; i < count && status == STATUS_OK; i++)
        if (strcmp(nodes[i - 1]->key, nodes[i]->key) == 0)
            status =
                origin_error(&reader->yaml->origin, nodes[i]->key_line, nodes[i]->key_column, reader->error,
                             "key '%s' stands twice; the first is in line %d", nodes[i]->key, nodes[i - 1]->key_line);
    alloc_free(nodes);
    return status;
}

static enum status close_node(struct reader *reader) {
    const struct yaml_node *node = reader->open;
    reader->open = node->parent;
    reader->depth--;
    return node->kind == YAML_MAP ? check_keys(reader, node) : STATUS_OK;
}

static enum status take_scalar(struct reader *reader, const struct fy_mark *mark, struct fy_token *token) {
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : "";
    if (!text) return error_set(reader->error, STATUS_MEMORY, "not enough memory for the text of a value");
    if (memchr(text, 0, length)) return fault(reader, mark, "a value holds a zero byte; write text");
    if (wants_key(reader)) return take_key(reader, mark, text, length);
    struct yaml_node *node;
    TRY(add_node(reader, mark, YAML_SCALAR, &node));
    node->text = push_text(reader->yaml, text, length, reader->error);
    if (!node->text) return STATUS_MEMORY;
    node->quoted = token && fy_token_scalar_style(token) != FYSS_PLAIN;
    return STATUS_OK;
}

static enum status refuse_extras(struct reader *reader, const struct fy_mark *mark, const void *anchor,
                                 const void *tag) {
    if (anchor) return fault(reader, mark, "anchors (&name) are not supported; write the value out");
    if (tag) return fault(reader, mark, "tags (!name) are not supported; write the value alone");
    return STATUS_OK;
}

/* libfyaml places such a scalar behind its quote. */
static bool starts_with_quote(struct fy_token *token) {
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

static enum status take_event(struct reader *reader, struct fy_event *event) {
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark) reader->last = *mark; /* an empty value has no place: it gets that of what stands before it */
    mark = &reader->last;
    if (event->type == FYET_SCALAR && starts_with_quote(event->scalar.value)) reader->last.column--;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (reader->yaml->root) return fault(reader, mark, "a second document begins; one file holds one");
        return STATUS_OK;
    case FYET_MAPPING_START:
        TRY(refuse_extras(reader, mark, event->mapping_start.anchor, event->mapping_start.tag));
        return open_node(reader, mark, YAML_MAP);
    case FYET_SEQUENCE_START:
        TRY(refuse_extras(reader, mark, event->sequence_start.anchor, event->sequence_start.tag));
        return open_node(reader, mark, YAML_LIST);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return close_node(reader);
    case FYET_SCALAR:
        TRY(refuse_extras(reader, mark, event->scalar.anchor, event->scalar.tag));
        return take_scalar(reader, mark, event->scalar.value);
    case FYET_ALIAS:
        return fault(reader, mark, "aliases (*name) are not supported; write the value out");
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
    case FYET_DOCUMENT_END:
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* ---- libfyaml's own faults ---- */

static void say_nothing(struct fy_diag *diag, void *user, const char *text, size_t length) {
    (void)diag, (void)user, (void)text, (void)length;
}

/* The first fault libfyaml collected, as ours. */
static enum status syntax_fault(const struct yaml *yaml, struct fy_diag *diag, struct error *error) {
    void *position = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diag, &position);
    if (!first || !first->msg)
        return origin_error(&yaml->origin, 0, 0, error, "this is not YAML; see docs/scenario.md");
    char cause[300];
    snprintf(cause, sizeof cause, "%s", first->msg);
    cause[strcspn(cause, "\r\n")] = '\0';
    bool known = first->line > 0 && first->column > 0;
    return origin_error(&yaml->origin, known ? first->line : 0, known ? first->column : 0, error, "not valid YAML: %s",
                        cause);
}

static enum status read_events(struct reader *reader, struct fy_parser *parser, struct fy_diag *diag) {
    for (;;) {
        struct fy_event *event = fy_parser_parse(parser);
        if (!event) return fy_diag_got_error(diag) ? syntax_fault(reader->yaml, diag, reader->error) : STATUS_OK;
        bool end = event->type == FYET_STREAM_END;
        enum status status = take_event(reader, event);
        fy_parser_event_free(parser, event);
        if (status != STATUS_OK || end) return status;
    }
}

static enum status parse_text(struct yaml *yaml, const char *text, size_t length, struct error *error) {
    struct fy_diag_cfg diag_config = {.output_fn = say_nothing, .level = FYET_ERROR, .module_mask = ~0U};
    struct fy_diag *diag = fy_diag_create(&diag_config);
    struct fy_parser *parser = NULL;
    enum status status = STATUS_MEMORY;
    if (!diag) goto done;
    fy_diag_set_collect_errors(diag, true);
    parser = fy_parser_create(&(struct fy_parse_cfg){.flags = FYPCF_COLLECT_DIAG, .diag = diag});
    if (!parser || fy_parser_set_string(parser, text, length)) goto done;
    struct reader reader = {.yaml = yaml, .error = error};
    status = read_events(&reader, parser, diag);
done:
    if (status == STATUS_MEMORY) error_set(error, status, "not enough memory to read YAML");
    if (parser) fy_parser_destroy(parser);
    if (diag) fy_diag_destroy(diag);
    return status;
}

/* ---- the door of this file ---- */

/* Length of the valid UTF-8 character at text[0..length), 0 if there is none. */
static size_t utf8_length(const unsigned char *text, size_t length) {
    unsigned char first = text[0];
    size_t wanted = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (wanted == 0 || wanted > length) return 0;
    for (size_t i = 1; i < wanted; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    if (first == 0xE0 && text[1] < 0xA0) return 0; /* longer than needed */
    if (first == 0xED && text[1] > 0x9F) return 0; /* half of a surrogate pair */
    if (first == 0xF0 && text[1] < 0x90) return 0;
    if (first == 0xF4 && text[1] > 0x8F) return 0; /* past the last code point */
    return wanted;
}

/* Bytes that YAML cannot hold, found here so that the message says where: libfyaml ends a value at some of them without
 * a word. */
static enum status check_bytes(const char *text, size_t length, const struct yaml_origin *origin, struct error *error) {
    if (length > YAML_MAX_BYTES)
        return origin_error(origin, 0, 0, error, "the text has %zu bytes; at most 4 MiB are read", length);
    int32_t line = 1, column = 1;
    for (size_t i = 0, step; i < length; i += step, column++) {
        unsigned char byte = (unsigned char)text[i];
        step = utf8_length((const unsigned char *)text + i, length - i);
        if (step == 0)
            return origin_error(origin, line, column, error, "byte 0x%02x is not UTF-8; a scenario is plain text",
                                byte);
        if ((byte < 32 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 127)
            return origin_error(origin, line, column, error, "control character 0x%02x; a scenario is plain text",
                                byte);
        if (byte == '\n') line++, column = 0;
    }
    return STATUS_OK;
}

static bool copy_origin(struct yaml *yaml, const struct yaml_origin *origin, struct error *error) {
    char *file = push_text(yaml, origin->file, strlen(origin->file), error);
    char *set = file && origin->set ? push_text(yaml, origin->set, strlen(origin->set), error) : NULL;
    yaml->origin = (struct yaml_origin){.file = file, .set = set};
    return file && (set || !origin->set);
}

struct yaml *yaml_parse(const char *text, size_t length, const struct yaml_origin *origin, struct error *error) {
    if (check_bytes(text, length, origin, error) != STATUS_OK) return NULL;
    struct yaml *yaml = alloc_zero(1, sizeof *yaml, "a scenario's text", error);
    if (!yaml) return NULL;
    if (!copy_origin(yaml, origin, error)) goto fail;
    if (parse_text(yaml, text, length, error) != STATUS_OK) goto fail;
    if (!yaml->root) {
        yaml->root = push(yaml, sizeof *yaml->root, error);
        if (!yaml->root) goto fail;
        *yaml->root = (struct yaml_node){.text = "", .line = 1, .column = 1, .origin = &yaml->origin};
    }
    return yaml;
fail:
    yaml_free(yaml);
    return NULL;
}

/* ---- files ---- */

static enum status read_stdin(struct text *contents, struct error *error) {
    char block[16384];
    size_t got;
    while ((got = fread(block, 1, sizeof block, stdin)) > 0) {
        text_append_bytes(contents, block, got);
        if (contents->failed) return error_set(error, STATUS_MEMORY, "not enough memory for standard input");
        if (contents->length > YAML_MAX_BYTES) return STATUS_OK; /* yaml_parse() says so */
    }
    if (ferror(stdin)) return error_set(error, STATUS_IO, "cannot read standard input");
    return STATUS_OK;
}

enum status yaml_read_file(const char *path, struct yaml **yaml, struct error *error) {
    struct text contents = {0};
    char *bytes = NULL;
    size_t length = 0;
    *yaml = NULL;
    error_clear(error);
    if (strcmp(path, "-") == 0) {
        enum status status = read_stdin(&contents, error);
        if (status == STATUS_OK)
            *yaml = yaml_parse(text_get(&contents), contents.length, &(struct yaml_origin){.file = "stdin"}, error);
        text_clear(&contents);
    } else {
        TRY(text_read_file(path, YAML_MAX_BYTES, &bytes, &length, error));
        *yaml = yaml_parse(bytes, length, &(struct yaml_origin){.file = path}, error);
        alloc_free(bytes);
    }
    return *yaml ? STATUS_OK : error->status;
}

void yaml_free(struct yaml *yaml) {
    if (!yaml) return;
    for (struct chunk *chunk = yaml->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        alloc_free(chunk);
    }
    alloc_free(yaml);
}

const struct yaml_node *yaml_root(const struct yaml *yaml) {
    return yaml->root;
}

const struct yaml_origin *yaml_get_origin(const struct yaml *yaml) {
    return &yaml->origin;
}

const struct yaml_node *yaml_child(const struct yaml_node *map, const char *key) {
    for (const struct yaml_node *child = map->first; child; child = child->next)
        if (child->key && strcmp(child->key, key) == 0) return child;
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node) {
    return node->kind == YAML_SCALAR && !node->quoted &&
           (strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0);
}

bool yaml_is_empty(const struct yaml_node *node) {
    return node->kind == YAML_SCALAR && !node->quoted && node->text[0] == '\0';
}

const char *yaml_kind_name(enum yaml_kind kind) {
    switch (kind) {
    case YAML_SCALAR:
        return "one value";
    case YAML_LIST:
        return "a list";
    case YAML_MAP:
        return "a map";
    }
    return "";
}

enum status yaml_error(const struct yaml_node *node, struct error *error, const char *path, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    enum status status = error_from(node->origin, node->line, node->column, error, path, format, arguments);
    va_end(arguments);
    return status;
}

enum status yaml_key_error(const struct yaml_node *node, struct error *error, const char *path, const char *format,
                           ...) {
    va_list arguments;
    va_start(arguments, format);
    int32_t line = node->key ? node->key_line : node->line, column = node->key ? node->key_column : node->column;
    enum status status = error_from(node->origin, line, column, error, path, format, arguments);
    va_end(arguments);
    return status;
}

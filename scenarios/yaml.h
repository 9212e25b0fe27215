/* One YAML document as a tree of lists, maps and scalars that know where they were written.
 *
 * The only user of libfyaml. Of YAML it takes what a scenario needs: one document, no anchors, aliases or tags, keys
 * that are plain text and stand once in their map, at most YAML_MAX_DEPTH levels and YAML_MAX_NODES values. JSON is
 * read too, being YAML. All scalars stay text: what a value means is the reader's affair (value.c, flows_file.c).
 * Linear in the text. Not for: writing YAML.
 */
#ifndef SCENARIOS_YAML_H
#define SCENARIOS_YAML_H

#include "base/error.h"

#include <stdbool.h>

#define YAML_MAX_BYTES (4 << 20)
#define YAML_MAX_DEPTH 16
#define YAML_MAX_NODES 1000000

/* Where a tree was written: in a file, or as the value of `--set key=value`. */
struct yaml_origin {
    const char *file; /* as errors name it; "" for --set */
    const char *set;  /* the key of --set; NULL for a file */
};

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    bool quoted;          /* a scalar in quotes or a block: never null */
    int32_t line, column; /* from 1 */
    const char *text;     /* of a scalar; "" otherwise */
    const char *key;      /* in a map; NULL otherwise */
    int32_t key_line, key_column;
    const struct yaml_origin *origin;
    struct yaml_node *parent;
    struct yaml_node *first; /* child, in the order of the file */
    struct yaml_node *last;
    struct yaml_node *next; /* sibling */
    int32_t count;          /* children */
};

struct yaml; /* owns the nodes */

/* Reads length bytes of text, which need not outlive the call. origin's texts are copied. NULL and *error otherwise:
 * STATUS_INPUT with the place, STATUS_MEMORY. */
NODISCARD struct yaml *yaml_parse(const char *text, size_t length, const struct yaml_origin *origin,
                                  struct error *error);
/* The same from a file, or from standard input when path is "-"; at most YAML_MAX_BYTES. error must not be NULL. */
NODISCARD enum status yaml_read_file(const char *path, struct yaml **yaml, struct error *error);
void yaml_free(struct yaml *yaml); /* NULL is fine */
/* The document's value; an empty text is an empty plain scalar. */
const struct yaml_node *yaml_root(const struct yaml *yaml);
const struct yaml_origin *yaml_get_origin(const struct yaml *yaml);

const struct yaml_node *yaml_child(const struct yaml_node *map, const char *key); /* NULL if there is none */
bool yaml_is_null(const struct yaml_node *node);                                  /* plain `null` or `~` */
bool yaml_is_empty(const struct yaml_node *node);                                 /* plain and no text at all */
const char *yaml_kind_name(enum yaml_kind kind);                                  /* "one value", "a list", "a map" */

/* STATUS_INPUT at the node's value or key: "file:line:column: path: message"; for --set: "--set path: message". */
enum status yaml_error(const struct yaml_node *node, struct error *error, const char *path, const char *format, ...)
    PRINTF_LIKE(4, 5);
enum status yaml_key_error(const struct yaml_node *node, struct error *error, const char *path, const char *format, ...)
    PRINTF_LIKE(4, 5);

#endif

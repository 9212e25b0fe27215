/* The one table of scenario keys: path, kind, place in struct sim_def, range and help of each.
 *
 * Reading (value.c), printing (json.c), did-you-mean, the reference page (reference.c) and the tests all walk it. A new
 * key is a row here. Rows stand in the order in which values are applied, so a preset stands before the sizes it fills
 * in, and in the order of the canonical JSON.
 */
#ifndef SCENARIOS_KEYS_H
#define SCENARIOS_KEYS_H

#include "sim/sim.h"

enum key_kind {
    KEY_DURATION, /* int64_t ns */
    KEY_RATE,     /* int64_t bit/s */
    KEY_COUNT,    /* int64_t, "1.5B" */
    KEY_INTEGER,  /* int32_t */
    KEY_SEED,     /* uint64_t */
    KEY_NUMBER,   /* double */
    KEY_FRACTION, /* double */
    KEY_FLOPS,    /* double, flop/s */
    KEY_BOOLEAN,  /* bool */
    KEY_ENUM,     /* an enum; choice(index) names its values in order */
    KEY_NAME,     /* char[size], one of choice(index) */
    KEY_TEXT,     /* char[size] */
    /* the rest have rules of their own in value.c */
    KEY_BANDWIDTH,  /* cluster.link.bandwidth: up and down at once */
    KEY_FILE,       /* data.text, data.shards: a path from the scenario's folder; sets data.corpus */
    KEY_PRESET,     /* model.preset: fills in the sizes */
    KEY_STRATEGY,   /* strategy.name: fills in the program */
    KEY_PROGRAM,    /* a list of operations */
    KEY_SUBSET,     /* a list of block names, or {blocks: [...]} */
    KEY_BETAS,      /* two numbers */
    KEY_SEEDS,      /* of the scenario, not of a cell */
    KEY_UNSUPPORTED /* documented, but not in this version */
};

struct key {
    const char *path; /* "cluster.link.latency" */
    enum key_kind kind;
    size_t offset;           /* in struct sim_def */
    size_t size;             /* KEY_NAME, KEY_TEXT: bytes there */
    double minimum, maximum; /* inclusive, in the field's unit; KEY_NUMBER and KEY_FRACTION may exclude the minimum */
    bool above_minimum;      /* the minimum itself is out of range */
    const char *word;        /* a word that stands for word_value, "off"; NULL = none */
    double word_value;
    const char *(*choice)(int32_t index); /* NULL past the last */
    const char *replaces; /* paths, blank-separated, that this key overrides when it comes from --set or a grid */
    bool alias;           /* another way to say what other rows print */
    bool (*applies)(const struct sim_def *def); /* NULL = always; else whether the key has an effect in this cell */
    const char *needs;                          /* when it does: "a strategy with an outer step" */
    const char *help;
};

int32_t key_count(void);
const struct key *key_at(int32_t index);
int32_t key_find(const char *path);    /* row of that path; -1 if there is none */
bool key_is_section(const char *path); /* "cluster.link"; "" is the whole file */
/* The nearest name to `word` among what may stand in `section`, or NULL. Holds until the next call on this thread's
 * buffer: buffer has room for a path. */
const char *key_nearest(const char *section, const char *word, char *buffer, size_t size);
bool key_lies_in(const char *path, const char *section, size_t length); /* path is below section[0..length) */
/* Whether the row is one of the paths in the blank-separated list, or lies in a section that is. */
bool key_in_list(const char *path, const char *list);
/* "a duration, such as 20 ms": what a value of the row looks like. */
const char *key_kind_help(enum key_kind kind);
/* Range, words and choices of the row, for messages and the reference page: "1 to 1000000", "'ring', 'tree', ...". */
char *key_describe_range(const struct key *key, char *buffer, size_t size);
/* A name documented for key `path` that this version does not offer ("lordo"). */
bool key_name_is_planned(const char *path, const char *name);

#define KEY_MAX_PATH 64

#endif

/* A read-only sequence of tokens in one or several pieces (files), 1, 2 or 4 bytes each, memory-mapped or owned.
 *
 * Opening reads shards once from end to end, to check every id. A file must not shrink while it is mapped.
 */
#ifndef TOKENS_H
#define TOKENS_H

#include "data.h"

#include <sys/types.h>

struct tokens_piece {
    const void *first; /* the first token */
    int64_t count;
    void *mapping; /* munmap() it; NULL when `owned` */
    size_t mapping_bytes;
    dev_t device; /* of a mapped file */
    ino_t inode;
    void *owned; /* alloc_free() it */
};

struct tokens {
    struct tokens_piece *pieces;
    int32_t piece_count;
    int32_t width; /* bytes of a token: 1, 2, 4 */
};

/* Bytes of a UTF-8 (or any) file. STATUS_INPUT for a missing or empty one. */
NODISCARD enum status tokens_open_text(struct tokens *tokens, const char *path, struct error *error);
/* .bin shards by glob, in the order of their names, byte by byte: llm.c (magic 20240520, uint16), its Llama-3 variant
 * (magic 20240801, uint32), or headerless uint16 as nanoGPT writes. STATUS_INPUT, with file, offset and value: no
 * match, a broken header, a token >= vocab, shards of different widths, one file by two names. */
NODISCARD enum status tokens_open_shards(struct tokens *tokens, const char *pattern, int32_t vocab,
                                         struct error *error);
/* Takes over `bytes` (from alloc). */
NODISCARD enum status tokens_take(struct tokens *tokens, uint8_t *bytes, int64_t count, struct error *error);
void tokens_close(struct tokens *tokens);

static inline int32_t tokens_get(const struct tokens *tokens, const struct tokens_piece *piece, int64_t index) {
    switch (tokens->width) {
    case 1:
        return ((const uint8_t *)piece->first)[index];
    case 2:
        return ((const uint16_t *)piece->first)[index];
    default:
        return (int32_t)((const uint32_t *)piece->first)[index];
    }
}

#endif

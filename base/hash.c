#include "hash.h"

#include "alloc.h"

#include <stdio.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* shows the state, so that it can be a member */
#include <xxhash.h>

struct hash {
    XXH3_state_t state; /* 64-byte aligned, as alloc_zero gives it */
};

struct hash *hash_create(struct error *error) {
    struct hash *hash = alloc_zero(1, sizeof *hash, "hash", error);
    if (hash) XXH3_128bits_reset(&hash->state);
    return hash;
}

void hash_free(struct hash *hash) {
    alloc_free(hash);
}

static void feed_u64(struct hash *hash, uint64_t value) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> (8 * i));
    XXH3_128bits_update(&hash->state, bytes, sizeof bytes);
}

void hash_bytes(struct hash *hash, const void *bytes, size_t length) {
    feed_u64(hash, length);
    if (length) XXH3_128bits_update(&hash->state, bytes, length);
}

void hash_text(struct hash *hash, const char *text) {
    hash_bytes(hash, text, strlen(text));
}
void hash_i64(struct hash *hash, int64_t value) {
    feed_u64(hash, (uint64_t)value);
}

void hash_f64(struct hash *hash, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    feed_u64(hash, bits);
}

char *hash_hex(const struct hash *hash, char hex[HASH_HEX_SIZE]) {
    XXH128_hash_t digest = XXH3_128bits_digest(&hash->state);
    snprintf(hex, HASH_HEX_SIZE, "%016llx%016llx", (unsigned long long)digest.high64, (unsigned long long)digest.low64);
    return hex;
}

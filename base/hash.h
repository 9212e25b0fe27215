/* 128-bit content hashes (XXH3) that name configurations, schedules and trajectories.
 *
 * Fields are fed one by one with their length, so {"ab","c"} and {"a","bc"} differ. Values are hashed little-endian.
 * The kind of a value is not hashed (0.0 and "" agree): what can be of either kind is preceded by a number that tells.
 * Not for: security.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "error.h"

struct hash;

NODISCARD struct hash *hash_create(struct error *error);
void hash_free(struct hash *hash);
void hash_bytes(struct hash *hash, const void *bytes, size_t length);
void hash_text(struct hash *hash, const char *text);
void hash_i64(struct hash *hash, int64_t value);
void hash_f64(struct hash *hash, double value); /* by bit pattern; -0 and 0 differ */

#define HASH_HEX_SIZE 33
/* 32 hexadecimal digits and the terminator into hex. The hash may be fed further. */
char *hash_hex(const struct hash *hash, char hex[HASH_HEX_SIZE]);

#endif

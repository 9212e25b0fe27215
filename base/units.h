/* Quantities as people write them ("100 Mbps", "20 ms", "1.5B") to integers and back.
 *
 * A number without a unit where one is needed is an error, and so is a unit that can be read two ways: the message
 * shows both readings. Bit prefixes are decimal (1 Mbps = 1e6 bit/s); MB is 1e6 bytes, MiB is 2^20. The accepted
 * spellings are listed in the .c. Parsing is exact for what fits int64 (decimal arithmetic, no double on the way).
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "error.h"

/* Each parses the whole text (surrounding blanks allowed) or fails with STATUS_INPUT and a message that says what would
 * be right; *value is untouched on failure. Negative values, nan, `5x`, `1_000`, empty text and overflow are errors.
 *
 *     duration  "20 ms": ns us ms s min h d
 *     bytes     "3 GB", "64 MiB", "10 B"
 *     rate      "100 Mbps", "25 MB/s", "inf" = INT64_MAX
 *     count     "1.5B", "4M", "16k", "250"
 *     flops     "312 TFLOP/s"
 *     fraction  "5%" or "0.05", within [0, 1]
 *     number    finite real, "3e-3", sign allowed
 *     integer   sign allowed
 */
NODISCARD enum status units_parse_duration_ns(const char *text, int64_t *ns, struct error *error);
NODISCARD enum status units_parse_bytes(const char *text, int64_t *bytes, struct error *error);
NODISCARD enum status units_parse_rate_bps(const char *text, int64_t *bps, struct error *error);
NODISCARD enum status units_parse_count(const char *text, int64_t *count, struct error *error);
NODISCARD enum status units_parse_flops(const char *text, double *flop_per_s, struct error *error);
NODISCARD enum status units_parse_fraction(const char *text, double *fraction, struct error *error);
NODISCARD enum status units_parse_number(const char *text, double *value, struct error *error);
NODISCARD enum status units_parse_integer(const char *text, int64_t *value, struct error *error);

/* The shortest text of at least 1 of its unit that parses back to the same value, for configurations: "20 ms",
 * "2.36 s", "64 MiB", "inf". Buffers of 48 bytes are large enough for all of these. */
char *units_format_duration(int64_t ns, char *buffer, size_t size);
char *units_format_bytes(int64_t bytes, char *buffer, size_t size);
char *units_format_rate(int64_t bps, char *buffer, size_t size);
char *units_format_number(double value, char *buffer, size_t size); /* shortest decimal that reads back equal */

/* For people, three significant digits: "6 min 56 s", "1.50 GB", "100 Mbps", "1.50B". */
char *units_show_duration(int64_t ns, char *buffer, size_t size);
char *units_show_bytes(double bytes, char *buffer, size_t size);
char *units_show_rate(double bps, char *buffer, size_t size);
char *units_show_count(double count, char *buffer, size_t size);

#define NS_PER_S INT64_C(1000000000)
static inline double ns_to_s(int64_t ns) {
    return (double)ns / 1e9;
}

#endif

/* Quantity = decimal digits [. digits] [e exponent] [blanks] unit. The number is kept as mantissa * 10^exponent in
 * integers, so that "2.36 s" is exactly 2 360 000 000 ns; a unit is a whole number of base units. What does not come
 * out whole is refused rather than rounded. The tables of units are the list of accepted spellings.
 */
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t size; /* base units in one of these */
    bool written; /* by units_format_... */
};

/* In each table the written units ascend. */
static const struct unit duration_units[] = {{"ns", 1, true},
                                             {"us", 1000, true},
                                             {"ms", 1000000, true},
                                             {"s", NS_PER_S, true},
                                             {"min", 60 * NS_PER_S, false},
                                             {"h", 3600 * NS_PER_S, false},
                                             {"d", 86400 * NS_PER_S, false},
                                             {0}};
static const struct unit byte_units[] = {{"B", 1, true},
                                         {"kB", 1000, true},
                                         {"KiB", 1 << 10, true},
                                         {"MB", 1000000, true},
                                         {"MiB", 1 << 20, true},
                                         {"GB", 1000000000, true},
                                         {"GiB", 1 << 30, true},
                                         {"TB", 1000000000000, true},
                                         {"TiB", INT64_C(1) << 40, true},
                                         {0}};
static const struct unit rate_units[] = {{"bps", 1, true},
                                         {"kbps", 1000, true},
                                         {"Mbps", 1000000, true},
                                         {"Gbps", 1000000000, true},
                                         {"Tbps", 1000000000000, true},
                                         {"bit/s", 1, false},
                                         {"kbit/s", 1000, false},
                                         {"Mbit/s", 1000000, false},
                                         {"Gbit/s", 1000000000, false},
                                         {"Tbit/s", 1000000000000, false},
                                         {"B/s", 8, false},
                                         {"kB/s", 8000, false},
                                         {"MB/s", 8000000, false},
                                         {"GB/s", 8000000000, false},
                                         {"TB/s", 8000000000000, false},
                                         {"KiB/s", 8 << 10, false},
                                         {"MiB/s", 8 << 20, false},
                                         {"GiB/s", INT64_C(8) << 30, false},
                                         {"TiB/s", INT64_C(8) << 40, false},
                                         {0}};
static const struct unit count_units[] = {{"", 1, true},           {"k", 1000, true},          {"M", 1000000, true},
                                          {"B", 1000000000, true}, {"T", 1000000000000, true}, {0}};

/* ---- reading a number ---- */

struct decimal {
    uint64_t mantissa;
    int exponent; /* of ten */
};

static const char *skip_blanks(const char *at) {
    while (*at == ' ' || *at == '\t') at++;
    return at;
}

enum decimal_result { DECIMAL_READ, DECIMAL_NONE, DECIMAL_LONG };

/* Reads digits [. digits] at *text and moves past. Zeros at the end of the fraction cost no precision. */
static enum decimal_result read_digits(const char **text, struct decimal *decimal) {
    const char *at = *text;
    bool fraction = false, any = false;
    int zeros = 0; /* pending, until a digit other than 0 follows */
    *decimal = (struct decimal){0};
    for (; isdigit((unsigned char)*at) || (*at == '.' && !fraction); at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        any = true;
        decimal->exponent -= fraction;
        zeros++;
        if (*at == '0') continue;
        for (; zeros > 0; zeros--)
            if (__builtin_mul_overflow(decimal->mantissa, (uint64_t)10, &decimal->mantissa)) return DECIMAL_LONG;
        if (__builtin_add_overflow(decimal->mantissa, (uint64_t)(*at - '0'), &decimal->mantissa)) return DECIMAL_LONG;
    }
    decimal->exponent += zeros;
    if (decimal->mantissa == 0) decimal->exponent = 0;
    *text = at;
    return any ? DECIMAL_READ : DECIMAL_NONE;
}

/* Reads e exponent, if there is one at *text, and moves past. */
static enum decimal_result read_exponent(const char **text, struct decimal *decimal) {
    const char *at = *text;
    if (*at != 'e' && *at != 'E') return DECIMAL_READ;
    bool sign = at[1] == '-' || at[1] == '+';
    if (!isdigit((unsigned char)at[1 + sign])) return DECIMAL_NONE;
    char *end;
    long exponent = strtol(at + 1, &end, 10);
    if (exponent > 400 || exponent < -400) return DECIMAL_LONG;
    if (decimal->mantissa) decimal->exponent += (int)exponent;
    *text = end;
    return DECIMAL_READ;
}

static enum decimal_result read_decimal(const char **text, struct decimal *decimal) {
    enum decimal_result result = read_digits(text, decimal);
    return result == DECIMAL_READ ? read_exponent(text, decimal) : result;
}

enum scale_result { SCALE_EXACT, SCALE_FRACTION, SCALE_OVERFLOW };

/* decimal * size as a whole number. */
static enum scale_result scale(struct decimal decimal, int64_t size, int64_t *value) {
    unsigned __int128 product = (unsigned __int128)decimal.mantissa * (uint64_t)size;
    for (; decimal.exponent > 0; decimal.exponent--) {
        if (product > INT64_MAX) return SCALE_OVERFLOW;
        product *= 10;
    }
    for (; decimal.exponent < 0; decimal.exponent++) {
        if (product % 10) return SCALE_FRACTION;
        product /= 10;
    }
    if (product > INT64_MAX) return SCALE_OVERFLOW;
    *value = (int64_t)product;
    return SCALE_EXACT;
}

/* ---- quantities with a unit ---- */

struct quantity_kind {
    const char *what;     /* "a duration" */
    const char *example;  /* "20 ms" */
    const char *smallest; /* what a value must be whole in: "nanoseconds" */
    const struct unit *units;
};

static const struct quantity_kind duration_kind = {"a duration", "20 ms", "nanoseconds", duration_units};
static const struct quantity_kind bytes_kind = {"a size", "3 GB", "bytes", byte_units};
static const struct quantity_kind rate_kind = {"a rate", "100 Mbps", "bits per second", rate_units};
static const struct quantity_kind count_kind = {"a count", "1.5B", "ones", count_units};

static enum status refuse(const struct quantity_kind *kind, const char *why, const char *text, struct error *error) {
    return error_set(error, STATUS_INPUT, "%s '%.64s'; %s like '%s' is needed", why, text, kind->what, kind->example);
}

static const struct unit *find_unit(const struct unit *units, const char *name, size_t length) {
    for (; units->name; units++)
        if (strlen(units->name) == length && strncmp(units->name, name, length) == 0) return units;
    return NULL;
}

/* A number and a word after it, in the user's text. */
struct quantity {
    struct decimal decimal;
    const char *number, *unit;
    int number_length, unit_length;
};

/* "Mb/s", "mbps", "MBps" and, for sizes, "Mb": is it bits or bytes? Gives the prefix it would have ("M"), or NULL when
 * the unit is not of this sort. */
static const char *ambiguous_prefix(const struct quantity *quantity, bool rate) {
    static const char *const prefixes[] = {"k", "M", "G", "T"};
    const char *rest = quantity->unit, *prefix = "";
    for (int i = 0; i < 4; i++)
        if (quantity->unit_length > 1 && toupper((unsigned char)*rest) == toupper((unsigned char)*prefixes[i]))
            prefix = prefixes[i];
    if (*prefix) rest++;
    size_t length = (size_t)quantity->unit_length - (*prefix != '\0');
    static const char *const tails[] = {"b/s", "bps", "b"};
    for (int i = rate ? 0 : 2; i < (rate ? 2 : 3); i++)
        if (strlen(tails[i]) == length && strncasecmp(tails[i], rest, length) == 0) return prefix;
    return NULL;
}

/* Both readings of an ambiguous unit, with the user's number. */
static enum status refuse_ambiguous(const struct quantity *quantity, const char *prefix, bool rate,
                                    struct error *error) {
    int digits = quantity->number_length < 40 ? quantity->number_length : 40;
    const char *number = quantity->number;
    if (rate)
        return error_set(error, STATUS_INPUT,
                         "unit '%.*s' may mean bits or bytes; write '%.*s %sbps' (bits) or '%.*s %sB/s' (bytes)",
                         quantity->unit_length, quantity->unit, digits, number, prefix, digits, number, prefix);
    return error_set(error, STATUS_INPUT, "unit '%.*s' may mean bits or bytes; sizes are in bytes, like '%.*s %sB'",
                     quantity->unit_length, quantity->unit, digits, number, prefix);
}

/* Splits text into number and unit. */
static enum status read_quantity(const struct quantity_kind *kind, const char *text, struct quantity *quantity,
                                 struct error *error) {
    const char *at = quantity->number = skip_blanks(text);
    if (*at == '\0') return refuse(kind, "nothing in", text, error);
    if (*at == '-') return refuse(kind, "negative value", text, error);
    switch (read_decimal(&at, &quantity->decimal)) {
    case DECIMAL_READ:
        break;
    case DECIMAL_NONE:
        return refuse(kind, "no number in", text, error);
    case DECIMAL_LONG:
        return refuse(kind, "too many digits in", text, error);
    }
    quantity->number_length = (int)(at - quantity->number);
    quantity->unit = skip_blanks(at);
    size_t length = strlen(quantity->unit);
    while (length > 0 && strchr(" \t", quantity->unit[length - 1])) length--;
    quantity->unit_length = length < 64 ? (int)length : 64;
    return STATUS_OK;
}

static enum status parse_quantity(const struct quantity_kind *kind, const char *text, int64_t *value,
                                  struct error *error) {
    struct quantity quantity = {0};
    TRY(read_quantity(kind, text, &quantity, error));
    const struct unit *unit = find_unit(kind->units, quantity.unit, (size_t)quantity.unit_length);
    if (!unit && quantity.unit_length == 0) return refuse(kind, "no unit in", text, error);
    bool rate = kind == &rate_kind;
    const char *prefix = !unit && (rate || kind == &bytes_kind) ? ambiguous_prefix(&quantity, rate) : NULL;
    if (prefix) return refuse_ambiguous(&quantity, prefix, rate, error);
    if (!unit) return refuse(kind, "unknown unit in", text, error);
    switch (scale(quantity.decimal, unit->size, value)) {
    case SCALE_EXACT:
        return STATUS_OK;
    case SCALE_OVERFLOW:
        return refuse(kind, "too large a value", text, error);
    case SCALE_FRACTION:
        break;
    }
    return error_set(error, STATUS_INPUT, "'%.64s' is no whole number of %s", text, kind->smallest);
}

enum status units_parse_duration_ns(const char *text, int64_t *ns, struct error *error) {
    return parse_quantity(&duration_kind, text, ns, error);
}

enum status units_parse_bytes(const char *text, int64_t *bytes, struct error *error) {
    return parse_quantity(&bytes_kind, text, bytes, error);
}

enum status units_parse_rate_bps(const char *text, int64_t *bps, struct error *error) {
    const char *start = skip_blanks(text);
    if (strncmp(start, "inf", 3) == 0 && *skip_blanks(start + 3) == '\0') {
        *bps = INT64_MAX;
        return STATUS_OK;
    }
    return parse_quantity(&rate_kind, text, bps, error);
}

enum status units_parse_count(const char *text, int64_t *count, struct error *error) {
    return parse_quantity(&count_kind, text, count, error);
}

/* ---- plain numbers ---- */

/* The finite double at the start of text and where it ends; strtod's hexadecimal, inf and nan are refused. */
static bool read_double(const char *text, double *value, const char **end) {
    const char *at = skip_blanks(text), *digits = at + (*at == '-' || *at == '+');
    const char *plain_end = digits + strspn(digits, "0123456789.");
    char *stop;
    if (plain_end == digits) return false;
    *value = strtod(at, &stop);
    *end = stop;
    /* "0x10" ends for strtod where no decimal number would. */
    return stop != at && isfinite(*value) && (stop <= plain_end || *plain_end == 'e' || *plain_end == 'E');
}

enum status units_parse_flops(const char *text, double *flop_per_s, struct error *error) {
    static const struct {
        const char *name;
        double size;
    } units[] = {{"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
    double value;
    const char *unit;
    bool number = read_double(text, &value, &unit) && value >= 0;
    unit = number ? skip_blanks(unit) : "";
    size_t length = strcspn(unit, " \t");
    for (size_t i = 0; number && i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) != length || strncmp(units[i].name, unit, length) != 0) continue;
        if (*skip_blanks(unit + length) || !isfinite(value * units[i].size)) break;
        *flop_per_s = value * units[i].size;
        return STATUS_OK;
    }
    return error_set(error, STATUS_INPUT, "%s '%.64s'; a rate of computation like '312 TFLOP/s' is needed",
                     number ? "unknown unit or too large a value in" : "no number in", text);
}

enum status units_parse_fraction(const char *text, double *fraction, struct error *error) {
    double value;
    const char *end;
    if (!read_double(text, &value, &end))
        return error_set(error, STATUS_INPUT, "no fraction in '%.64s'; one like '5%%' or '0.05' is needed", text);
    end = skip_blanks(end);
    if (*end == '%') {
        value /= 100;
        end = skip_blanks(end + 1);
    }
    if (*end) return error_set(error, STATUS_INPUT, "no fraction in '%.64s'; one like '5%%' or '0.05' is needed", text);
    if (!(value >= 0 && value <= 1))
        return error_set(error, STATUS_INPUT, "fraction '%.64s' is outside 0 to 1 (0%% to 100%%)", text);
    *fraction = value;
    return STATUS_OK;
}

enum status units_parse_number(const char *text, double *value, struct error *error) {
    double parsed;
    const char *end;
    if (!read_double(text, &parsed, &end) || *skip_blanks(end))
        return error_set(error, STATUS_INPUT, "no plain number in '%.64s'; one like '3e-3' is needed", text);
    *value = parsed;
    return STATUS_OK;
}

enum status units_parse_integer(const char *text, int64_t *value, struct error *error) {
    const char *at = skip_blanks(text);
    const char *digits = at + (*at == '-' || *at == '+');
    char *end;
    errno = 0;
    long long parsed = isdigit((unsigned char)*digits) ? strtoll(at, &end, 10) : 0;
    if (!isdigit((unsigned char)*digits) || *skip_blanks(end))
        return error_set(error, STATUS_INPUT, "no whole number in '%.64s'; one like '8' is needed", text);
    if (errno == ERANGE) return error_set(error, STATUS_INPUT, "'%.64s' is too large for a whole number", text);
    *value = parsed;
    return STATUS_OK;
}

/* ---- writing ---- */

/* value / size to the buffer with at most 9 decimals, or false when it takes more or is below 1. */
static bool write_decimal(int64_t value, int64_t size, char *buffer, size_t buffer_size) {
    int64_t rest = value % size, power = 1;
    int decimals = 0;
    if (value < size) return false;
    while (rest * (unsigned __int128)power % (uint64_t)size != 0) {
        if (++decimals > 9) return false;
        power *= 10;
    }
    int64_t fraction = (int64_t)(rest * (unsigned __int128)power / (uint64_t)size);
    int length = snprintf(buffer, buffer_size, "%lld", (long long)(value / size));
    if (decimals && length >= 0 && (size_t)length < buffer_size)
        snprintf(buffer + length, buffer_size - (size_t)length, ".%0*lld", decimals, (long long)fraction);
    return true;
}

/* The shortest of all written units; of equally short ones the larger unit. */
static char *format_exact(int64_t value, const struct unit *units, char *buffer, size_t size) {
    char best[48], number[40], candidate[48];
    snprintf(best, sizeof best, "%lld %s", (long long)value, units[0].name);
    for (const struct unit *unit = units; unit->name && unit->written; unit++) {
        if (!write_decimal(value, unit->size, number, sizeof number)) continue;
        snprintf(candidate, sizeof candidate, "%s %s", number, unit->name);
        if (strlen(candidate) <= strlen(best)) memcpy(best, candidate, sizeof best);
    }
    snprintf(buffer, size, "%s", best);
    return buffer;
}

char *units_format_duration(int64_t ns, char *buffer, size_t size) {
    if (ns != 0) return format_exact(ns, duration_units, buffer, size);
    snprintf(buffer, size, "0 s");
    return buffer;
}

char *units_format_bytes(int64_t bytes, char *buffer, size_t size) {
    return format_exact(bytes, byte_units, buffer, size);
}

char *units_format_rate(int64_t bps, char *buffer, size_t size) {
    if (bps != INT64_MAX) return format_exact(bps, rate_units, buffer, size);
    snprintf(buffer, size, "inf");
    return buffer;
}

char *units_format_number(double value, char *buffer, size_t size) {
    char number[40];
    bool whole = fabs(value) < 1e15 && value == floor(value); /* 100000 rather than 1e+05 */
    if (whole) snprintf(number, sizeof number, "%.0f", value);
    for (int digits = 1; digits <= 17 && !whole; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value) break;
    }
    snprintf(buffer, size, "%s", number);
    return buffer;
}

/* Three significant digits without an exponent; whole values have no decimals. */
static char *show_scaled(double value, const char *unit, char *buffer, size_t size) {
    double magnitude = fabs(value);
    int decimals = magnitude >= 99.95 || value == floor(value) ? 0 : magnitude >= 9.995 ? 1 : 2;
    snprintf(buffer, size, "%.*f%s", decimals, value, unit);
    return buffer;
}

/* Divides by 1000 until three digits are left of the point, and shows with the name of that power. */
static char *show_prefixed(double value, const char *const *names, int count, char *buffer, size_t size) {
    int i = 0;
    for (; i < count - 1 && fabs(value) >= 999.5; i++) value /= 1000;
    return show_scaled(value, names[i], buffer, size);
}

char *units_show_duration(int64_t ns, char *buffer, size_t size) {
    static const char *const names[] = {" ns", " us", " ms", " s"};
    static const struct {
        int64_t above_s, large_s, small_s;
        const char *format;
    } pairs[] = {{86400, 86400, 3600, "%lld d %02lld h"},
                 {3600, 3600, 60, "%lld h %02lld min"},
                 {0, 60, 1, "%lld min %02lld s"}};
    if (ns < INT64_C(59950000000)) return show_prefixed((double)ns, names, 4, buffer, size);
    int64_t s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2);
    int i = 0;
    while (s < pairs[i].above_s) i++;
    snprintf(buffer, size, pairs[i].format, (long long)(s / pairs[i].large_s),
             (long long)(s % pairs[i].large_s / pairs[i].small_s));
    return buffer;
}

char *units_show_bytes(double bytes, char *buffer, size_t size) {
    static const char *const names[] = {" B", " kB", " MB", " GB", " TB", " PB"};
    return show_prefixed(bytes, names, 6, buffer, size);
}

char *units_show_rate(double bps, char *buffer, size_t size) {
    static const char *const names[] = {" bps", " kbps", " Mbps", " Gbps", " Tbps"};
    if (bps < (double)INT64_MAX) return show_prefixed(bps, names, 5, buffer, size);
    snprintf(buffer, size, "inf");
    return buffer;
}

char *units_show_count(double count, char *buffer, size_t size) {
    static const char *const names[] = {"", "k", "M", "B", "T"};
    return show_prefixed(count, names, 5, buffer, size);
}

/* Quantity = decimal digits [. digits] [e exponent] [blanks] unit. The number is kept as mantissa * 10^exponent in
 * integers, so that "2.36 s" is exactly 2 360 000 000 ns; a unit is a rational (numerator / denominator) of the base
 * unit. What does not come out whole is refused rather than rounded.
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
    int64_t numerator, denominator; /* base units in one of these */
};

static const struct unit duration_units[] = {
    {"ns", 1, 1},          {"us", 1000, 1},          {"ms", 1000000, 1},
    {"s", NS_PER_S, 1},    {"min", 60 * NS_PER_S, 1}, {"h", 3600 * NS_PER_S, 1},
    {"d", 86400 * NS_PER_S, 1}, {0}};
static const struct unit byte_units[] = {
    {"B", 1, 1},           {"kB", 1000, 1},          {"MB", 1000000, 1},
    {"GB", 1000000000, 1}, {"TB", 1000000000000, 1}, {"KiB", 1 << 10, 1},
    {"MiB", 1 << 20, 1},   {"GiB", 1 << 30, 1},      {"TiB", INT64_C(1) << 40, 1}, {0}};
static const struct unit rate_units[] = {
    {"bps", 1, 1},            {"kbps", 1000, 1},         {"Mbps", 1000000, 1},
    {"Gbps", 1000000000, 1},  {"Tbps", 1000000000000, 1}, {"bit/s", 1, 1},
    {"kbit/s", 1000, 1},      {"Mbit/s", 1000000, 1},    {"Gbit/s", 1000000000, 1},
    {"Tbit/s", 1000000000000, 1}, {"B/s", 8, 1},         {"kB/s", 8000, 1},
    {"MB/s", 8000000, 1},     {"GB/s", 8000000000, 1},   {"TB/s", 8000000000000, 1},
    {"KiB/s", 8 << 10, 1},    {"MiB/s", 8 << 20, 1},     {"GiB/s", INT64_C(8) << 30, 1}, {0}};
static const struct unit count_units[] = {
    {"", 1, 1}, {"k", 1000, 1}, {"M", 1000000, 1}, {"B", 1000000000, 1}, {"T", 1000000000000, 1}, {0}};

/* ---- reading a number ---- */

struct decimal {
    uint64_t mantissa;
    int exponent; /* of ten */
};

static const char *skip_blanks(const char *at) {
    while (*at == ' ' || *at == '\t') at++;
    return at;
}

/* Reads digits [. digits] [e exponent] at *text and moves past; false when there is no number or over 19 digits. */
static bool read_decimal(const char **text, struct decimal *decimal) {
    const char *at = *text;
    int digits = 0;
    *decimal = (struct decimal){0};
    for (bool fraction = false;; at++) {
        if (*at == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!isdigit((unsigned char)*at)) break;
        if (__builtin_mul_overflow(decimal->mantissa, (uint64_t)10, &decimal->mantissa) ||
            __builtin_add_overflow(decimal->mantissa, (uint64_t)(*at - '0'), &decimal->mantissa))
            return false;
        decimal->exponent -= fraction;
        digits++;
    }
    if (digits == 0) return false;
    if (*at == 'e' || *at == 'E') {
        const char *start = at + 1;
        char *end;
        if (!isdigit((unsigned char)start[*start == '-' || *start == '+'])) return false;
        long exponent = strtol(start, &end, 10);
        if (exponent > 400 || exponent < -400) return false;
        decimal->exponent += (int)exponent;
        at = end;
    }
    while (decimal->mantissa && decimal->mantissa % 10 == 0) {
        decimal->mantissa /= 10;
        decimal->exponent++;
    }
    if (decimal->mantissa == 0) decimal->exponent = 0;
    *text = at;
    return true;
}

enum scale_result { SCALE_EXACT, SCALE_FRACTION, SCALE_OVERFLOW };

/* decimal * unit as a whole number. */
static enum scale_result scale(struct decimal decimal, const struct unit *unit, int64_t *value) {
    unsigned __int128 product = (unsigned __int128)decimal.mantissa * (uint64_t)unit->numerator;
    for (; decimal.exponent > 0; decimal.exponent--) {
        if (product > INT64_MAX) return SCALE_OVERFLOW;
        product *= 10;
    }
    unsigned __int128 divisor = (unsigned __int128)unit->denominator;
    for (; decimal.exponent < 0; decimal.exponent++) {
        if (product % 10 == 0)
            product /= 10;
        else if (product)
            return SCALE_FRACTION;
    }
    if (product % divisor) return SCALE_FRACTION;
    product /= divisor;
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

static enum status refuse(const struct quantity_kind *kind, const char *text, const char *why, struct error *error) {
    return error_set(error, STATUS_INPUT, "%s '%.64s'; %s like '%s' is needed", why, text, kind->what, kind->example);
}

static const struct unit *find_unit(const struct unit *units, const char *name, size_t length) {
    for (; units->name; units++)
        if (strlen(units->name) == length && strncmp(units->name, name, length) == 0) return units;
    return NULL;
}

/* "Mb/s", "mbps", "MBps": is it bits or bytes? Both readings are shown. false if the unit is plainly unknown. */
static bool ambiguous(const char *number, size_t number_length, const char *unit, size_t length, bool rate,
                      struct error *error) {
    static const char prefixes[] = "kMGT";
    const char *tails[] = {"b/s", "bps", "b"};
    char prefix[2] = "";
    size_t at = 0;
    if (length > 1 && strchr("kKmMgGtT", unit[0])) {
        char upper = (char)toupper((unsigned char)unit[0]);
        prefix[0] = prefixes[upper == 'K' ? 0 : upper == 'M' ? 1 : upper == 'G' ? 2 : 3];
        at = 1;
    }
    bool known = false;
    for (int i = rate ? 0 : 2; i < (rate ? 2 : 3); i++)
        known |= strlen(tails[i]) == length - at && strncasecmp(tails[i], unit + at, length - at) == 0;
    if (!known) return false;
    int digits = (int)(number_length < 40 ? number_length : 40);
    if (rate)
        error_set(error, STATUS_INPUT, "unit '%.*s' may mean bits or bytes; write '%.*s %sbps' (bits) or '%.*s %sB/s' (bytes)",
                  (int)length, unit, digits, number, prefix, digits, number, prefix);
    else
        error_set(error, STATUS_INPUT, "unit '%.*s' may mean bits or bytes; write '%.*s %sB' if bytes are meant",
                  (int)length, unit, digits, number, prefix);
    return true;
}

static enum status parse_quantity(const struct quantity_kind *kind, const char *text, int64_t *value,
                                  struct error *error) {
    const char *start = skip_blanks(text), *at = start;
    struct decimal decimal;
    if (*start == '\0') return refuse(kind, text, "nothing in", error);
    if (*start == '-') return refuse(kind, text, "negative value", error);
    if (!read_decimal(&at, &decimal)) return refuse(kind, text, "no number in", error);
    size_t number_length = (size_t)(at - start);
    const char *unit_start = skip_blanks(at);
    size_t length = strlen(unit_start);
    while (length > 0 && isspace((unsigned char)unit_start[length - 1])) length--;
    const struct unit *unit = find_unit(kind->units, unit_start, length);
    if (!unit && length == 0) return refuse(kind, text, "no unit in", error);
    if (!unit && kind->units != duration_units && kind->units != count_units &&
        ambiguous(start, number_length, unit_start, length, kind->units == rate_units, error))
        return STATUS_INPUT;
    if (!unit) return refuse(kind, text, "unknown unit in", error);
    int64_t result;
    switch (scale(decimal, unit, &result)) {
    case SCALE_EXACT: *value = result; return STATUS_OK;
    case SCALE_OVERFLOW: return refuse(kind, text, "too large a value", error);
    case SCALE_FRACTION:
        return error_set(error, STATUS_INPUT, "'%.64s' is no whole number of %s", text, kind->smallest);
    }
    return STATUS_INPUT;
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
    struct decimal ignored;
    const char *number_end = digits;
    char *stop;
    if (!isdigit((unsigned char)*digits) && *digits != '.') return false;
    bool readable = read_decimal(&number_end, &ignored);
    *value = strtod(at, &stop);
    *end = stop;
    return isfinite(*value) && (!readable || number_end == stop);
}

enum status units_parse_flops(const char *text, double *flop_per_s, struct error *error) {
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
    double value;
    const char *end;
    if (!read_double(text, &value, &end) || value < 0)
        return error_set(error, STATUS_INPUT, "no rate of computation in '%.64s'; one like '312 TFLOP/s' is needed", text);
    end = skip_blanks(end);
    size_t length = strcspn(end, " \t");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) != length || strncmp(units[i].name, end, length) != 0 || *skip_blanks(end + length))
            continue;
        *flop_per_s = value * units[i].factor;
        return STATUS_OK;
    }
    return error_set(error, STATUS_INPUT, "unknown unit in '%.64s'; one like '312 TFLOP/s' is needed", text);
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

/* The largest unit (of those with numerator in ascending order up to `last`) in which value has the fewest digits. */
static char *format_exact(int64_t value, const struct unit *units, int count, char *buffer, size_t size) {
    int best = 0;
    for (int i = 1; i < count; i++)
        if (value != 0 && value % units[i].numerator == 0) best = i;
    snprintf(buffer, size, "%lld %s", (long long)(value / units[best].numerator), units[best].name);
    return buffer;
}

char *units_format_duration(int64_t ns, char *buffer, size_t size) {
    if (ns == 0) {
        snprintf(buffer, size, "0 s");
        return buffer;
    }
    return format_exact(ns, duration_units, 4, buffer, size); /* up to seconds */
}

char *units_format_bytes(int64_t bytes, char *buffer, size_t size) {
    return format_exact(bytes, byte_units, 5, buffer, size);
}

char *units_format_rate(int64_t bps, char *buffer, size_t size) {
    if (bps == INT64_MAX) {
        snprintf(buffer, size, "inf");
        return buffer;
    }
    return format_exact(bps, rate_units, 5, buffer, size);
}

char *units_format_number(double value, char *buffer, size_t size) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    return buffer;
}

/* Three significant digits without an exponent. */
static char *show_scaled(double value, const char *unit, char *buffer, size_t size) {
    double magnitude = fabs(value);
    int decimals = magnitude >= 99.95 || value == floor(value) ? 0 : magnitude >= 9.995 ? 1 : 2;
    snprintf(buffer, size, "%.*f%s", decimals, value, unit);
    return buffer;
}

char *units_show_duration(int64_t ns, char *buffer, size_t size) {
    double s = ns_to_s(ns);
    if (ns < 0) return show_scaled(s, " s", buffer, size);
    if (s < 1e-6) return show_scaled((double)ns, " ns", buffer, size);
    if (s < 1e-3) return show_scaled((double)ns / 1e3, " us", buffer, size);
    if (s < 1) return show_scaled((double)ns / 1e6, " ms", buffer, size);
    if (s < 60) return show_scaled(s, " s", buffer, size);
    int64_t whole = (ns + NS_PER_S / 2) / NS_PER_S;
    if (whole < 3600)
        snprintf(buffer, size, "%lld min %02lld s", (long long)(whole / 60), (long long)(whole % 60));
    else if (whole < 86400)
        snprintf(buffer, size, "%lld h %02lld min", (long long)(whole / 3600), (long long)(whole % 3600 / 60));
    else
        snprintf(buffer, size, "%lld d %02lld h", (long long)(whole / 86400), (long long)(whole % 86400 / 3600));
    return buffer;
}

char *units_show_bytes(double bytes, char *buffer, size_t size) {
    static const char *const names[] = {" B", " kB", " MB", " GB", " TB", " PB"};
    int i = 0;
    for (; i < 5 && fabs(bytes) >= 999.5; i++) bytes /= 1000;
    return show_scaled(bytes, names[i], buffer, size);
}

char *units_show_rate(double bps, char *buffer, size_t size) {
    static const char *const names[] = {" bps", " kbps", " Mbps", " Gbps", " Tbps"};
    int i = 0;
    if (isinf(bps) || bps >= 9.2e18) {
        snprintf(buffer, size, "inf");
        return buffer;
    }
    for (; i < 4 && fabs(bps) >= 999.5; i++) bps /= 1000;
    return show_scaled(bps, names[i], buffer, size);
}

char *units_show_count(double count, char *buffer, size_t size) {
    static const char *const names[] = {"", "k", "M", "B", "T"};
    int i = 0;
    for (; i < 4 && fabs(count) >= 999.5; i++) count /= 1000;
    return show_scaled(count, names[i], buffer, size);
}

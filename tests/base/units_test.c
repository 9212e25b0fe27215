/* Quantities: every accepted spelling, every refusal with what it advises, and round trips over random values. */
#include "expect.h"

#include "base/rng.h"
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum status parse_integer(const char *text, int64_t *value, struct error *error);
typedef char *format_integer(int64_t value, char *buffer, size_t size);

struct good {
    parse_integer *parse;
    const char *text;
    int64_t expected;
};

#define GIGA INT64_C(1000000000)

static const struct good goods[] = {
    {units_parse_duration_ns, "20 ms", 20000000},
    {units_parse_duration_ns, "20ms", 20000000},
    {units_parse_duration_ns, " 20 \t ms ", 20000000},
    {units_parse_duration_ns, "1 ns", 1},
    {units_parse_duration_ns, "1.5 us", 1500},
    {units_parse_duration_ns, "2.36 s", 2360000000},
    {units_parse_duration_ns, "0.1 s", 100000000},
    {units_parse_duration_ns, "0.000000001 s", 1},
    {units_parse_duration_ns, "1.000000000000000000000000 s", GIGA},
    {units_parse_duration_ns, "000000000000000000000000001 s", GIGA},
    {units_parse_duration_ns, "1e-9 s", 1},
    {units_parse_duration_ns, "2.5e3 s", 2500 * GIGA},
    {units_parse_duration_ns, "6 min", 360 * GIGA},
    {units_parse_duration_ns, "1.5 h", 5400 * GIGA},
    {units_parse_duration_ns, "1 d", 86400 * GIGA},
    {units_parse_duration_ns, "0 s", 0},
    {units_parse_duration_ns, "0e300 s", 0},
    {units_parse_duration_ns, ".5 s", 500000000},
    {units_parse_duration_ns, "9223372036854775807 ns", INT64_MAX},
    {units_parse_duration_ns, "9223372036.854775807 s", INT64_MAX},
    {units_parse_bytes, "10 B", 10},
    {units_parse_bytes, "3 GB", 3 * GIGA},
    {units_parse_bytes, "1.5 kB", 1500},
    {units_parse_bytes, "2 MB", 2000000},
    {units_parse_bytes, "1 TB", 1000 * GIGA},
    {units_parse_bytes, "1 KiB", 1024},
    {units_parse_bytes, "64 MiB", 64 << 20},
    {units_parse_bytes, "0.5 GiB", 1 << 29},
    {units_parse_bytes, "1 TiB", INT64_C(1) << 40},
    {units_parse_rate_bps, "100 Mbps", 100000000},
    {units_parse_rate_bps, "1 bps", 1},
    {units_parse_rate_bps, "9.6 kbps", 9600},
    {units_parse_rate_bps, "2.5 Gbps", 2500000000},
    {units_parse_rate_bps, "1 Tbps", 1000 * GIGA},
    {units_parse_rate_bps, "100 Mbit/s", 100000000},
    {units_parse_rate_bps, "1 bit/s", 1},
    {units_parse_rate_bps, "1 kbit/s", 1000},
    {units_parse_rate_bps, "1 Gbit/s", GIGA},
    {units_parse_rate_bps, "1 Tbit/s", 1000 * GIGA},
    {units_parse_rate_bps, "1 B/s", 8},
    {units_parse_rate_bps, "1 kB/s", 8000},
    {units_parse_rate_bps, "25 MB/s", 200000000},
    {units_parse_rate_bps, "1 GB/s", 8 * GIGA},
    {units_parse_rate_bps, "1 TB/s", 8000 * GIGA},
    {units_parse_rate_bps, "1 KiB/s", 8192},
    {units_parse_rate_bps, "1 MiB/s", 8 << 20},
    {units_parse_rate_bps, "1 GiB/s", INT64_C(8) << 30},
    {units_parse_rate_bps, "1 TiB/s", INT64_C(8) << 40},
    {units_parse_rate_bps, "inf", INT64_MAX},
    {units_parse_rate_bps, " inf ", INT64_MAX},
    {units_parse_rate_bps, "0 Mbps", 0},
    {units_parse_count, "250", 250},
    {units_parse_count, "16k", 16000},
    {units_parse_count, "4M", 4000000},
    {units_parse_count, "1.5B", 1500000000},
    {units_parse_count, "2 T", 2000 * GIGA},
    {units_parse_count, "1e3", 1000},
    {units_parse_count, "0.5k", 500},
    {units_parse_integer, "8", 8},
    {units_parse_integer, " -8 ", -8},
    {units_parse_integer, "+8", 8},
    {units_parse_integer, "9223372036854775807", INT64_MAX},
    {units_parse_integer, "-9223372036854775808", INT64_MIN},
};

static void reads_every_spelling(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof goods / sizeof goods[0]; i++) {
        struct error error = {0};
        int64_t value = -77;
        enum status status = goods[i].parse(goods[i].text, &value, &error);
        EXPECT(status == STATUS_OK, "'%s': %s", goods[i].text, error.message);
        EXPECT(value == goods[i].expected, "'%s': %lld, expected %lld", goods[i].text, (long long)value,
               (long long)goods[i].expected);
    }
    assert_no_faults();
}

struct bad {
    parse_integer *parse;
    const char *text;
    const char *expected; /* part of the message */
};

static const struct bad bads[] = {
    {units_parse_duration_ns, "", "nothing in ''; a duration like '20 ms' is needed"},
    {units_parse_duration_ns, "  ", "nothing in"},
    {units_parse_duration_ns, "20", "no unit in '20'; a duration like '20 ms' is needed"},
    {units_parse_duration_ns, "0", "no unit in '0'"},
    {units_parse_duration_ns, "ms", "no number in"},
    {units_parse_duration_ns, ".", "no number in"},
    {units_parse_duration_ns, "-1 s", "negative value '-1 s'"},
    {units_parse_duration_ns, "+1 s", "no number in"},
    {units_parse_duration_ns, "nan s", "no number in"},
    {units_parse_duration_ns, "inf s", "no number in"},
    {units_parse_duration_ns, "5x", "unknown unit in '5x'"},
    {units_parse_duration_ns, "1_000 s", "unknown unit in"},
    {units_parse_duration_ns, "1,5 s", "unknown unit in"},
    {units_parse_duration_ns, "1 000 s", "unknown unit in"},
    {units_parse_duration_ns, "20 MS", "unknown unit in"},
    {units_parse_duration_ns, "20 sec", "unknown unit in"},
    {units_parse_duration_ns, "20 ms 3", "unknown unit in"},
    {units_parse_duration_ns, "0x10 s", "unknown unit in"},
    {units_parse_duration_ns, "1e s", "no number in"},
    {units_parse_duration_ns, "0.5 ns", "'0.5 ns' is no whole number of nanoseconds"},
    {units_parse_duration_ns, "1e-10 s", "no whole number of nanoseconds"},
    {units_parse_duration_ns, "9223372036854775808 ns", "too large a value"},
    {units_parse_duration_ns, "9223372036.854775808 s", "too large a value"},
    {units_parse_duration_ns, "106752 d", "too large a value"},
    {units_parse_duration_ns, "1e300 s", "too large a value"},
    {units_parse_duration_ns, "1e99999999999999999999 s", "too many digits in"},
    {units_parse_duration_ns, "0.1234567890123456789012345 s", "too many digits in"},
    {units_parse_bytes, "3", "no unit in '3'; a size like '3 GB' is needed"},
    {units_parse_bytes, "3 Mb", "unit 'Mb' may mean bits or bytes; sizes are in bytes, like '3 MB'"},
    {units_parse_bytes, "3 mb", "like '3 MB'"},
    {units_parse_bytes, "3 mB", "like '3 MB'"},
    {units_parse_bytes, "3 KB", "like '3 kB'"},
    {units_parse_bytes, "3 b", "like '3 B'"},
    {units_parse_bytes, "3 Gbit", "unknown unit in"},
    {units_parse_bytes, "3 MB/s", "unknown unit in"},
    {units_parse_bytes, "0.5 B", "no whole number of bytes"},
    {units_parse_bytes, "1e10 TB", "too large a value"},
    {units_parse_rate_bps, "100", "no unit in '100'; a rate like '100 Mbps' is needed"},
    {units_parse_rate_bps, "100 Mb/s",
     "unit 'Mb/s' may mean bits or bytes; write '100 Mbps' (bits) or '100 MB/s' (bytes)"},
    {units_parse_rate_bps, "1.5 mbps", "write '1.5 Mbps' (bits) or '1.5 MB/s' (bytes)"},
    {units_parse_rate_bps, "100MBps", "write '100 Mbps' (bits) or '100 MB/s' (bytes)"},
    {units_parse_rate_bps, "100 mb/s", "write '100 Mbps' (bits) or '100 MB/s' (bytes)"},
    {units_parse_rate_bps, "100 MBPS", "write '100 Mbps' (bits)"},
    {units_parse_rate_bps, "3 gb/s", "write '3 Gbps' (bits) or '3 GB/s' (bytes)"},
    {units_parse_rate_bps, "3 KB/s", "write '3 kbps' (bits) or '3 kB/s' (bytes)"},
    {units_parse_rate_bps, "3 tbps", "write '3 Tbps' (bits)"},
    {units_parse_rate_bps, "3 b/s", "write '3 bps' (bits) or '3 B/s' (bytes)"},
    {units_parse_rate_bps, "3 Bps", "write '3 bps' (bits) or '3 B/s' (bytes)"},
    {units_parse_rate_bps, "3 Mb", "unknown unit in"},
    {units_parse_rate_bps, "3 xbps", "unknown unit in"},
    {units_parse_rate_bps, "infinite", "no number in"},
    {units_parse_rate_bps, "-inf", "negative value"},
    {units_parse_rate_bps, "0.5 bps", "no whole number of bits per second"},
    {units_parse_rate_bps, "1e19 bps", "too large a value"},
    {units_parse_count, "1.5", "no whole number of ones"},
    {units_parse_count, "1.00001k", "no whole number"},
    {units_parse_count, "4m", "unknown unit in"},
    {units_parse_count, "4G", "unknown unit in"},
    {units_parse_count, "1e7T", "too large a value"},
    {units_parse_integer, "", "no whole number in ''"},
    {units_parse_integer, "1.5", "no whole number in"},
    {units_parse_integer, "1e3", "no whole number in"},
    {units_parse_integer, "0x10", "no whole number in"},
    {units_parse_integer, "--1", "no whole number in"},
    {units_parse_integer, "9223372036854775808", "too large"},
};

static void refuses_with_advice(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        struct error error = {0};
        int64_t value = -77;
        enum status status = bads[i].parse(bads[i].text, &value, &error);
        EXPECT(status == STATUS_INPUT && error.status == STATUS_INPUT, "'%s' gives %lld", bads[i].text,
               (long long)value);
        EXPECT(strstr(error.message, bads[i].expected), "'%s': '%s', expected '%s'", bads[i].text, error.message,
               bads[i].expected);
        EXPECT(value == -77, "'%s' changed the value to %lld", bads[i].text, (long long)value);
    }
    assert_no_faults();
}

static void endless_text_is_refused(void **state) {
    (void)state;
    static char text[100000];
    static parse_integer *const parsers[] = {units_parse_duration_ns, units_parse_bytes, units_parse_rate_bps,
                                             units_parse_count, units_parse_integer};
    static const char *const fills[] = {"9", "0", " ", "b", "1e", "1b", "."};
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        memset(text, fills[i][strlen(fills[i]) - 1], sizeof text - 1);
        memcpy(text, fills[i], strlen(fills[i]));
        for (size_t j = 0; j < sizeof parsers / sizeof parsers[0]; j++) {
            struct error error = {0};
            int64_t value;
            bool zero = *fills[i] == '0' && (parsers[j] == units_parse_count || parsers[j] == units_parse_integer);
            EXPECT(parsers[j](text, &value, &error) == (zero ? STATUS_OK : STATUS_INPUT), "fill '%s', parser %zu",
                   fills[i], j);
        }
    }
    assert_no_faults();
}

/* ---- reals ---- */

typedef enum status parse_real(const char *text, double *value, struct error *error);

static void reads_reals(void **state) {
    (void)state;
    static const struct {
        parse_real *parse;
        const char *text;
        double expected; /* NAN: refused */
    } rows[] = {
        {units_parse_flops, "312 TFLOP/s", 312e12},
        {units_parse_flops, "1FLOP/s", 1},
        {units_parse_flops, "2.5 MFLOP/s", 2.5e6},
        {units_parse_flops, "1 GFLOP/s ", 1e9},
        {units_parse_flops, "1.5 PFLOP/s", 1.5e15},
        {units_parse_flops, "312", NAN},
        {units_parse_flops, "312 TFLOPS", NAN},
        {units_parse_flops, "-1 TFLOP/s", NAN},
        {units_parse_flops, "1e308 PFLOP/s", NAN},
        {units_parse_flops, "", NAN},
        {units_parse_fraction, "5%", 0.05},
        {units_parse_fraction, "5 %", 0.05},
        {units_parse_fraction, "0.05", 0.05},
        {units_parse_fraction, "0", 0},
        {units_parse_fraction, "1", 1},
        {units_parse_fraction, "100%", 1},
        {units_parse_fraction, "1.01", NAN},
        {units_parse_fraction, "101%", NAN},
        {units_parse_fraction, "-0.1", NAN},
        {units_parse_fraction, "5%%", NAN},
        {units_parse_fraction, "%", NAN},
        {units_parse_fraction, "nan", NAN},
        {units_parse_fraction, "", NAN},
        {units_parse_number, "3e-3", 3e-3},
        {units_parse_number, "-2.5", -2.5},
        {units_parse_number, "+2.5", 2.5},
        {units_parse_number, ".5", 0.5},
        {units_parse_number, " 7 ", 7},
        {units_parse_number, "0.1234567890123456789012345", 0.1234567890123456789012345},
        {units_parse_number, "1.7976931348623157e308", 1.7976931348623157e308},
        {units_parse_number, "1e309", NAN},
        {units_parse_number, "nan", NAN},
        {units_parse_number, "inf", NAN},
        {units_parse_number, "-inf", NAN},
        {units_parse_number, "0x10", NAN},
        {units_parse_number, "0x1p3", NAN},
        {units_parse_number, "1e", NAN},
        {units_parse_number, "1.2.3", NAN},
        {units_parse_number, ".", NAN},
        {units_parse_number, "-", NAN},
        {units_parse_number, "5x", NAN},
        {units_parse_number, "1_000", NAN},
        {units_parse_number, "", NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error = {0};
        double value = -77;
        enum status status = rows[i].parse(rows[i].text, &value, &error);
        if (isnan(rows[i].expected))
            EXPECT(status == STATUS_INPUT && error.message[0] && value == -77, "'%s' gives %g", rows[i].text, value);
        else
            EXPECT(status == STATUS_OK && value == rows[i].expected, "'%s': %.17g, %s", rows[i].text, value,
                   error.message);
    }
    assert_no_faults();
}

static void refusals_of_reals_say_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        parse_real *parse;
        const char *text, *expected;
    } rows[] = {
        {units_parse_flops, "fast", "no number in 'fast'; a rate of computation like '312 TFLOP/s' is needed"},
        {units_parse_flops, "3 TFLOPS", "unknown unit or too large a value in '3 TFLOPS'"},
        {units_parse_fraction, "x", "no fraction in 'x'; one like '5%' or '0.05' is needed"},
        {units_parse_fraction, "150%", "fraction '150%' is outside 0 to 1"},
        {units_parse_number, "x", "no plain number in 'x'; one like '3e-3' is needed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error = {0};
        double value;
        EXPECT(rows[i].parse(rows[i].text, &value, &error) == STATUS_INPUT, "'%s'", rows[i].text);
        EXPECT(strstr(error.message, rows[i].expected), "'%s': %s", rows[i].text, error.message);
    }
    assert_no_faults();
}

/* ---- writing ---- */

static void writes_the_shortest(void **state) {
    (void)state;
    static const struct {
        format_integer *format;
        int64_t value;
        const char *expected;
    } rows[] = {
        {units_format_duration, 0, "0 s"},
        {units_format_duration, 20000000, "20 ms"},
        {units_format_duration, 500000000, "500 ms"},
        {units_format_duration, 2360000000, "2.36 s"},
        {units_format_duration, 1234567891, "1.234567891 s"},
        {units_format_duration, 1, "1 ns"},
        {units_format_duration, 3600 * GIGA, "3600 s"},
        {units_format_duration, INT64_MAX, "9223372036.854775807 s"},
        {units_format_bytes, 0, "0 B"},
        {units_format_bytes, 3 * GIGA, "3 GB"},
        {units_format_bytes, 64 << 20, "64 MiB"},
        {units_format_bytes, 1500, "1.5 kB"},
        {units_format_bytes, 1023, "1023 B"},
        {units_format_rate, 0, "0 bps"},
        {units_format_rate, 100000000, "100 Mbps"},
        {units_format_rate, 2500000000, "2.5 Gbps"},
        {units_format_rate, 9600, "9.6 kbps"},
        {units_format_rate, INT64_MAX, "inf"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[48];
        rows[i].format(rows[i].value, buffer, sizeof buffer);
        EXPECT(strcmp(buffer, rows[i].expected) == 0, "%lld: '%s', expected '%s'", (long long)rows[i].value, buffer,
               rows[i].expected);
    }
    assert_no_faults();
}

/* Values of all magnitudes; half of them a few digits times a power of ten or two, as people choose them. */
static int64_t random_value(struct rng *rng) {
    int64_t value = (int64_t)(rng_u64(rng) >> (1 + rng_below(rng, 63)));
    if (rng_below(rng, 2)) return value;
    value %= 10000;
    uint32_t base = rng_below(rng, 3) ? 10 : 1024;
    for (uint32_t power = rng_below(rng, 13); power > 0 && value <= INT64_MAX / base; power--) value *= base;
    return value;
}

static void written_quantities_read_back(void **state) {
    (void)state;
    static const struct {
        const char *name;
        format_integer *format;
        parse_integer *parse;
    } kinds[] = {
        {"duration", units_format_duration, units_parse_duration_ns},
        {"bytes", units_format_bytes, units_parse_bytes},
        {"rate", units_format_rate, units_parse_rate_bps},
    };
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    for (int turn = 0; turn < 30000; turn++) {
        int64_t value = random_value(&rng);
        for (int kind = 0; kind < 3; kind++) {
            struct error error = {0};
            char buffer[48];
            int64_t back = -1;
            enum status status = kinds[kind].parse(kinds[kind].format(value, buffer, sizeof buffer), &back, &error);
            EXPECT(status == STATUS_OK && back == value, "%s %lld: '%s' reads %lld %s", kinds[kind].name,
                   (long long)value, buffer, (long long)back, error.message);
        }
    }
    assert_no_faults();
}

/* Decimal fractions written by the C library: no digit is lost in reading. */
static void decimals_are_read_exactly(void **state) {
    (void)state;
    struct rng rng = rng_stream(2, RNG_TEST, 0, 0);
    for (int turn = 0; turn < 30000; turn++) {
        int64_t value = random_value(&rng), back = -1;
        char text[64];
        snprintf(text, sizeof text, "%lld.%09lld s", (long long)(value / GIGA), (long long)(value % GIGA));
        EXPECT(units_parse_duration_ns(text, &back, NULL) == STATUS_OK && back == value, "%s: %lld", text,
               (long long)back);
        snprintf(text, sizeof text, "%lld.%03lldk", (long long)(value / 1000), (long long)(value % 1000));
        EXPECT(units_parse_count(text, &back, NULL) == STATUS_OK && back == value, "%s: %lld", text, (long long)back);
        snprintf(text, sizeof text, "%llde-3 kB", (long long)value);
        EXPECT(units_parse_bytes(text, &back, NULL) == STATUS_OK && back == value, "%s: %lld", text, (long long)back);
        snprintf(text, sizeof text, "%lld", -(long long)value);
        EXPECT(units_parse_integer(text, &back, NULL) == STATUS_OK && back == -value, "%s", text);
    }
    assert_no_faults();
}

static void expect_number_back(double value) {
    char buffer[48];
    double back;
    units_format_number(value, buffer, sizeof buffer);
    EXPECT(units_parse_number(buffer, &back, NULL) == STATUS_OK && memcmp(&back, &value, sizeof value) == 0,
           "%a: '%s' reads %a", value, buffer, back);
}

static void written_numbers_read_back(void **state) {
    (void)state;
    struct rng rng = rng_stream(3, RNG_TEST, 0, 0);
    for (int turn = 0; turn < 30000; turn++) {
        uint64_t bits = rng_u64(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) expect_number_back(value);
        expect_number_back((double)random_value(&rng) / 1000);
    }
    static const struct {
        double value;
        const char *expected;
    } rows[] = {
        {0, "0"},           {-0.0, "-0"},       {3e-4, "0.0003"}, {0.1, "0.1"},   {1e-5, "1e-05"},
        {100000, "100000"}, {250000, "250000"}, {1e22, "1e+22"},  {-1.5, "-1.5"}, {1 / 3.0, "0.3333333333333333"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[48];
        units_format_number(rows[i].value, buffer, sizeof buffer);
        EXPECT(strcmp(buffer, rows[i].expected) == 0, "'%s', expected '%s'", buffer, rows[i].expected);
        expect_number_back(rows[i].value);
    }
    assert_no_faults();
}

static void shows_three_digits(void **state) {
    (void)state;
    static const struct {
        char kind; /* d, b, r, c */
        double value;
        const char *expected;
    } rows[] = {
        {'d', 0, "0 ns"},
        {'d', 999, "999 ns"},
        {'d', 1500, "1.50 us"},
        {'d', 20e6, "20 ms"},
        {'d', 999.4e6, "999 ms"},
        {'d', 999.6e6, "1.00 s"},
        {'d', 2.36e9, "2.36 s"},
        {'d', 59.94e9, "59.9 s"},
        {'d', 59.96e9, "1 min 00 s"},
        {'d', 416.2e9, "6 min 56 s"},
        {'d', 3599.6e9, "1 h 00 min"},
        {'d', 7384e9, "2 h 03 min"},
        {'d', 90000e9, "1 d 01 h"},
        {'b', 0, "0 B"},
        {'b', 1.5e9, "1.50 GB"},
        {'b', 999, "999 B"},
        {'b', 999.6e6, "1.00 GB"},
        {'b', 12345, "12.3 kB"},
        {'b', 123456, "123 kB"},
        {'b', 5e18, "5000 PB"},
        {'r', 100e6, "100 Mbps"},
        {'r', 2.5e9, "2.50 Gbps"},
        {'r', INFINITY, "inf"},
        {'r', 9.3e18, "inf"},
        {'c', 1.5e9, "1.50B"},
        {'c', 250, "250"},
        {'c', 16000, "16k"},
        {'c', 9.996, "10.0"},
        {'c', 99.4, "99.4"},
        {'c', 99.96, "100"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[48];
        switch (rows[i].kind) {
        case 'd':
            units_show_duration((int64_t)rows[i].value, buffer, sizeof buffer);
            break;
        case 'b':
            units_show_bytes(rows[i].value, buffer, sizeof buffer);
            break;
        case 'r':
            units_show_rate(rows[i].value, buffer, sizeof buffer);
            break;
        case 'c':
            units_show_count(rows[i].value, buffer, sizeof buffer);
            break;
        }
        EXPECT(strcmp(buffer, rows[i].expected) == 0, "%c %g: '%s', expected '%s'", rows[i].kind, rows[i].value, buffer,
               rows[i].expected);
    }
    assert_no_faults();
}

static void small_buffers_are_kept(void **state) {
    (void)state;
    for (size_t size = 1; size < 12; size++) {
        char buffer[13];
        memset(buffer, '#', sizeof buffer);
        units_format_duration(1234567891, buffer, size);
        EXPECT(strlen(buffer) == size - 1 && buffer[size] == '#', "size %zu", size);
        units_format_number(1 / 3.0, buffer, size);
        EXPECT(strlen(buffer) == size - 1 && buffer[size] == '#', "size %zu", size);
    }
    assert_no_faults();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_spelling),
        cmocka_unit_test(refuses_with_advice),
        cmocka_unit_test(endless_text_is_refused),
        cmocka_unit_test(reads_reals),
        cmocka_unit_test(refusals_of_reals_say_what_is_wrong),
        cmocka_unit_test(writes_the_shortest),
        cmocka_unit_test(written_quantities_read_back),
        cmocka_unit_test(decimals_are_read_exactly),
        cmocka_unit_test(written_numbers_read_back),
        cmocka_unit_test(shows_three_digits),
        cmocka_unit_test(small_buffers_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

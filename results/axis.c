/* Axes: ranges with room at both ends, and tics that people read easily, also on logarithmic axes of less than a
 * decade, where gnuplot would write none. */
#include "figure.h"

#include "quote.h"

#include <math.h>
#include <stdio.h>

static const double room = 0.06; /* of the span, at either end */

struct axis_range axis_make(double low, double high, bool log, double minimum, double maximum) {
    struct axis_range range = {.log = log && low > 0 && high / low >= 3};
    double a = range.log ? log10(low) : low, b = range.log ? log10(high) : high;
    double extra = b > a ? room * (b - a) : a != 0 ? 0.1 * fabs(a) : 1;
    range.low = range.log ? pow(10, fmax(a - extra, -307)) : a - extra;
    range.high = range.log ? pow(10, fmin(b + extra, 308)) : b + extra;
    range.low = fmax(range.low, fmin(minimum, low));
    range.high = fmin(range.high, fmax(maximum, high));
    return range;
}

double axis_position(const struct axis_range *range, double value) {
    if (range->log) return (log(value) - log(range->low)) / (log(range->high) - log(range->low));
    return (value - range->low) / (range->high - range->low);
}

/* Tics at these multiples of powers of ten; fewer for wider ranges. */
static const struct {
    double decades; /* for ranges up to this */
    int count;
    double multiples[10];
} log_tics[] = {{0.75, 9, {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8}}, {1.3, 6, {1, 2, 3, 4, 6, 8}}, {2.6, 3, {1, 2, 5}}};

static void append_log_tics(struct text *body, const char *name, const struct axis_range *range, bool numbers) {
    double decades = log10(range->high) - log10(range->low);
    size_t row = 0;
    const size_t rows = sizeof log_tics / sizeof log_tics[0];
    while (row < rows && decades > log_tics[row].decades) row++;
    int stride = row < rows ? 1 : (int)ceil(decades / 6); /* decades per tic, where only powers of ten are marked */
    const char *before = "";
    text_append(body, "set %stics " FIGURE_TICS " (", name);
    for (int power = (int)floor(log10(range->low)); power <= (int)ceil(log10(range->high)); power++) {
        if (stride > 1 && ((power % stride) + stride) % stride != 0) continue;
        for (int i = 0; i < (row < rows ? log_tics[row].count : 1); i++) {
            double value = (row < rows ? log_tics[row].multiples[i] : 1) * pow(10, power);
            if (value < range->low || value > range->high) continue;
            text_append(body, "%s'", before);
            if (numbers) text_append(body, "%g", value);
            text_append(body, "' %.10g", value);
            before = ", ";
        }
    }
    text_append(body, ")\n");
}

/* The smallest of 1, 2, 5 times a power of ten that divides the span into no more than `most` parts. */
static double nice_step(double span, double most) {
    double power = pow(10, floor(log10(span / most)));
    for (int i = 0; i < 3; i++) {
        static const double multiples[] = {1, 2, 5};
        if (multiples[i] * power * most >= span) return multiples[i] * power;
    }
    return 10 * power;
}

static void append_linear_tics(const struct figure *figure, struct text *body, const char *name,
                               const struct axis_range *range) {
    double parts = name[0] == 'x' ? 6 : fmax(2, figure->panel_heights[0] / 19);
    double span = range->high - range->low;
    if (isfinite(span) && span > 0)
        text_append(body, "set %stics " FIGURE_TICS " %.10g\n", name, nice_step(span, parts));
    else
        text_append(body, "set %stics " FIGURE_TICS " autofreq\n", name);
}

void figure_set_axis(struct figure *figure, const char *name, const char *label, const struct axis_range *range) {
    struct text *body = &figure->body;
    text_append(body, range->log ? "set logscale %s\n" : "unset logscale %s\n", name);
    text_append(body, "set %srange [%.10g:%.10g]\n", name, range->low, range->high);
    if (range->log)
        append_log_tics(body, name, range, label != NULL);
    else
        append_linear_tics(figure, body, name, range);
    text_append(body, "set format %s '%s'\n", name, label ? "%g" : "");
    text_append(body, "set %slabel ", name);
    quote_append(body, label ? label : "");
    text_append(body, name[0] == 'x' ? " offset 0, lift\n" : "\n");
}

#include "seeds.h"

#include "base/units.h"
#include "results/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEEDS_MAX = 1024 };

/* A cell's identity: its label without the seed and, to find its counterpart, without the strategy. */
static void strip(const char *label, bool strategy_too, char *to, size_t size) {
    size_t used = 0;
    to[0] = '\0';
    /* values may hold blanks ("100 Mbps"); a key starts a word and has '=' before the next blank */
    for (bool keep = true; *label; label++) {
        bool word_start = used == 0 || label[-1] == ' ';
        size_t word = strcspn(label, " ");
        if (word_start && memchr(label, '=', word)) {
            bool seed = strncmp(label, "seed=", 5) == 0, name = strncmp(label, "strategy.name=", 14) == 0;
            keep = !seed && !(strategy_too && name);
        }
        if (keep && used + 1 < size) {
            to[used++] = *label;
            to[used] = '\0';
        }
    }
    while (used > 0 && to[used - 1] == ' ') to[--used] = '\0';
}

static bool same_cell(const struct run_row *a, const struct run_row *b, bool any_strategy) {
    char x[sizeof a->label], y[sizeof b->label];
    strip(a->label, any_strategy, x, sizeof x);
    strip(b->label, any_strategy, y, sizeof y);
    return strcmp(x, y) == 0 && strcmp(a->scenario, b->scenario) == 0 &&
           (any_strategy || strcmp(a->strategy, b->strategy) == 0);
}

static bool first_of_cell(const struct run_row *rows, int64_t index) {
    for (int64_t i = 0; i < index; i++)
        if (same_cell(&rows[i], &rows[index], false)) return false;
    return true;
}

bool seeds_repeated(const struct run_row *rows, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!first_of_cell(rows, i)) return true;
    return false;
}

/* DiLoCo's perplexity in the same cell and with the same seed; NAN if there is none. */
static double diloco(const struct run_row *rows, int64_t count, const struct run_row *row) {
    for (int64_t i = 0; i < count; i++)
        if (rows[i].seed == row->seed && strcmp(rows[i].strategy, "DiLoCo") == 0 && same_cell(&rows[i], row, true))
            return rows[i].perplexity;
    return NAN;
}

static void print_estimate(struct estimate estimate, double scale, int decimals, const char *unit, int width) {
    char cell[48] = "-";
    if (estimate.count == 1) snprintf(cell, sizeof cell, "%.*f%s", decimals, scale * estimate.mean, unit);
    if (estimate.count > 1)
        snprintf(cell, sizeof cell, "%.*f ± %.*f%s", decimals, scale * estimate.mean, decimals,
                 scale * estimate.half_width, unit);
    /* ± is two bytes and one column */
    printf("  %*s", width + (strstr(cell, "±") ? 1 : 0), cell);
}

static void print_cell(const struct run_row *rows, int64_t count, int64_t first) {
    double utilization[SEEDS_MAX], perplexity[SEEDS_MAX], worst[SEEDS_MAX], ratio[SEEDS_MAX];
    int64_t seeds = 0;
    char link[32];
    for (int64_t i = first; i < count && seeds < SEEDS_MAX; i++) {
        if (!same_cell(&rows[i], &rows[first], false) || strcmp(rows[i].status, "done") != 0) continue;
        utilization[seeds] = rows[i].utilization;
        perplexity[seeds] = rows[i].perplexity;
        worst[seeds] = rows[i].perplexity_worst;
        ratio[seeds++] = rows[i].perplexity / diloco(rows, count, &rows[i]) - 1;
    }
    printf("%-24s  %9s  %4d  %5d  %5lld", rows[first].strategy,
           units_show_rate(rows[first].bandwidth_bps, link, sizeof link), rows[first].workers, rows[first].inner_steps,
           (long long)seeds);
    print_estimate(estimate_mean(utilization, seeds), 100, 2, " %", 15);
    print_estimate(estimate_mean(perplexity, seeds), 1, 3, "", 15);
    print_estimate(estimate_mean(worst, seeds), 1, 3, "", 15);
    print_estimate(estimate_mean(ratio, seeds), 100, 2, " %", 16);
    putchar('\n');
}

void seeds_print(const struct run_row *rows, int64_t count) {
    printf("\nmean over seeds ± 95 %% interval\n%-24s  %9s  %4s  %5s  %5s  %15s  %15s  %15s  %16s\n", "strategy",
           "link", "M", "H", "seeds", "utilization", "perplexity", "worst", "against DiLoCo");
    for (int64_t i = 0; i < count; i++)
        if (first_of_cell(rows, i)) print_cell(rows, count, i);
}

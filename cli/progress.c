#include "progress.h"

#include "cli.h"

#include "base/units.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double progress_wall_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_start(struct progress *progress, bool quiet, int64_t cells) {
    memset(progress, 0, sizeof *progress);
    progress->quiet = quiet;
    progress->terminal = isatty(STDERR_FILENO);
    progress->columns = terminal_columns(stderr, 100);
    progress->cells = cells;
    progress->started_s = progress_wall_s();
}

static void erase_line(const struct progress *progress) {
    if (progress->terminal) fputs("\r\033[K", stderr);
}

void progress_begin_cell(struct progress *progress, int64_t cell, const char *name, int32_t rounds) {
    progress->cell = cell;
    progress->rounds = rounds;
    progress->compute_ns = 0;
    progress->perplexity = NAN;
    progress->cell_started_s = progress_wall_s();
    snprintf(progress->name, sizeof progress->name, "%s", name);
}

/* Share of all cells that is done, counting rounds of the one in progress. */
static double done_fraction(const struct progress *progress, int32_t rounds_done) {
    double within = progress->rounds > 0 ? (double)rounds_done / progress->rounds : 0;
    return ((double)progress->cell + within) / (double)progress->cells;
}

void progress_round(struct progress *progress, const struct sim_round *round) {
    progress->compute_ns += round->times.compute_ns;
    if (round->metrics.evaluated) progress->perplexity = round->metrics.perplexity;
    double now = progress_wall_s();
    /* A line now and then: every tenth of a second on a terminal, every ten seconds in a log. */
    if (progress->quiet || now - progress->printed_s < (progress->terminal ? 0.1 : 10.0)) return;
    if (!progress->terminal && progress->printed_s == 0 && now - progress->started_s < 10.0) return;
    progress->printed_s = now;

    char virtual_time[48], line[512], perplexity[32] = "";
    units_show_duration(round->end_ns, virtual_time, sizeof virtual_time);
    if (!isnan(progress->perplexity))
        snprintf(perplexity, sizeof perplexity, " perplexity %#.4g,", progress->perplexity);
    double fraction = done_fraction(progress, round->round + 1);
    double remaining_s = fraction > 0 ? (now - progress->started_s) * (1 - fraction) / fraction : 0;
    double elapsed_ns = (double)round->end_ns * round->worker_count;
    int length =
        snprintf(line, sizeof line, "[%lld/%lld] %s: round %d/%d, virtual %s,%s utilization %.1f %%, %.0f s left",
                 (long long)progress->cell + 1, (long long)progress->cells, progress->name, round->round + 1,
                 progress->rounds, virtual_time, perplexity,
                 elapsed_ns > 0 ? 100 * (double)progress->compute_ns / elapsed_ns : 0, ceil(remaining_s));
    if (progress->terminal && length > progress->columns - 1) line[progress->columns - 1] = '\0';
    erase_line(progress);
    fprintf(stderr, progress->terminal ? "%s" : "%s\n", line);
    fflush(stderr);
}

void progress_end_cell(struct progress *progress, const char *outcome, const struct sim_summary *summary) {
    double now = progress_wall_s();
    bool last = progress->cell + 1 == progress->cells;
    /* Cells that take milliseconds would drown the log: then one line a second is enough. */
    bool worth_a_line = last || now - progress->printed_s >= 1.0 || now - progress->cell_started_s >= 0.5 ||
                        strcmp(outcome, "done") != 0;
    if (progress->quiet || !worth_a_line) return;
    progress->printed_s = now;
    char virtual_time[48], perplexity[48] = "";
    units_show_duration(summary->virtual_ns, virtual_time, sizeof virtual_time);
    if (!isnan(summary->last.perplexity))
        snprintf(perplexity, sizeof perplexity, "perplexity %#.4g, ", summary->last.perplexity);
    erase_line(progress);
    fprintf(stderr, "[%lld/%lld] %s: %s, %d round%s, virtual %s, %sutilization %.1f %% (%.1f s)\n",
            (long long)progress->cell + 1, (long long)progress->cells, progress->name, outcome, summary->rounds,
            summary->rounds == 1 ? "" : "s", virtual_time, perplexity, 100 * summary->utilization,
            now - progress->cell_started_s);
}

void progress_warning(struct progress *progress, const char *text) {
    if (progress->quiet) return;
    erase_line(progress);
    fprintf(stderr, "thinwire: warning: %s\n", text);
}

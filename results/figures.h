/* The kinds of figure: each fills a struct figure from the database. Private to results/. */
#ifndef FIGURES_H
#define FIGURES_H

#include "cells.h"
#include "figure.h"

/* STATUS_INPUT when the database has nothing that the figure could show. */
NODISCARD enum status figure_frontier(const struct database *database, const char *scenario, struct figure *figure,
                                      struct error *error);
/* Utilization alone, by strategy and link: what figure_frontier draws when nothing was trained. */
NODISCARD enum status figure_utilization(const struct database *database, const char *scenario, struct figure *figure,
                                         struct error *error);
NODISCARD enum status figure_loss(const struct database *database, const char *scenario, struct figure *figure,
                                  struct error *error);
NODISCARD enum status figure_consensus(const struct database *database, const char *scenario, struct figure *figure,
                                       struct error *error);
NODISCARD enum status figure_bytes(const struct database *database, const char *scenario, struct figure *figure,
                                   struct error *error);
NODISCARD enum status figure_timeline(const struct database *database, const char *scenario, struct figure *figure,
                                      struct error *error);
NODISCARD enum status figure_heatmap(const struct database *database, const char *scenario, struct figure *figure,
                                     struct error *error);

/* ---- what they share ---- */

/* The style of a cell's strategy, consistent over all cells. */
struct style figures_cell_style(const struct cells *cells, int64_t cell);
struct figures_unit {
    double per_unit;
    const char *name;
};
/* The unit in which a time of `seconds` is a handy number. */
struct figures_unit figures_time_unit(double seconds);
/* The shape for the cell's value along an axis: the n-th value has the n-th shape. */
enum { FIGURE_SHAPES = 6 };
int figures_value_shape(const struct cells *cells, enum axis axis, int64_t cell);
/* Room for the tics of an axis at the left of the frame, in points. */
double figures_tic_width(const struct cells *cells, enum axis axis);
void figures_append_tic(struct text *script, const char *text); /* quoted, and cut to fit there */
/* One note per cell that is not, or not wholly, done: "GlobalM1: diverged (worker 3 ...)". */
void figures_note_unfinished(const struct cells *cells, struct figure *figure);
/* A horizontal dashed line at the entropy floor, with its row in the key, if it is known and one for all cells; `range`
 * is the perplexity axis. A floor out of range becomes a note. */
void figures_add_floor(const struct cells *cells, const struct axis_range *range, struct figure *figure);
/* The lowest floor within reach of values in [low, high], for choosing the range; NAN otherwise. */
double figures_floor_in_reach(const struct cells *cells, double low, double high);

#endif

/* A figure before gnuplot sees it: data blocks and plot commands, and around them title, key and notes, laid out here
 * so that nothing overlaps and all formats look alike. Private to results/.
 *
 * Everything is measured in points (1/72 inch) for a column 3.5 inches wide. The key is placed by us: gnuplot guesses
 * widths differently for each format. In text figures letters stand for points, and key and notes follow as lines.
 */
#ifndef FIGURE_H
#define FIGURE_H

#include "results.h"

#include "base/text.h"

enum { FIGURE_KEY_ROWS = 64, FIGURE_NOTES = 10, FIGURE_PANELS = 12 };

enum key_sample { KEY_POINT, KEY_LINE, KEY_LINE_POINT, KEY_BOX };

/* How a series is drawn. */
struct style {
    const char *color; /* "#0072B2" */
    int point;         /* gnuplot's number of a point shape */
    int dash;          /* gnuplot's dash type; 1 = solid */
};

struct key_row {
    char text[128];
    enum key_sample sample;
    struct style style;
    char letter; /* of text figures; 0 = none */
};

struct panel {
    double left, right, bottom, top; /* of the plot's frame, in points from the figure's lower left corner */
};

struct figure {
    enum plot_format format;
    int32_t columns; /* of text figures */
    char title[200];
    struct key_row key[FIGURE_KEY_ROWS];
    int32_t key_count, key_dropped;
    char notes[FIGURE_NOTES][256];
    int32_t note_count, note_dropped;
    double left; /* width of what stands left of the frames */
    double panel_heights[FIGURE_PANELS];
    int32_t panel_count;
    int32_t text_rows; /* text figures: lines from the lower to the upper edge of the frame; 0 = as usual */
    double tics_below; /* more height for tics under the lowest frame */
    bool shared_axis;  /* panels stand close: only the lowest has a label under it */
    struct text data;  /* data blocks */
    struct text body;  /* plot commands; each panel begins with figure_begin_panel() */
    struct text table; /* text figures: lines under the plot */
};

/* Adds a row to the key and returns its letter. */
char figure_add_key(struct figure *figure, const char *text, enum key_sample sample, struct style style);
void figure_add_note(struct figure *figure, const char *format, ...) PRINTF_LIKE(2, 3);
bool figure_is_text(const struct figure *figure);

/* A style per strategy, the same in every figure; known strategies have fixed ones, others follow by `unknown`, a
 * number that differs between unknown ones. Colours are Okabe and Ito's, told apart by colour-blind eyes; shapes differ
 * too. */
struct style figure_strategy_style(const char *strategy, int64_t unknown);
bool figure_strategy_is_known(const char *strategy);

/* The panel's frame, once heights, key and notes are known. */
struct panel figure_panel(const struct figure *figure, int32_t index);
double figure_width(void);
/* Appends the commands that put what follows into panel `index`. */
void figure_begin_panel(struct figure *figure, int32_t index);

/* An axis that shows [low, high] with a little room at both ends, but never beyond [minimum, maximum]. Logarithmic when
 * asked, possible, and wide enough to be worth it. */
struct axis_range {
    double low, high;
    bool log;
};
struct axis_range axis_make(double low, double high, bool log, double minimum, double maximum);
double axis_position(const struct axis_range *range, double value); /* 0 at its low end, 1 at its high one */
/* What all tics have in common, for `set xtics`. */
#define FIGURE_TICS "nomirror scale 0.5 norotate textcolor rgb '#000000'"
/* Appends range, tics and label of axis "x" or "y"; label = NULL: no label and no numbers. */
void figure_set_axis(struct figure *figure, const char *name, const char *label, const struct axis_range *range);

/* The whole script of DIRECTORY/NAME.gp. */
void figure_compose(const struct figure *figure, const char *name, struct text *script);
/* Text figures: what stands under gnuplot's drawing. */
void figure_append_legend(const struct figure *figure, struct text *text);
void figure_clear(struct figure *figure);

#endif

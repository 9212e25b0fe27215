#include "figure.h"

#include "quote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* All in points. */
static const double width = 252, right_margin = 9, font_size = 7.5, small_size = 6.5;
static const double key_line = 10.5, note_line = 8.5, sample_width = 17, axis_height = 28, panel_gap = 7;

double figure_width(void) {
    return width;
}

bool figure_is_text(const struct figure *figure) {
    return figure->format == PLOT_TXT;
}

/* ---- styles ---- */

static const struct {
    const char *strategy;
    struct style style;
} known_styles[] = {
    {"DDP", {"#000000", 4, 1}},
    {"LocalSGD", {"#56B4E9", 15, 1}},
    {"DiLoCo", {"#0072B2", 7, 1}},
    {"GlobalM1", {"#E69F00", 5, 1}},
    {"GlobalM1LocalM2", {"#D55E00", 9, 1}},
    {"GlobalM1LocalM2-subset", {"#CC79A7", 11, 1}},
    {"LocalM1M2", {"#009E73", 13, 1}},
    {"NoMixing", {"#7F7F7F", 6, 1}},
};
static const struct style other_styles[] = {{"#882255", 8, 1},  {"#44AA99", 10, 1}, {"#999933", 12, 1},
                                            {"#332288", 14, 1}, {"#AA4499", 1, 1},  {"#661100", 2, 1}};
enum {
    KNOWN_STYLES = sizeof known_styles / sizeof known_styles[0],
    OTHER_STYLES = sizeof other_styles / sizeof other_styles[0]
};

bool figure_strategy_is_known(const char *strategy) {
    for (int i = 0; i < KNOWN_STYLES; i++)
        if (strcmp(known_styles[i].strategy, strategy) == 0) return true;
    return false;
}

struct style figure_strategy_style(const char *strategy, int64_t unknown) {
    for (int i = 0; i < KNOWN_STYLES; i++)
        if (strcmp(known_styles[i].strategy, strategy) == 0) return known_styles[i].style;
    return other_styles[unknown % OTHER_STYLES];
}

/* ---- key and notes ---- */

char figure_add_key(struct figure *figure, const char *text, enum key_sample sample, struct style style) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    if (figure->key_count == FIGURE_KEY_ROWS) {
        figure->key_dropped++;
        return '*';
    }
    int32_t index = figure->key_count++;
    struct key_row *row = &figure->key[index];
    quote_shorten(row->text, sizeof row->text, text, font_size, width - sample_width - 12);
    row->sample = sample;
    row->style = style;
    row->letter = index < (int32_t)sizeof letters - 1 ? letters[index] : '*';
    return row->letter;
}

void figure_add_note(struct figure *figure, const char *format, ...) {
    va_list arguments;
    if (figure->note_count == FIGURE_NOTES) {
        figure->note_dropped++;
        return;
    }
    va_start(arguments, format);
    vsnprintf(figure->notes[figure->note_count++], sizeof figure->notes[0], format, arguments);
    va_end(arguments);
}

/* ---- layout ---- */

enum { KEY_COLUMNS = 5 };
struct key_layout {
    int32_t columns, rows;
    double lefts[KEY_COLUMNS]; /* of the columns, from the first one's */
    double width;
};

static struct key_layout try_columns(const struct figure *figure, int32_t columns) {
    struct key_layout layout = {.columns = columns, .rows = (figure->key_count + columns - 1) / columns};
    for (int32_t c = 0; c < columns; c++) {
        double widest = 0;
        layout.lefts[c] = layout.width;
        for (int32_t i = c * layout.rows; i < (c + 1) * layout.rows && i < figure->key_count; i++)
            widest = fmax(widest, quote_width(figure->key[i].text, font_size));
        if (widest > 0) layout.width += widest + sample_width + 8;
    }
    return layout;
}

/* As many columns as fit. */
static struct key_layout lay_out_key(const struct figure *figure) {
    for (int32_t columns = KEY_COLUMNS; columns > 1; columns--) {
        struct key_layout layout = try_columns(figure, columns);
        if (layout.width - 8 <= width - 8) return layout;
    }
    return try_columns(figure, 1);
}

/* The next line of `at` that fits, broken at a blank where there is one; returns where the line after it begins. */
static const char *break_line(const char *at, size_t fits, size_t *length) {
    size_t left = strlen(at);
    *length = left;
    if (left <= fits) return at + left;
    for (*length = fits; *length > fits / 2 && at[*length] != ' ';) --*length;
    if (at[*length] != ' ')
        for (*length = fits; *length > 1 && ((unsigned char)at[*length] & 0xC0) == 0x80;) --*length;
    const char *next = at + *length;
    while (*next == ' ') next++;
    return next;
}

/* Characters of small print that fit on a line. */
static size_t note_characters(void) {
    return (size_t)((width - 10) / quote_width("n", small_size));
}

static int32_t note_lines(const struct figure *figure) {
    int32_t lines = figure->note_dropped > 0 || figure->key_dropped > 0;
    size_t length;
    for (int32_t i = 0; i < figure->note_count; i++)
        for (const char *at = figure->notes[i]; *at; at = break_line(at, note_characters(), &length)) lines++;
    return lines;
}

static double notes_height(const struct figure *figure) {
    return note_lines(figure) * note_line;
}
static double key_height(const struct figure *figure) {
    return figure->key_count ? lay_out_key(figure).rows * key_line + 3 : 0;
}
static double title_height(const struct figure *figure) {
    return figure->title[0] ? 14 : 6;
}

/* From the figure's lower edge to the frame of the lowest panel. */
static double below_panels(const struct figure *figure) {
    return 3 + notes_height(figure) + key_height(figure) + axis_height + figure->tics_below;
}

static double between_panels(const struct figure *figure) {
    return figure->shared_axis ? panel_gap : axis_height + panel_gap;
}

static double figure_height(const struct figure *figure) {
    double height = below_panels(figure) + title_height(figure);
    for (int32_t i = 0; i < figure->panel_count; i++)
        height += figure->panel_heights[i] + (i > 0 ? between_panels(figure) : 0);
    return height;
}

struct panel figure_panel(const struct figure *figure, int32_t index) {
    struct panel panel = {.left = figure->left, .right = width - right_margin};
    panel.top = figure_height(figure) - title_height(figure);
    for (int32_t i = 0; i < index; i++) panel.top -= figure->panel_heights[i] + between_panels(figure);
    panel.bottom = panel.top - figure->panel_heights[index];
    return panel;
}

/* ---- title, key and notes as gnuplot commands ---- */

struct place {
    double x, y; /* as fractions of the figure */
};

static struct place place_at(const struct figure *figure, double x, double y) {
    return (struct place){x / width, y / figure_height(figure)};
}

static void append_sample(struct text *body, const struct figure *figure, const struct key_row *row, double x,
                          double y) {
    struct place from = place_at(figure, x, y), to = place_at(figure, x + sample_width - 4, y);
    struct place low = place_at(figure, x + 3, y - 3), high = place_at(figure, x + sample_width - 5, y + 3);
    if (row->sample == KEY_LINE || row->sample == KEY_LINE_POINT)
        text_append(body,
                    "set arrow from screen %.5f, %.5f to screen %.5f, %.5f nohead lc rgb '%s' lw 1.6 dt %d front\n",
                    from.x, from.y, to.x, to.y, row->style.color, row->style.dash);
    if (row->sample == KEY_POINT || row->sample == KEY_LINE_POINT)
        text_append(body, "set label '' at screen %.5f, %.5f point pt %d ps mark lc rgb '%s' front\n",
                    (from.x + to.x) / 2, from.y, row->style.point, row->style.color);
    if (row->sample == KEY_BOX)
        text_append(
            body,
            "set object rectangle from screen %.5f, %.5f to screen %.5f, %.5f fc rgb '%s' fs solid noborder front\n",
            low.x, low.y, high.x, high.y, row->style.color);
}

static void append_label(struct text *body, const struct figure *figure, const char *string, double x, double y,
                         const char *options) {
    struct place at = place_at(figure, x, y);
    text_append(body, "set label ");
    quote_append(body, string);
    text_append(body, " at screen %.5f, %.5f left %s front\n", at.x, at.y, options);
}

static void append_key(struct text *body, const struct figure *figure) {
    struct key_layout layout = lay_out_key(figure);
    double top = 3 + notes_height(figure) + key_height(figure);
    double left = fmax(4, fmin(figure->left, width - layout.width));
    for (int32_t i = 0; i < figure->key_count; i++) {
        double x = left + layout.lefts[i / layout.rows];
        double y = top - 3 - key_line * (i % layout.rows) - key_line / 2;
        append_sample(body, figure, &figure->key[i], x, y);
        append_label(body, figure, figure->key[i].text, x + sample_width, y, "");
    }
}

static void append_notes(struct text *body, const struct figure *figure) {
    double y = notes_height(figure) - note_line / 2;
    char line[256];
    size_t length;
    for (int32_t i = 0; i < figure->note_count; i++) {
        for (const char *at = figure->notes[i]; *at; y -= note_line) {
            const char *next = break_line(at, note_characters(), &length);
            snprintf(line, sizeof line, "%.*s", (int)length, at);
            append_label(body, figure, line, 6, y, "font small tc rgb '#444444'");
            at = next;
        }
    }
    if (figure->note_dropped > 0 || figure->key_dropped > 0) {
        snprintf(line, sizeof line, "and %d more", figure->note_dropped + figure->key_dropped);
        append_label(body, figure, line, 6, y, "font small tc rgb '#444444'");
    }
}

void figure_begin_panel(struct figure *figure, int32_t index) {
    struct text *body = &figure->body;
    text_append(body, "\n");
    if (index > 0) text_append(body, "unset label; unset arrow; unset object\n");
    if (figure_is_text(figure)) return;
    struct panel panel = figure_panel(figure, index);
    struct place low = place_at(figure, panel.left, panel.bottom), high = place_at(figure, panel.right, panel.top);
    text_append(body, "set lmargin at screen %.5f; set rmargin at screen %.5f\n", low.x, high.x);
    text_append(body, "set bmargin at screen %.5f; set tmargin at screen %.5f\n", low.y, high.y);
    if (index + 1 < figure->panel_count) return;
    double title_left = fmin(figure->left, fmax(4, width - 4 - quote_width(figure->title, font_size)));
    if (figure->title[0]) append_label(body, figure, figure->title, title_left, figure_height(figure) - 7, "");
    append_key(body, figure);
    append_notes(body, figure);
}

/* ---- the script ---- */

/* Lines for the title, and for tics and label. */
enum { TEXT_ABOVE = 2, TEXT_BELOW = 3 };

static void append_text_terminal(const struct figure *figure, struct text *script) {
    int columns = figure->columns >= 40 ? figure->columns : figure->columns > 0 ? 40 : 80;
    int rows = figure->panel_count > 1 ? 15 * figure->panel_count : columns < 72 ? 20 : 24;
    if (figure->text_rows > 0) rows = figure->text_rows + TEXT_ABOVE + TEXT_BELOW + 1;
    text_append(script, "set terminal dumb size %d, %d noenhanced mono\nset output output\n", columns, rows);
    text_append(script, "small = ''\n");
    if (figure->text_rows > 0) text_append(script, "set tmargin %d; set bmargin %d\n", TEXT_ABOVE, TEXT_BELOW);
    if (figure->title[0]) {
        text_append(script, "set title ");
        quote_append(script, figure->title);
        text_append(script, "\n");
    }
    if (figure->panel_count > 1) text_append(script, "set multiplot layout %d, 1\n", figure->panel_count);
}

static void append_picture_terminal(const struct figure *figure, struct text *script) {
    double height = figure_height(figure);
    text_append(
        script,
        "if (format eq 'svg') {\n"
        "    set terminal svg size %.0f, %.0f noenhanced font 'Helvetica,%g' linewidth 1.5 background rgb 'white'\n"
        "    small = ',%g'; mark = 0.7; lift = 0.6\n"
        "}\n"
        "if (format eq 'png') {\n"
        "    set terminal pngcairo size %.0f, %.0f noenhanced font 'DejaVu Sans,%g' fontscale 3 linewidth 3 "
        "pointscale 2.2\n"
        "    small = ',%g'\n"
        "}\n"
        "if (format eq 'pdf') {\n"
        "    set terminal pdfcairo size %.3fin, %.3fin noenhanced font 'DejaVu Sans,%g' fontscale 0.75 linewidth 1.5 "
        "pointscale 0.55\n"
        "    small = ',%g'\n"
        "}\n"
        "set output output\n",
        2 * width, 2 * height, 2 * font_size, 2 * small_size, 4 * width, 4 * height, font_size, small_size, width / 72,
        height / 72, font_size, small_size);
    text_append(script, "set border lw 0.6 lc rgb '#444444'\nset tics nomirror scale 0.5 textcolor rgb '#000000'\n"
                        "set style line 99 lc rgb '#DDDDDD' lw 0.5 dt 1\nset grid ls 99 back\n");
    if (figure->panel_count > 1) text_append(script, "set multiplot\n");
}

void figure_compose(const struct figure *figure, const char *name, struct text *script) {
    text_append(script, "# %s: drawn by thinwire. `gnuplot %s%s.gp` draws it again", name, name,
                figure_is_text(figure) ? ".txt" : "");
    text_append(script, figure_is_text(figure)
                            ? ".\n"
                            : "; with -e \"format='pdf'\" before the name as PDF (svg, png, pdf).\n");
    text_append(script, "reset\nset encoding utf8\nmark = 1; lift = 0\n");
    text_append(script, "if (!exists('format')) format = '%s'\n", plot_format_name(figure->format));
    text_append(script, "if (!exists('output')) output = '%s.'.format\n", name);
    if (figure_is_text(figure))
        append_text_terminal(figure, script);
    else
        append_picture_terminal(figure, script);
    text_append(script, "unset key\n\n%s\n%s", text_get(&figure->data), text_get(&figure->body));
    if (figure->panel_count > 1) text_append(script, "unset multiplot\n");
    text_append(script, "unset output\n");
    script->failed |= figure->data.failed || figure->body.failed;
}

void figure_append_legend(const struct figure *figure, struct text *text) {
    for (int32_t i = 0; i < figure->key_count && !figure->table.length; i++)
        text_append(text, "  %c  %s\n", figure->key[i].letter, figure->key[i].text);
    text_append(text, "%s", text_get(&figure->table));
    size_t fits = figure->columns > 44 ? (size_t)figure->columns - 4 : 40, length;
    for (int32_t i = 0; i < figure->note_count; i++)
        for (const char *at = figure->notes[i], *next; *at; at = next) {
            next = break_line(at, fits, &length);
            text_append(text, "  %.*s\n", (int)length, at);
        }
    int32_t more = figure->note_dropped + figure->key_dropped;
    if (more > 0) text_append(text, "  and %d more\n", more);
    text->failed |= figure->table.failed;
}

void figure_clear(struct figure *figure) {
    text_clear(&figure->data);
    text_clear(&figure->body);
    text_clear(&figure->table);
}

/* Matrix products. Where the weights stay in the second-level cache, our own: no copies but a transposed panel, and
 * every sum in the order of its terms, whatever the number of rows. OpenBLAS takes over for larger ones. q|k|v and
 * gate|up lie together in the parameter vector, so each is one product.
 *
 * A block of BLOCK_ROWS x BLOCK_COLUMNS sums stays in registers while it walks the terms, BLOCK_TERMS at most, so that
 * the walked columns of `b` stay in the first-level cache.
 */
#include "operators.h"
#include "vector_math.h"

#include <cblas.h>
#include <stdbool.h>

#ifdef __AVX512F__
enum { BLOCK_ROWS = 8, BLOCK_LANES = 2 };
#else
enum { BLOCK_ROWS = 6, BLOCK_LANES = 1 };
#endif
enum { BLOCK_COLUMNS = BLOCK_LANES * LANES, BLOCK_TERMS = 256 };

/* Products of more weights than this are OpenBLAS's: about there its rate passes ours (measured on Zen 4, 1 MiB of
 * second-level cache; ours is 1.1 times as fast at 2^13 .. 2^17 weights). */
enum { OWN_WEIGHTS = 1 << 19 };

/* to[rows, columns] (+)= sum over k of a[row * a_row + k * a_term] * b[k * b_term + column] */
struct product {
    float *to;
    const float *a, *b;
    int64_t to_row, a_row, a_term, b_term;
    int64_t rows, columns, terms;
    bool add;
};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

#define INLINE static inline __attribute__((always_inline))

INLINE void block(float *to, const struct product *p, const float *a, int64_t a_row, int64_t a_term, const float *b,
                  int rows, int wide, bool add) {
    lanes sum[BLOCK_ROWS][BLOCK_LANES];
    const int64_t to_row = p->to_row, b_term = p->b_term, terms = p->terms;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) sum[r][w] = add ? lanes_load(to + r * to_row + w * LANES) : (lanes){0};
    for (int64_t k = 0; k < terms; k++) {
        lanes row[BLOCK_LANES];
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) row[w] = lanes_load(b + k * b_term + w * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int w = 0; w < wide; w++) sum[r][w] += a[r * a_row + k * a_term] * row[w];
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) lanes_store(to + r * to_row + w * LANES, sum[r][w]);
}

INLINE void blocks_below(const struct product *p, int64_t a_row, int64_t a_term, int64_t column, int wide, bool add) {
    int64_t r = 0;
    const float *b = p->b + column;
    float *to = p->to + column;
    for (; r + BLOCK_ROWS <= p->rows; r += BLOCK_ROWS)
        block(to + r * p->to_row, p, p->a + r * a_row, a_row, a_term, b, BLOCK_ROWS, wide, add);
    for (; r < p->rows; r++) block(to + r * p->to_row, p, p->a + r * a_row, a_row, a_term, b, 1, wide, add);
}

/* `a` is either rows of terms or terms of rows: one of its strides is 1, and code that knows which is faster by a
 * tenth. */
INLINE void column_of_blocks(const struct product *p, int64_t column, int wide, bool add) {
    if (p->a_term == 1)
        blocks_below(p, p->a_row, 1, column, wide, add);
    else
        blocks_below(p, 1, p->a_term, column, wide, add);
}

/* Fewer than LANES columns and at most BLOCK_ROWS rows, through copies that are LANES wide. `to`, `a`: of the first
 * row. */
static void narrow_block(const struct product *p, float *to, const float *a, const float *b, int64_t rows,
                         int64_t columns) {
    float tile[BLOCK_ROWS * LANES];
    struct product part = *p;
    part.to_row = part.b_term = LANES;
    for (int64_t r = 0; r < rows; r++)
        lanes_store(tile + r * LANES, p->add ? lanes_load_part(to + r * p->to_row, columns, 0) : (lanes){0});
    if (rows == BLOCK_ROWS)
        block(tile, &part, a, p->a_row, p->a_term, b, BLOCK_ROWS, 1, true);
    else
        for (int64_t r = 0; r < rows; r++)
            block(tile + r * LANES, &part, a + r * p->a_row, p->a_row, p->a_term, b, 1, 1, true);
    for (int64_t r = 0; r < rows; r++) memcpy(to + r * p->to_row, tile + r * LANES, (size_t)columns * sizeof *to);
}

static void last_columns(const struct product *p, int64_t column) {
    float b[BLOCK_TERMS * LANES];
    int64_t left = p->columns - column;
    for (int64_t k = 0; k < p->terms; k++)
        lanes_store(b + k * LANES, lanes_load_part(p->b + k * p->b_term + column, left, 0));
    for (int64_t r = 0; r < p->rows; r += BLOCK_ROWS)
        narrow_block(p, p->to + r * p->to_row + column, p->a + r * p->a_row, b, least(BLOCK_ROWS, p->rows - r), left);
}

/* A product of at most BLOCK_TERMS terms. */
static void product_piece(const struct product *p) {
    int64_t c = 0;
    if (BLOCK_LANES > 1)
        for (; c + BLOCK_COLUMNS <= p->columns; c += BLOCK_COLUMNS) {
            if (p->add)
                column_of_blocks(p, c, BLOCK_LANES, true);
            else
                column_of_blocks(p, c, BLOCK_LANES, false);
        }
    for (; c + LANES <= p->columns; c += LANES) column_of_blocks(p, c, 1, p->add);
    if (c < p->columns) last_columns(p, c);
}

static void product(struct product p) {
    int64_t terms = p.terms;
    for (int64_t first = 0; first < terms; first += BLOCK_TERMS) {
        p.terms = least(BLOCK_TERMS, terms - first);
        product_piece(&p);
        p.a += p.terms * p.a_term;
        p.b += p.terms * p.b_term;
        p.add = true;
    }
}

/* panel[terms, columns] = w[columns, terms] transposed; w's rows are w_row apart, the panel's BLOCK_COLUMNS. */
static void transpose_panel(float *panel, const float *w, int64_t w_row, int64_t columns, int64_t terms) {
    int64_t whole_columns = columns / LANES * LANES, whole_terms = terms / LANES * LANES;
    for (int64_t c = 0; c < whole_columns; c += LANES)
        for (int64_t k = 0; k < whole_terms; k += LANES)
            lanes_transpose(panel + k * BLOCK_COLUMNS + c, BLOCK_COLUMNS, w + c * w_row + k, w_row);
    for (int64_t c = 0; c < columns; c++)
        for (int64_t k = c < whole_columns ? whole_terms : 0; k < terms; k++)
            panel[k * BLOCK_COLUMNS + c] = w[c * w_row + k];
}

static bool ours(int64_t in, int64_t out) {
    return in * out <= OWN_WEIGHTS;
}

void cpu_linear_forward(float *y, const float *x, const float *w, int64_t n, int64_t in, int64_t out, int add) {
    if (!ours(in, out)) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1, x, (int)in, w, (int)in,
                    add ? 1 : 0, y, (int)out);
        return;
    }
    float panel[BLOCK_TERMS * BLOCK_COLUMNS];
    for (int64_t o = 0; o < out; o += BLOCK_COLUMNS)
        for (int64_t i = 0; i < in; i += BLOCK_TERMS) {
            int64_t columns = least(BLOCK_COLUMNS, out - o), terms = least(BLOCK_TERMS, in - i);
            transpose_panel(panel, w + o * in + i, in, columns, terms);
            product_piece(
                &(struct product){y + o, x + i, panel, out, in, 1, BLOCK_COLUMNS, n, columns, terms, add || i > 0});
        }
}

void cpu_linear_backward_input(float *dx, const float *dy, const float *w, int64_t n, int64_t in, int64_t out) {
    if (ours(in, out))
        product((struct product){dx, dy, w, in, out, 1, in, n, in, out, false});
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in, (int)out, 1, dy, (int)out, w, (int)in,
                    0, dx, (int)in);
}

void cpu_linear_backward_weight(float *dw, const float *dy, const float *x, int64_t n, int64_t in, int64_t out,
                                int add) {
    if (ours(in, out))
        product((struct product){dw, dy, x, in, 1, out, in, out, in, n, add});
    else
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1, dy, (int)out, x, (int)in,
                    add ? 1 : 0, dw, (int)in);
}

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
enum { BLOCK_ROWS = 8, BLOCK_LANES = 2 }; /* sixteen of thirty-two registers */
#else
enum { BLOCK_ROWS = 6, BLOCK_LANES = 2 }; /* twelve of sixteen registers */
#endif
enum { BLOCK_COLUMNS = BLOCK_LANES * LANES, BLOCK_TERMS = 256 };

/* Products of more weights than this are OpenBLAS's: about there its rate passes ours (measured on Zen 4, 1 MiB of
 * second-level cache; ours is 1.1 times as fast at 2^13 .. 2^17 weights). */
enum { OWN_WEIGHTS = 1 << 19 };

/* to[rows, columns] = base + sum over k of a[row * a_row + k * a_term] * b[k * b_term + column]; base NULL: 0. Rows of
 * `base` are as far apart as those of `to`. */
struct product {
    float *to;
    const float *base, *a, *b;
    int64_t to_row, a_row, a_term, b_term;
    int64_t rows, columns, terms;
};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

#define INLINE static inline __attribute__((always_inline))

/* The sums of one block, from its first row and column: `rows`, `wide` and one of the strides are known to the
 * compiler. */
INLINE void block(float *to, const float *base, const struct product *p, const float *a, int64_t a_row, int64_t a_term,
                  const float *b, int rows, int wide) {
    lanes sum[BLOCK_ROWS][BLOCK_LANES];
    const int64_t to_row = p->to_row, b_term = p->b_term, terms = p->terms;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) sum[r][w] = base ? lanes_load(base + r * to_row + w * LANES) : (lanes){0};
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

INLINE void blocks_below(const struct product *p, int64_t a_row, int64_t a_term, int64_t column, int wide) {
    int64_t r = 0;
    const float *b = p->b + column;
#define BASE (p->base ? p->base + r * p->to_row + column : NULL)
    for (; r + BLOCK_ROWS <= p->rows; r += BLOCK_ROWS)
        block(p->to + r * p->to_row + column, BASE, p, p->a + r * a_row, a_row, a_term, b, BLOCK_ROWS, wide);
    for (; r < p->rows; r++)
        block(p->to + r * p->to_row + column, BASE, p, p->a + r * a_row, a_row, a_term, b, 1, wide);
#undef BASE
}

/* `a` is either rows of terms or terms of rows: one of its strides is 1, and code that knows which is faster by a
 * tenth. */
INLINE void column_of_blocks(const struct product *p, int64_t column, int wide) {
    if (p->a_term == 1)
        blocks_below(p, p->a_row, 1, column, wide);
    else
        blocks_below(p, 1, p->a_term, column, wide);
}

/* Fewer than LANES columns and at most BLOCK_ROWS rows from `row`, through copies that are LANES wide; b: the columns.
 */
static void narrow_block(const struct product *p, int64_t row, int64_t column, const float *b) {
    float tile[BLOCK_ROWS * LANES] = {0};
    int64_t rows = least(BLOCK_ROWS, p->rows - row), columns = p->columns - column, at = row * p->to_row + column;
    const float *a = p->a + row * p->a_row;
    struct product part = *p;
    part.to_row = part.b_term = LANES;
    for (int64_t r = 0; r < rows && p->base; r++)
        lanes_store(tile + r * LANES, lanes_load_part(p->base + at + r * p->to_row, columns, 0));
    if (rows == BLOCK_ROWS)
        block(tile, tile, &part, a, p->a_row, p->a_term, b, BLOCK_ROWS, 1);
    else
        for (int64_t r = 0; r < rows; r++)
            block(tile + r * LANES, tile + r * LANES, &part, a + r * p->a_row, p->a_row, p->a_term, b, 1, 1);
    for (int64_t r = 0; r < rows; r++)
        memcpy(p->to + at + r * p->to_row, tile + r * LANES, (size_t)columns * sizeof *tile);
}

static void last_columns(const struct product *p, int64_t column) {
    float b[BLOCK_TERMS * LANES];
    for (int64_t k = 0; k < p->terms; k++)
        lanes_store(b + k * LANES, lanes_load_part(p->b + k * p->b_term + column, p->columns - column, 0));
    for (int64_t r = 0; r < p->rows; r += BLOCK_ROWS) narrow_block(p, r, column, b);
}

/* A product of at most BLOCK_TERMS terms. */
static void product_piece(const struct product *p) {
    int64_t c = 0;
    for (; c + BLOCK_COLUMNS <= p->columns; c += BLOCK_COLUMNS) column_of_blocks(p, c, BLOCK_LANES);
    for (; c + LANES <= p->columns; c += LANES) column_of_blocks(p, c, 1);
    if (c < p->columns) last_columns(p, c);
}

static void product(struct product p) {
    int64_t terms = p.terms;
    for (int64_t first = 0; first < terms; first += BLOCK_TERMS) {
        p.terms = least(BLOCK_TERMS, terms - first);
        product_piece(&p);
        p.a += p.terms * p.a_term;
        p.b += p.terms * p.b_term;
        p.base = p.to;
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

/* The weights' panels, transposed, one at a time. */
static void forward_panels(float *y, const float *base, const float *x, const float *w, int64_t n, int64_t in,
                           int64_t out) {
    float panel[BLOCK_TERMS * BLOCK_COLUMNS];
    for (int64_t o = 0; o < out; o += BLOCK_COLUMNS)
        for (int64_t i = 0; i < in; i += BLOCK_TERMS) {
            struct product p = {y + o,
                                base ? base + o : NULL,
                                x + i,
                                panel,
                                out,
                                in,
                                1,
                                BLOCK_COLUMNS,
                                n,
                                least(BLOCK_COLUMNS, out - o),
                                least(BLOCK_TERMS, in - i)};
            if (i > 0) p.base = p.to;
            transpose_panel(panel, w + o * in + i, in, p.columns, p.terms);
            product_piece(&p);
        }
}

void cpu_linear_forward(float *y, const float *base, const float *x, const float *w, int64_t n, int64_t in,
                        int64_t out) {
    if (ours(in, out)) {
        forward_panels(y, base, x, w, n, in, out);
        return;
    }
    if (base && base != y) memcpy(y, base, (size_t)(n * out) * sizeof *y);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1, x, (int)in, w, (int)in,
                base ? 1 : 0, y, (int)out);
}

void cpu_linear_backward_input(float *dx, const float *dy, const float *w, int64_t n, int64_t in, int64_t out) {
    if (ours(in, out))
        product((struct product){dx, NULL, dy, w, in, out, 1, in, n, in, out});
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in, (int)out, 1, dy, (int)out, w, (int)in,
                    0, dx, (int)in);
}

void cpu_linear_backward_weight(float *dw, const float *dy, const float *x, int64_t n, int64_t in, int64_t out,
                                int add) {
    if (ours(in, out))
        product((struct product){dw, add ? dw : NULL, dy, x, in, 1, out, in, out, in, n});
    else
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1, dy, (int)out, x, (int)in,
                    add ? 1 : 0, dw, (int)in);
}

/* Reads what tests/golden/make_golden.py wrote. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "kernels/kernels.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct golden {
    struct llama_def def;
    int32_t batch, steps;
    int64_t parameters;
    const int32_t *tokens, *targets; /* [steps, batch, context] */
    const double *initial, *losses, *gradient, *final;
    char *bytes;
};

/* false if the file is missing, of another magic, or of another size than its header says. */
static inline bool golden_read(const char *name, struct golden *golden) {
    char path[1024];
    size_t length;
    struct error error;
    memset(golden, 0, sizeof *golden);
    snprintf(path, sizeof path, SOURCE_DIR "/tests/golden/%s.golden", name);
    if (text_read_file(path, 1 << 24, &golden->bytes, &length, &error) != STATUS_OK) return false;
    int32_t h[12];
    if (length < sizeof h) return false;
    memcpy(h, golden->bytes, sizeof h);
    if (h[0] != 0x676f6c64) return false;
    golden->def = (struct llama_def){h[1], h[2], h[3], h[4], h[5], h[6], h[7], 10000, 1e-5, h[8] != 0};
    golden->batch = h[9];
    golden->steps = h[10];
    golden->parameters = h[11];
    size_t batch = (size_t)h[10] * (size_t)h[9] * (size_t)h[7], count = (size_t)h[11];
    if (length != sizeof h + 2 * batch * sizeof(int32_t) + (3 * count + (size_t)h[10]) * sizeof(double)) return false;
    golden->tokens = (const int32_t *)(void *)(golden->bytes + sizeof h);
    golden->targets = golden->tokens + batch;
    golden->initial =
        (const double *)(const void *)(golden->targets + batch); /* header and batches are 8-byte multiples */
    golden->losses = golden->initial + count;
    golden->gradient = golden->losses + h[10];
    golden->final = golden->gradient + count;
    return true;
}

#endif

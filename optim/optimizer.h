/* The table of inner optimisers. A method knows vectors and ranges, not workers; its state is `vectors` vectors as long
 * as the parameters. */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "optim.h"

/* One step on one worker. */
struct optimizer_step {
    const struct backend *backend;
    const struct llama *model;
    const struct optimizer_def *def;
    float *parameters;
    const float *gradient;
    float *const *state; /* [vectors] */
    double learning_rate;
    double gradient_scale; /* the clip */
    int64_t step;          /* from 1 */
};

struct optimizer {
    const char *name, *help;
    int32_t vectors;
    void (*step)(const struct optimizer_step *step);
};

extern const struct optimizer optimizer_adamw, optimizer_sgd;

const struct optimizer *optimizer_find(const char *name); /* NULL if there is none */

#endif

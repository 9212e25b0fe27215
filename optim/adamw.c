/* AdamW with decoupled weight decay (Loshchilov & Hutter 2019); norms are not decayed. */
#include "optimizer.h"

static void step(const struct optimizer_step *s) {
    for (int32_t i = 0; i < llama_tensor_count(s->model);) {
        /* neighbours that agree on decay are one stretch */
        const struct llama_tensor *first = llama_tensor(s->model, i), *tensor = first;
        int64_t count = 0;
        for (; i < llama_tensor_count(s->model) && (tensor = llama_tensor(s->model, i))->decay == first->decay; i++)
            count += tensor->rows * tensor->columns;
        struct adamw_step adamw = {.learning_rate = s->learning_rate,
                                   .beta1 = s->def->beta1,
                                   .beta2 = s->def->beta2,
                                   .epsilon = s->def->epsilon,
                                   .weight_decay = first->decay ? s->def->weight_decay : 0,
                                   .gradient_scale = s->gradient_scale,
                                   .step = s->step};
        int64_t at = first->offset;
        vector_adamw(s->backend, s->parameters + at, s->gradient + at, s->state[0] + at, s->state[1] + at, count,
                     &adamw);
    }
}

const struct optimizer optimizer_adamw = {"adamw", "AdamW: decoupled weight decay, not on norms", 2, step};

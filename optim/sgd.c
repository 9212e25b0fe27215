/* Plain stochastic gradient descent, with decoupled weight decay on what AdamW decays. */
#include "optimizer.h"

static void step(const struct optimizer_step *s) {
    for (int32_t i = 0; i < llama_tensor_count(s->model); i++) {
        const struct llama_tensor *tensor = llama_tensor(s->model, i);
        float *parameters = s->parameters + tensor->offset;
        const float *inputs[] = {parameters, s->gradient + tensor->offset};
        double weights[] = {1 - (tensor->decay ? s->learning_rate * s->def->weight_decay : 0),
                            -s->learning_rate * s->gradient_scale};
        vector_combine(s->backend, parameters, 2, inputs, weights, tensor->rows * tensor->columns);
    }
}

const struct optimizer optimizer_sgd = {"sgd", "plain gradient descent", 0, step};

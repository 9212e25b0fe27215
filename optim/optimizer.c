#include "optimizer.h"

#include <string.h>

static const struct optimizer *const optimizers[] = {&optimizer_adamw, &optimizer_sgd};
enum { OPTIMIZERS = sizeof optimizers / sizeof optimizers[0] };

int32_t optimizer_count(void) {
    return OPTIMIZERS;
}
const char *optimizer_name(int32_t index) {
    return optimizers[index]->name;
}
const char *optimizer_help(int32_t index) {
    return optimizers[index]->help;
}

const struct optimizer *optimizer_find(const char *name) {
    for (int i = 0; i < OPTIMIZERS; i++)
        if (strcmp(optimizers[i]->name, name) == 0) return optimizers[i];
    return NULL;
}

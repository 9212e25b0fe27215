/* Presets, the layout of the parameter vector, blocks, initial weights. */
#include "kernels.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- presets ---- */

static const struct {
    const char *name;
    struct llama_def def;
} presets[] = {
    {"tiny", {64, 2, 4, 2, 192, 256, 64, 10000, 1e-5, false}},
    {"1M", {128, 4, 4, 2, 352, 256, 128, 10000, 1e-5, false}},
    {"16M", {256, 4, 4, 4, 1024, 50304, 512, 10000, 1e-5, true}},
    {"125M", {768, 12, 12, 12, 3072, 50304, 1024, 10000, 1e-5, true}},
    {"720M", {2048, 12, 16, 16, 8192, 50304, 2048, 10000, 1e-5, true}},
    {"1.5B", {2048, 16, 32, 8, 8192, 128256, 2048, 500000, 1e-5, false}},
};
enum { PRESETS = sizeof presets / sizeof presets[0] };

struct llama_def llama_default(void) {
    return presets[0].def;
}
const char *llama_preset_name(int32_t index) {
    return index >= 0 && index < PRESETS ? presets[index].name : NULL;
}

bool llama_preset(const char *name, struct llama_def *def) {
    for (int i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i].name, name) != 0) continue;
        *def = presets[i].def;
        return true;
    }
    return false;
}

static enum status check_range(const char *field, int64_t value, int64_t low, int64_t high, struct error *error) {
    if (value >= low && value <= high) return STATUS_OK;
    return error_set(error, STATUS_INPUT, "model.%s is %lld; %lld to %lld is needed", field, (long long)value,
                     (long long)low, (long long)high);
}

enum status llama_check(const struct llama_def *d, struct error *error) {
    TRY(check_range("dim", d->dim, 2, 1 << 16, error));
    TRY(check_range("layers", d->layers, 1, 1024, error));
    TRY(check_range("heads", d->heads, 1, 1024, error));
    TRY(check_range("kv_heads", d->kv_heads, 1, d->heads, error));
    TRY(check_range("ffn", d->ffn, 1, 1 << 20, error));
    TRY(check_range("vocab", d->vocab, 2, 1 << 24, error));
    TRY(check_range("context", d->context, 1, 1 << 20, error));
    if (d->dim % d->heads != 0 || d->dim / d->heads % 2 != 0)
        return error_set(error, STATUS_INPUT, "model.dim is %d; an even multiple of model.heads (%d) is needed", d->dim,
                         d->heads);
    if (d->heads % d->kv_heads != 0)
        return error_set(error, STATUS_INPUT, "model.kv_heads is %d; a divisor of model.heads (%d) is needed",
                         d->kv_heads, d->heads);
    if (!(d->rope_theta > 1 && d->rope_theta <= 1e12))
        return error_set(error, STATUS_INPUT, "model.rope_theta is %g; a number over 1 is needed", d->rope_theta);
    if (!(d->norm_epsilon > 0 && d->norm_epsilon < 1))
        return error_set(error, STATUS_INPUT, "model.norm_epsilon is %g; a number between 0 and 1 is needed",
                         d->norm_epsilon);
    return STATUS_OK;
}

/* ---- layout ---- */

enum block_group {
    BLOCK_EMBEDDING,
    BLOCK_LAYER_ATTENTION,
    BLOCK_LAYER_MLP,
    BLOCK_LAYER_NORMS,
    BLOCK_FINAL_NORM,
    BLOCK_HEAD
};
enum initial { INITIAL_NORMAL, INITIAL_RESIDUAL, INITIAL_ONE };

static bool group_in_layer(enum block_group group) {
    return group == BLOCK_LAYER_ATTENTION || group == BLOCK_LAYER_MLP || group == BLOCK_LAYER_NORMS;
}

struct tensor_kind {
    const char *name, *hugging_face_name;
    enum initial initial;
    bool decay;
    enum block_group group;
};

static const struct tensor_kind kinds[LLAMA_TENSOR_KINDS] = {
#define LLAMA_TENSOR(kind, name, hf, rows, columns, initial, decay, block)                                             \
    {name, hf, INITIAL_##initial, decay, BLOCK_##block},
#include "llama_tensors.def"
#undef LLAMA_TENSOR
};

static void tensor_shape(const struct llama_def *d, enum llama_tensor_kind kind, int64_t *rows, int64_t *columns) {
    switch (kind) {
#define LLAMA_TENSOR(kind, name, hf, row_count, column_count, initial, decay, block)                                   \
    case LLAMA_##kind:                                                                                                 \
        *rows = row_count;                                                                                             \
        *columns = column_count;                                                                                       \
        break;
#include "llama_tensors.def"
#undef LLAMA_TENSOR
    case LLAMA_TENSOR_KINDS:
        *rows = *columns = 0;
        break;
    }
}

struct llama {
    struct llama_def def;
    int64_t parameters;
    int32_t tensor_count, block_count;
    struct llama_tensor *tensors;
    char (*block_names)[32];
    int64_t *block_parameters;
};

int64_t llama_count_parameters(const struct llama_def *def) {
    int64_t total = 0;
    for (int kind = 0; kind < LLAMA_TENSOR_KINDS; kind++) {
        int64_t rows, columns;
        tensor_shape(def, (enum llama_tensor_kind)kind, &rows, &columns);
        total += rows * columns * (group_in_layer(kinds[kind].group) ? def->layers : 1);
    }
    return total;
}

/* Blocks in order: embedding, three per layer, final norm, head. */
static int32_t block_index(const struct llama_def *def, enum block_group group, int32_t layer) {
    switch (group) {
    case BLOCK_EMBEDDING:
        return 0;
    case BLOCK_LAYER_ATTENTION:
        return 1 + 3 * layer;
    case BLOCK_LAYER_MLP:
        return 2 + 3 * layer;
    case BLOCK_LAYER_NORMS:
        return 3 + 3 * layer;
    case BLOCK_FINAL_NORM:
        return 1 + 3 * def->layers;
    case BLOCK_HEAD:
        return 2 + 3 * def->layers;
    }
    return -1;
}

static void name_blocks(struct llama *model) {
    static const char *const layer_parts[] = {"attention", "mlp", "norms"};
    const int32_t layers = model->def.layers;
    snprintf(model->block_names[0], sizeof model->block_names[0], "embedding");
    for (int32_t layer = 0; layer < layers; layer++)
        for (int part = 0; part < 3; part++)
            snprintf(model->block_names[1 + 3 * layer + part], sizeof model->block_names[0], "layer%d.%s", layer,
                     layer_parts[part]);
    snprintf(model->block_names[1 + 3 * layers], sizeof model->block_names[0], "final_norm");
    if (!model->def.tied) snprintf(model->block_names[2 + 3 * layers], sizeof model->block_names[0], "head");
}

static void add_tensor(struct llama *model, enum llama_tensor_kind kind, int32_t layer) {
    struct llama_tensor *tensor = &model->tensors[model->tensor_count];
    int64_t rows, columns;
    tensor_shape(&model->def, kind, &rows, &columns);
    if (rows * columns == 0) return;
    model->tensor_count++;
    /* the formats are ours, with at most one %d */
    if (layer >= 0) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(tensor->name, sizeof tensor->name, kinds[kind].name, layer);
        snprintf(tensor->hugging_face_name, sizeof tensor->hugging_face_name, kinds[kind].hugging_face_name, layer);
#pragma GCC diagnostic pop
    } else {
        snprintf(tensor->name, sizeof tensor->name, "%s", kinds[kind].name);
        snprintf(tensor->hugging_face_name, sizeof tensor->hugging_face_name, "%s", kinds[kind].hugging_face_name);
    }
    tensor->kind = kind;
    tensor->layer = layer;
    tensor->block = block_index(&model->def, kinds[kind].group, layer);
    tensor->offset = model->parameters;
    tensor->rows = rows;
    tensor->columns = columns;
    tensor->decay = kinds[kind].decay;
    model->parameters += rows * columns;
    model->block_parameters[tensor->block] += rows * columns;
}

static void lay_out(struct llama *model) {
    for (int kind = 0; kind < LLAMA_TENSOR_KINDS; kind++) {
        if (!group_in_layer(kinds[kind].group)) {
            add_tensor(model, (enum llama_tensor_kind)kind, -1);
            continue;
        }
        int first = kind; /* the kinds of a layer stand together in the table */
        while (kind + 1 < LLAMA_TENSOR_KINDS && group_in_layer(kinds[kind + 1].group)) kind++;
        for (int32_t layer = 0; layer < model->def.layers; layer++)
            for (int k = first; k <= kind; k++) add_tensor(model, (enum llama_tensor_kind)k, layer);
    }
}

struct llama *llama_create(const struct llama_def *def, struct error *error) {
    if (llama_check(def, error) != STATUS_OK) return NULL;
    struct llama *model = alloc_zero(1, sizeof *model, "model layout", error);
    if (!model) return NULL;
    model->def = *def;
    model->block_count = 2 + 3 * def->layers + !def->tied;
    model->tensors = alloc_zero((size_t)def->layers * LLAMA_TENSOR_KINDS + LLAMA_TENSOR_KINDS, sizeof *model->tensors,
                                "model layout", error);
    model->block_names = alloc_zero((size_t)model->block_count, sizeof *model->block_names, "model layout", error);
    model->block_parameters =
        alloc_zero((size_t)model->block_count, sizeof *model->block_parameters, "model layout", error);
    if (!model->tensors || !model->block_names || !model->block_parameters) {
        llama_free(model);
        return NULL;
    }
    name_blocks(model);
    lay_out(model);
    assert(model->parameters == llama_count_parameters(def));
    return model;
}

void llama_free(struct llama *model) {
    if (!model) return;
    alloc_free(model->tensors);
    alloc_free(model->block_names);
    alloc_free(model->block_parameters);
    alloc_free(model);
}

const struct llama_def *llama_get_def(const struct llama *model) {
    return &model->def;
}
int64_t llama_parameters(const struct llama *model) {
    return model->parameters;
}
int32_t llama_tensor_count(const struct llama *model) {
    return model->tensor_count;
}
const struct llama_tensor *llama_tensor(const struct llama *model, int32_t index) {
    return &model->tensors[index];
}

/* ---- blocks ---- */

int32_t llama_block_count(const struct llama *model) {
    return model->block_count;
}
const char *llama_block_name(const struct llama *model, int32_t block) {
    return model->block_names[block];
}
int64_t llama_block_parameters(const struct llama *model, int32_t block) {
    return model->block_parameters[block];
}

/* "layer3" means the blocks "layer3.…", "norms" every block that is a norm's. */
static bool block_matches(const char *block, const char *name) {
    size_t length = strlen(name);
    if (strcmp(block, name) == 0) return true;
    if (strncmp(block, name, length) == 0 && block[length] == '.') return true;
    return strcmp(name, "norms") == 0 && (strstr(block, ".norms") || strcmp(block, "final_norm") == 0);
}

enum status llama_select_blocks(const struct llama *model, const char *name, bool *selected, struct error *error) {
    bool any = false;
    for (int32_t block = 0; block < model->block_count; block++) {
        if (!block_matches(model->block_names[block], name)) continue;
        selected[block] = any = true;
    }
    /* a tied head lies in the embedding */
    if (!any && model->def.tied && strcmp(name, "head") == 0) selected[0] = any = true;
    if (any) return STATUS_OK;
    const char *nearest = NULL;
    for (int32_t block = 0; block < model->block_count && !nearest; block++) {
        const char *candidate = model->block_names[block];
        nearest = text_nearest(name, &candidate, 1);
    }
    return error_set(error, STATUS_INPUT, "unknown block '%.40s'; %s%s", name,
                     nearest ? "did you mean " : "blocks are ",
                     nearest ? nearest : "embedding, layer0, layer0.attention, ..., norms, final_norm, head");
}

int32_t llama_block_ranges(const struct llama *model, const bool *selected, struct range *ranges) {
    int32_t count = 0;
    for (int32_t i = 0; i < model->tensor_count; i++) {
        const struct llama_tensor *tensor = &model->tensors[i];
        if (selected && !selected[tensor->block]) continue;
        int64_t size = tensor->rows * tensor->columns;
        if (count > 0 && ranges[count - 1].offset + ranges[count - 1].count == tensor->offset)
            ranges[count - 1].count += size;
        else
            ranges[count++] = (struct range){tensor->offset, size};
    }
    return count;
}

/* ---- initial weights ---- */

void llama_initialize(const struct llama *model, const struct backend *backend, uint64_t seed, float *parameters) {
    enum { PIECE = 4096 };
    float piece[PIECE];
    for (int32_t i = 0; i < model->tensor_count; i++) {
        const struct llama_tensor *tensor = &model->tensors[i];
        struct rng rng = rng_stream(seed, RNG_INITIAL_WEIGHTS, 0, (uint32_t)i);
        enum initial initial = kinds[tensor->kind].initial;
        double deviation = initial == INITIAL_RESIDUAL ? 0.02 / sqrt(2.0 * model->def.layers) : 0.02;
        int64_t size = tensor->rows * tensor->columns;
        for (int64_t done = 0; done < size; done += PIECE) {
            int64_t count = size - done < PIECE ? size - done : PIECE;
            for (int64_t j = 0; j < count; j++)
                piece[j] = initial == INITIAL_ONE ? 1.0f : (float)(deviation * rng_normal(&rng));
            backend_upload(backend, parameters + tensor->offset + done, piece, count);
        }
    }
}

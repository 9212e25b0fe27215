/* Runs a fuzz target over files and over mutations of them, the same ones each time:
 *
 *     program MUTATIONS FILE...
 *
 * Mutations per file, from Philox keyed by file and number: cut, copy or double a stretch, swap in a piece of another
 * file, change bytes to ones that mean something to the reader. On a crash the input is left in fuzz-failure.
 */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUT (1 << 16)

struct input {
    uint8_t bytes[MAX_INPUT];
    size_t length;
};

static bool read_input(const char *path, struct input *input) {
    char *bytes;
    size_t length;
    struct error error;
    if (text_read_file(path, MAX_INPUT, &bytes, &length, &error) != STATUS_OK) {
        char line[600];
        fprintf(stderr, "%s\n", error_format(&error, line, sizeof line));
        return false;
    }
    memcpy(input->bytes, bytes, length);
    input->length = length;
    alloc_free(bytes);
    return true;
}

/* Puts `count` bytes in place of input[at .. at + removed), as far as there is room. */
static void splice(struct input *input, size_t at, size_t removed, const uint8_t *bytes, size_t count) {
    if (input->length - removed + count > MAX_INPUT) return;
    memmove(input->bytes + at + count, input->bytes + at + removed, input->length - at - removed);
    if (count) memmove(input->bytes + at, bytes, count);
    input->length += count - removed;
}

static void mutate(struct input *input, const struct input *other, struct rng *rng) {
    static const char telling[] = "{}[]:,#&*!|>'\"%@`-?\n\t =.0159eEinfMGB~\\\xc3\xff\x01";
    uint8_t piece[64];
    size_t length = input->length, at = length ? rng_below(rng, (uint32_t)length) : 0;
    size_t span = rng_below(rng, 32) + 1;
    if (at + span > length) span = length - at;
    size_t from = other->length > sizeof piece ? rng_below(rng, (uint32_t)(other->length - sizeof piece)) : 0;
    size_t other_span = other->length < sizeof piece ? other->length : rng_below(rng, sizeof piece) + 1;
    switch (rng_below(rng, 6)) {
    case 0:
        splice(input, at, span, NULL, 0);
        break;
    case 1:
        memcpy(piece, input->bytes + at, span);
        splice(input, length ? rng_below(rng, (uint32_t)length) : 0, 0, piece, span);
        break;
    case 2:
        splice(input, at, span, other->bytes + from, other_span);
        break;
    case 3:
        piece[0] = (uint8_t)telling[rng_below(rng, sizeof telling - 1)];
        splice(input, at, 0, piece, 1);
        break;
    case 4:
        if (length) input->bytes[at] = (uint8_t)telling[rng_below(rng, sizeof telling - 1)];
        break;
    default:
        if (length) input->bytes[at] ^= (uint8_t)(1 << rng_below(rng, 8));
        break;
    }
}

/* The input at hand, for whoever looks into a crash. */
static void keep(const struct input *input) {
    FILE *file = fopen("fuzz-failure", "wb");
    if (!file) return;
    fwrite(input->bytes, 1, input->length, file);
    fclose(file);
}

static const struct input *at_hand;

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
static void keep_at_hand(void) {
    if (at_hand) keep(at_hand);
}
static void on_abort(int signal_number) {
    (void)signal_number;
    keep_at_hand();
    _Exit(1);
}

static void run(const struct input *input) {
    at_hand = input;
    LLVMFuzzerTestOneInput(input->bytes, input->length);
    at_hand = NULL;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int32_t mutations = (int32_t)strtol(argv[1], NULL, 10), files = argc - 2;
    struct input *inputs = alloc_zero((size_t)files, sizeof *inputs, "corpus", NULL);
    struct input *changed = alloc_zero(1, sizeof *changed, "an input", NULL);
    if (!inputs || !changed) return 1;
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_at_hand);
    for (int32_t i = 0; i < files; i++) {
        if (!read_input(argv[2 + i], &inputs[i])) return 2;
        run(&inputs[i]);
    }
    for (int32_t i = 0; i < files; i++)
        for (int32_t k = 0; k < mutations; k++) {
            struct rng rng = rng_stream(1, RNG_TEST, (uint32_t)k, (uint32_t)i);
            *changed = inputs[i];
            for (uint32_t n = rng_below(&rng, 4) + 1; n > 0; n--)
                mutate(changed, &inputs[rng_below(&rng, (uint32_t)files)], &rng);
            run(changed);
        }
    printf("%d files, %d mutations of each\n", files, mutations);
    alloc_free(changed);
    alloc_free(inputs);
    return 0;
}

/* A fuzz target reads bytes from anywhere and must neither crash, leak nor accept what it cannot print again.
 *
 * Targets have libFuzzer's entry point. With clang and -DTHINWIRE_FUZZ=ON they are fuzzers; otherwise
 * regression_main.c runs them over the stored corpus and over mutations of it with fixed seeds, in the ordinary suite.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A file in memory that holds the bytes: its name, good until the next call. The targets' readers take files. */
const char *fuzz_file(const uint8_t *bytes, size_t length);

/* Says what is wrong and aborts, which is how a target reports to libFuzzer. */
void fuzz_require(int true_here, const char *promise);

#endif

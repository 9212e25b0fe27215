#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const char *fuzz_file(const uint8_t *bytes, size_t length) {
    static char name[64];
    static int descriptor = -1;
    if (descriptor < 0) descriptor = memfd_create("fuzz", 0);
    fuzz_require(descriptor >= 0 && ftruncate(descriptor, 0) == 0, "a file in memory");
    fuzz_require(pwrite(descriptor, bytes, length, 0) == (ssize_t)length, "a file in memory");
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    return name;
}

void fuzz_require(int true_here, const char *promise) {
    if (true_here) return;
    fprintf(stderr, "broken promise: %s\n", promise);
    abort();
}

/* libfyaml 0.7.12 keeps a kilobyte for a key of many escaped quotes: its own affair, and small. Our own blocks are
 * counted by alloc_live_blocks(). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

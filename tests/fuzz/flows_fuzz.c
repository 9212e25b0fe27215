/* Files of transfers: there is a checked network with flows between its hosts, or one line that says why not. */
#include "fuzz.h"

#include "scenarios/scenarios.h"

#include "base/alloc.h"

#include <string.h>

static void check_flows(const struct flows_file *file) {
    struct error error;
    fuzz_require(network_check(&file->network, &error) == STATUS_OK, "the network is sound");
    for (int64_t i = 0; i < file->count; i++) {
        const struct flow_def *flow = &file->flows[i];
        fuzz_require(flow->source >= 0 && flow->source < file->network.host_count, "a flow comes from a host");
        fuzz_require(flow->destination >= 0 && flow->destination < file->network.host_count, "a flow goes to a host");
        fuzz_require(flow->bytes >= 0 && file->start_ns[i] >= 0 && file->names[i][0], "a flow has a name and a size");
    }
    for (int32_t i = 0; i < file->network.link_count; i++)
        for (int32_t k = 1; k < file->network.links[i].change_count; k++)
            fuzz_require(file->network.links[i].changes[k - 1].at_ns <= file->network.links[i].changes[k].at_ns,
                         "changes ascend");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct flows_file file;
    struct error error;
    int64_t blocks = alloc_live_blocks();
    if (flows_read(fuzz_file(bytes, length), &file, &error) == STATUS_OK) {
        check_flows(&file);
    } else {
        fuzz_require(error.status == STATUS_INPUT && error.message[0], "a refusal has a reason");
        fuzz_require(!strchr(error.message, '\n'), "a reason is one line");
    }
    flows_clear(&file);
    fuzz_require(alloc_live_blocks() == blocks, "no memory stays behind");
    return 0;
}

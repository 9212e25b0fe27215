/* Flows against exact ends: the cases of transfers.txt, and the shared folder's where it is at hand. */
#include "scn.h"

#include <dirent.h>

static struct network_event records[2 * SCN_FLOWS];

/* Finishes are written with at most twelve significant digits and ten decimals. */
static bool is_whole_ns(const char *text) {
    const char *point = strchr(text, '.');
    return !point || (strlen(point + 1) <= 9 && strlen(text) <= 12);
}

/* Half a unit of the last digit written, and the rounding up of the end itself (below 1 ns). */
static double tolerance_ns(const char *text) {
    if (is_whole_ns(text)) return 0;
    return 1 + 0.5e9 * pow(10, -(double)strlen(strchr(text, '.') + 1));
}

/* Where all ends are whole nanoseconds they have to be met. Where one is not, its rounding up delays by less than 1 ns
 * what shares its links afterwards; in these cases that adds up to 1.1 ns at most (measured). */
static double slack_ns(const struct scn *scn) {
    for (int32_t i = 0; i < scn->flow_count; i++)
        if (!is_whole_ns(scn->flows[i].expected_text)) return 2;
    return 0;
}

static int check_flow(const struct scn *scn, const struct scn_flow *flow, const struct network_event *end,
                      double slack) {
    double error_ns = fabs((double)end->time_ns - flow->finish_s * 1e9);
    int64_t sent = end->bytes + end->bytes_lost;
    bool right = error_ns <= tolerance_ns(flow->expected_text) + slack + 1e-3 && end->ok == flow->ok &&
                 end->tries == flow->tries && (!end->ok || end->bytes == flow->def.bytes) && sent >= end->bytes;
    if (!right)
        print_error("%s %s: ends at %" PRId64 " ns, %s, %d tries; expected %s s, %s, %d tries\n", scn->name, flow->name,
                    end->time_ns, end->ok ? "ok" : "cut", end->tries, flow->expected_text, flow->ok ? "ok" : "cut",
                    flow->tries);
    return !right;
}

/* Number of flows that end otherwise than expected. */
static int check_case(struct scn *scn) {
    struct network *network = create_network(scn_def(scn));
    int64_t ids[SCN_FLOWS];
    for (int32_t i = 0; i < scn->flow_count; i++)
        ids[i] = start_flow(network, scn->flows[i].start_ns, &scn->flows[i].def);
    int64_t count = play(network, records, COUNT(records));
    int faults = 0;
    for (int32_t i = 0; i < scn->flow_count; i++) {
        const struct network_event *end = NULL;
        for (int64_t k = 0; k < count; k++)
            if (records[k].kind == NETWORK_TRANSFER && records[k].id == ids[i]) end = &records[k];
        if (!end || !scn->flows[i].expected) fail_msg("%s %s: no end, or none expected", scn->name, scn->flows[i].name);
        faults += check_flow(scn, &scn->flows[i], end, slack_ns(scn));
    }
    network_free(network);
    return faults;
}

static void test_committed_cases(void **state) {
    (void)state;
    FILE *file = fopen(SOURCE_DIR "/tests/netmodel/transfers.txt", "r");
    assert_non_null(file);
    static struct scn scn;
    char line[512];
    int faults = 0, cases = 0;
    for (bool more = true; more;) {
        more = fgets(line, sizeof line, file) != NULL;
        if (more && strncmp(line, "case ", 5) != 0) {
            scn_take_line(&scn, line);
            continue;
        }
        if (scn.flow_count > 0) faults += check_case(&scn), cases++;
        memset(&scn, 0, sizeof scn);
        if (more) snprintf(scn.name, sizeof scn.name, "%.*s", (int)strcspn(line + 5, "\n"), line + 5);
    }
    fclose(file);
    assert_int_equal(cases, 52);
    assert_int_equal(faults, 0);
}

/* ---- the shared folder ---- */

static void read_shared(struct scn *scn, const char *folder, const char *name) {
    char path[512], line[512];
    memset(scn, 0, sizeof *scn);
    snprintf(scn->name, sizeof scn->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s.scn", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) scn_take_line(scn, line);
    fclose(file);
    snprintf(path, sizeof path, "%s/expected.csv", folder);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *rest = NULL, *fields[5] = {0};
        for (int i = 0; i < 5; i++) fields[i] = strtok_r(i == 0 ? line : NULL, ",\r\n", &rest);
        if (fields[4] && strcmp(fields[0], name) == 0) scn_expect(scn, fields[1], fields[2], fields[3], fields[4]);
    }
    fclose(file);
}

static void test_shared_cases(void **state) {
    (void)state;
    static const char folder[] = SHARED_DIR "/reference/flows";
    DIR *directory = opendir(folder);
    if (!directory) skip();
    static struct scn scn;
    int faults = 0, cases = 0;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".scn") != 0) continue;
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(dot - entry->d_name), entry->d_name);
        read_shared(&scn, folder, name);
        faults += check_case(&scn);
        cases++;
    }
    closedir(directory);
    assert_true(cases >= 38);
    assert_int_equal(faults, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_committed_cases),
        cmocka_unit_test(test_shared_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

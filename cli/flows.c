/* thinwire flows FILE: explicit transfers over a network, one CSV line each. */
#include "cli.h"

#include "base/alloc.h"
#include "scenarios/scenarios.h"

#include <argp.h>
#include <string.h>

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    const char **path = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*path) argp_error(state, "one file at a time");
        *path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a file of transfers is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {NULL,
                                   parse_option,
                                   "FILE",
                                   "Plays the transfers of a YAML file over its network and prints "
                                   "name,start_s,end_s,outcome,tries in the order of the file. A transfer that is "
                                   "stalled for good or fails has outcome 'failed'.",
                                   NULL,
                                   NULL,
                                   NULL};

/* Seconds with nine decimals, exactly. */
static void print_seconds(int64_t ns) {
    printf("%lld.%09lld", (long long)(ns / 1000000000), (long long)(ns % 1000000000));
}

/* RFC 4180: quoted when it must be. */
static void print_csv_text(const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_records(const struct flows_file *file, const struct flow_record *records) {
    puts("name,start_s,end_s,outcome,tries");
    for (int64_t i = 0; i < file->count; i++) {
        print_csv_text(file->names[i]);
        putchar(',');
        print_seconds(records[i].start_ns);
        putchar(',');
        if (records[i].end_ns == TIME_NEVER)
            fputs("inf", stdout);
        else
            print_seconds(records[i].end_ns);
        printf(",%s,%d\n", records[i].ok ? "ok" : "failed", records[i].tries);
    }
}

int command_flows(int argc, char **argv) {
    const char *path = NULL;
    struct error error = {0};
    struct flows_file file;
    if (argp_parse(&parser, argc, argv, 0, NULL, &path) != 0) return 2;
    if (flows_read(path, &file, &error) != STATUS_OK) return report_error(&error);
    struct flow_record *records = alloc_zero((size_t)file.count, sizeof *records, "flow records", &error);
    enum status status =
        records ? sim_play_flows(&file.network, file.flows, file.start_ns, file.count, records, &error) : STATUS_MEMORY;
    if (status == STATUS_OK) print_records(&file, records);
    alloc_free(records);
    flows_clear(&file);
    return status == STATUS_OK ? 0 : report_error(&error);
}

/* thinwire list [WHAT...]: what there is to choose from, each list printed from the table that the readers use. */
#include "cli.h"

#include "build_info.h"

#include "base/text.h"
#include "base/units.h"
#include "scenarios/scenarios.h"

#include <argp.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void list_strategies(void) {
    char op[96];
    for (int32_t i = 0; i < strategy_count(); i++) {
        struct strategy_def def = strategy_default();
        struct error ignored;
        printf("  %-24s%s\n", strategy_name(i), strategy_help(i));
        if (strategy_find(strategy_name(i), &def, &ignored) != STATUS_OK) continue;
        printf("  %-24s", "");
        for (int32_t o = 0; o < def.program.count; o++)
            printf("%s%s", o ? " | " : "", op_print(&def.program.ops[o], op, sizeof op));
        putchar('\n');
    }
}

static void list_collectives(void) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++)
        printf("  %-24s%s\n", collective_name((enum collective_kind)i), collective_help((enum collective_kind)i));
}

static void list_optimizers(void) {
    for (int32_t i = 0; i < optimizer_count(); i++) printf("  %-24s%s\n", optimizer_name(i), optimizer_help(i));
}

static void list_presets(void) {
    for (int32_t i = 0; llama_preset_name(i); i++) {
        struct llama_def def;
        if (!llama_preset(llama_preset_name(i), &def)) continue;
        printf("  %-24s%lld parameters: %d layers, %d wide, %d heads (%d key-value), FFN %d, vocabulary %d, context "
               "%d%s\n",
               llama_preset_name(i), (long long)llama_count_parameters(&def), def.layers, def.dim, def.heads,
               def.kv_heads, def.ffn, def.vocab, def.context, def.tied ? ", tied head" : "");
    }
}

/* The scenarios of the source tree when it is there, else the installed ones. */
static const char *scenario_directory(void) {
    static const char source[] = BUILD_SOURCE_DIRECTORY "/scenarios";
    return access(source, R_OK) == 0 ? source : BUILD_SCENARIO_DIRECTORY;
}

static int is_yaml(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static void list_scenarios(void) {
    struct dirent **entries;
    int count = scandir(scenario_directory(), &entries, is_yaml, alphasort);
    for (int i = 0; i < count; i++) {
        char path[1024];
        struct error error = {0};
        snprintf(path, sizeof path, "%s/%s", scenario_directory(), entries[i]->d_name);
        struct scenario *scenario = scenario_read(path, NULL, 0, 0, &error);
        if (scenario)
            printf("  %-24s%lld runs, %s\n", scenario_name(scenario), (long long)scenario_cell_count(scenario), path);
        else
            printf("  %-24s%s\n", entries[i]->d_name, error.message);
        scenario_free(scenario);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

static void list_backends(void) {
    for (int32_t i = 0; i < backend_count(); i++) {
        char why[200] = "";
        bool works = backend_probe(backend_at(i), why, sizeof why);
        printf("  %-24s%s: %s (%s)\n", backend_name(backend_at(i)), works ? "found" : "not here", why,
               backend_help(backend_at(i)));
    }
}

static void list_keys(void) {
    struct text reference = {0};
    if (scenario_print_reference(&reference) == STATUS_OK) fputs(text_get(&reference), stdout);
    text_clear(&reference);
}

static const struct {
    const char *name;
    void (*print)(void);
    bool by_default;
} lists[] = {{"strategies", list_strategies, true},
             {"collectives", list_collectives, true},
             {"optimizers", list_optimizers, true},
             {"presets", list_presets, true},
             {"scenarios", list_scenarios, true},
             {"backends", list_backends, true},
             {"keys", list_keys, false}};
enum { LISTS = sizeof lists / sizeof lists[0] };

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    bool *chosen = state->input;
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    const char *names[LISTS];
    for (int i = 0; i < LISTS; i++) {
        names[i] = lists[i].name;
        if (strcmp(argument, names[i]) == 0) {
            chosen[i] = true;
            return 0;
        }
    }
    const char *nearest = text_nearest(argument, names, LISTS);
    argp_error(state, "no list of '%s'; %s'%s'", argument,
               nearest ? "did you mean " : "there are strategies, ..., see ",
               nearest ? nearest : "thinwire list --help");
    return EINVAL;
}

static const struct argp parser = {
    NULL,
    parse_option,
    "[WHAT...]",
    "Lists strategies, collectives, optimizers, presets, scenarios, backends (the default: "
    "all of these) or keys (every scenario key, as Markdown).",
    NULL,
    NULL,
    NULL};

int command_list(int argc, char **argv) {
    bool chosen[LISTS] = {false};
    if (argp_parse(&parser, argc, argv, 0, NULL, chosen) != 0) return 2;
    bool any = false;
    for (int i = 0; i < LISTS; i++) any |= chosen[i];
    int shown = 0;
    for (int i = 0; i < LISTS; i++) {
        if (any ? !chosen[i] : !lists[i].by_default) continue;
        if (!any) printf("%s%s\n", shown++ ? "\n" : "", lists[i].name);
        lists[i].print();
    }
    return 0;
}

/* Picks the command. Each command parses its own options (argp) and has its own --help. */
#include "cli.h"

#include "base/alloc.h"
#include "base/text.h"

#include <argp.h>
#include <string.h>

struct command {
    const char *name;
    const char *arguments;
    const char *help;
    int (*play)(int argc, char **argv);
};

static const struct command commands[] = {
#define COMMAND(name, arguments, help) {#name, arguments, help, command_##name},
#include "commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *stream) {
    fputs("thinwire plays how language models are trained over slow links: a network in virtual time,\n"
          "real training steps, results in SQLite.\n\nUsage: thinwire COMMAND [OPTION...]\n\n",
          stream);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(stream, "  thinwire %-9s%-14s%s\n", commands[i].name, commands[i].arguments, commands[i].help);
    fputs("\nEach command has --help. Start with: thinwire run scenarios/quickstart.yaml\n", stream);
}

static int unknown_command(const char *word) {
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
    const char *nearest = text_nearest(word, names, COMMANDS);
    if (nearest) return usage_error("unknown command '%s'; did you mean '%s'?", word, nearest);
    return usage_error("unknown command '%s'; 'thinwire --help' lists them", word);
}

int main(int argc, char **argv) {
    argp_err_exit_status = 2;
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return finish_output(0);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("thinwire %s\n", build_description());
        return finish_output(0);
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(word, commands[i].name) != 0) continue;
        char name[64];
        snprintf(name, sizeof name, "thinwire %s", word);
        argv[1] = name;
        return finish_output(commands[i].play(argc - 1, argv + 1));
    }
    return unknown_command(word);
}

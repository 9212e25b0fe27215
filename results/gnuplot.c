#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { COMPLAINT_SIZE = 300 };

/* The child reads nothing, its stdout goes nowhere and its stderr into the pipe. */
static int start(const char *directory, char *const arguments[], int complaints, pid_t *child) {
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    if (code == 0) code = posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (code == 0) code = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Reads to the end, so that the child never waits, and keeps the end. */
static void collect(int descriptor, char *text, size_t size) {
    char chunk[512];
    size_t length = 0;
    for (;;) {
        ssize_t count = read(descriptor, chunk, sizeof chunk);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        for (ssize_t i = 0; i < count; i++) {
            if (length == size - 1) {
                memmove(text, text + size / 2, length - size / 2);
                length -= size / 2;
            }
            text[length++] = chunk[i];
        }
    }
    text[length] = '\0';
}

/* gnuplot shows the faulty line, a caret and then the reason: the last line that is not empty says it best. */
static const char *last_line(char *text) {
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) text[--length] = '\0';
    const char *newline = strrchr(text, '\n');
    const char *line = newline ? newline + 1 : text;
    while (*line == ' ') line++;
    return line;
}

static bool wait_for(pid_t child, int *state) {
    while (waitpid(child, state, 0) < 0)
        if (errno != EINTR) return false;
    return true;
}

enum status gnuplot_run(const char *directory, const char *script, const char *definitions, struct error *error) {
    char *arguments[] = {"gnuplot", "-d", "-e", (char *)definitions, (char *)script, NULL};
    char complaint[COMPLAINT_SIZE];
    int ends[2], state = 0;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0) return error_set(error, STATUS_IO, "cannot start gnuplot: %s", strerror(errno));
    int code = start(directory, arguments, ends[1], &child);
    close(ends[1]);
    if (code != 0) {
        close(ends[0]);
        return error_set(error, STATUS_UNSUPPORTED,
                         "%s; on Debian: apt-get install gnuplot-nox; the script with its data is '%s/%s'",
                         code == ENOENT ? "gnuplot is not installed" : strerror(code), directory, script);
    }
    collect(ends[0], complaint, sizeof complaint);
    close(ends[0]);
    if (wait_for(child, &state) && WIFEXITED(state) && WEXITSTATUS(state) == 0) return STATUS_OK;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
        return error_set(
            error, STATUS_UNSUPPORTED,
            "gnuplot cannot be executed; on Debian: apt-get install gnuplot-nox; the script with its data is '%s/%s'",
            directory, script);
    const char *reason = last_line(complaint);
    return error_set(error, STATUS_UNSUPPORTED, "gnuplot failed on '%s/%s': %s", directory, script,
                     reason[0] ? reason : "no reason given");
}

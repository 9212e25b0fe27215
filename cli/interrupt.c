/* Ctrl-C once: the round in progress is finished and stored. Twice: out at once; SQLite's journal keeps the database
 * whole, as after a kill. */
#include "cli.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t received;

static void on_signal(int number) {
    static const char message[] = "\nthinwire: finishing this round; once more to leave at once\n";
    if (received) _exit(128 + number);
    received = number;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) return;
}

void interrupt_install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int interrupt_signal(void) {
    return received;
}

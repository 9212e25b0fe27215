/* What a trainer's def demands and costs, shared by trainer_def.c (before) and trainer.c (while) training. */
#ifndef TRAINER_DEF_H
#define TRAINER_DEF_H

#include "optim.h"

enum { WORKERS_MAX = 4096 }; /* of a training run: fixed arrays of the metrics */

/* Which registers the program makes a worker hold. */
bool program_needs_start(const struct program *program);
bool program_needs_gradient(const struct program *program);
bool trainer_needs_velocity(const struct trainer_def *def);

#endif

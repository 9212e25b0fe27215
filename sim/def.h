/* What sim/ derives from a sim_def, beyond the door. */
#ifndef SIM_DEF_H
#define SIM_DEF_H

#include "sim/sim.h"

/* sim_payload_bytes with its reasons: STATUS_MEMORY, or STATUS_INPUT for a subset that names no block. */
NODISCARD enum status payload_measure(const struct sim_def *def, bool subset, int64_t *bytes, struct error *error);
/* Inner steps per worker of the whole run. */
int64_t def_steps(const struct sim_def *def);

#endif

/* What one exchange costs on a network with nothing else in it: measured once by playing it, then known.
 *
 * Links of a cluster never change, so an exchange that has the network to itself always takes the same time; the
 * timeline takes it from here instead of playing it again. Where exchanges may overlap, the timeline plays them and
 * takes from here only when a failed attempt is noticed and how many bytes had left by then.
 * Memory: O(members), and the messages where asked for.
 */
#ifndef SIM_COST_H
#define SIM_COST_H

#include "def.h"

struct message {
    int32_t source, destination; /* members */
    int64_t bytes;
    int64_t start_ns, end_ns; /* after the exchange's start */
};
struct cost {
    int32_t members;          /* all workers, or 2 */
    int64_t bytes;            /* what one member holds */
    int64_t duration_ns;      /* until the last member is done */
    int64_t notice_ns;        /* when a failed attempt is noticed: detect * duration, rounded to the nearest */
    int64_t *done_ns;         /* [members] */
    int64_t *sent;            /* [members] bytes */
    int64_t *lost;            /* [members] bytes that had left at notice_ns, a message's evenly over its time */
    struct message *messages; /* by end; NULL unless kept */
    int64_t message_count;
};

/* A network of the cluster's first `hosts` workers. */
NODISCARD struct network *cluster_network(const struct cluster_def *cluster, int32_t hosts, struct error *error);
/* Starts an exchange of `bytes` among members (hosts of `network`); pairs exchange directly, all by the cluster's
 * collective. */
NODISCARD enum status exchange_start(struct network *network, const struct cluster_def *cluster, enum mix_group group,
                                     int64_t bytes, const int32_t *members, int32_t member_count, int64_t now_ns,
                                     int64_t *id, struct error *error);
/* Measures one. STATUS_INPUT when it takes longer than virtual time can express. */
NODISCARD enum status cost_measure(const struct cluster_def *cluster, enum mix_group group, int64_t bytes,
                                   bool keep_messages, struct cost *cost, struct error *error);
void cost_clear(struct cost *cost);
/* Bytes of a message that have left `elapsed` after the exchange's start. */
int64_t message_moved(const struct message *message, int64_t elapsed_ns);

#endif

#include "deal.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>

enum { GROUPS = DEAL_MOST_GROUPS, ROUNDS = 200 };

struct groups {
    int32_t count;
    int64_t size[GROUPS];
};

/* What worker m wishes for: a Dirichlet draw, no entry below 1e-9 of the largest, so that scaling can always succeed.
 * Gamma draws of a small shape can all be 0 in double precision; the limit of such draws is one group alone. */
static void wish(double wishes[GROUPS], int32_t groups, double alpha, uint64_t seed, int32_t worker) {
    struct rng rng = rng_stream(seed, RNG_DATA_SPLIT, 0, (uint32_t)worker);
    double largest = 0;
    for (int32_t g = 0; g < groups; g++) {
        wishes[g] = rng_gamma(&rng, alpha);
        if (wishes[g] > largest) largest = wishes[g];
    }
    if (largest == 0) wishes[rng_below(&rng, (uint32_t)groups)] = largest = 1;
    for (int32_t g = 0; g < groups; g++) wishes[g] = fmax(wishes[g] / largest, 1e-9);
}

static void scale_workers(double (*wishes)[GROUPS], int32_t workers, const struct groups *groups, double each) {
    for (int32_t m = 0; m < workers; m++) {
        double sum = 0;
        for (int32_t g = 0; g < groups->count; g++) sum += groups->size[g] > 0 ? wishes[m][g] : 0;
        for (int32_t g = 0; g < groups->count; g++) wishes[m][g] *= each / sum;
    }
}

static void scale_groups(double (*wishes)[GROUPS], int32_t workers, const struct groups *groups) {
    for (int32_t g = 0; g < groups->count; g++) {
        double sum = 0;
        for (int32_t m = 0; m < workers; m++) sum += wishes[m][g];
        for (int32_t m = 0; m < workers && groups->size[g] > 0; m++) wishes[m][g] *= (double)groups->size[g] / sum;
    }
}

/* Worker m takes of each group what lies between the running sums before and after it. */
static void hand_out(struct deal *deal, double (*wishes)[GROUPS], int32_t workers, const struct groups *groups,
                     const int64_t *by_group) {
    double before[GROUPS] = {0};
    int64_t taken[GROUPS] = {0}, next = 0;
    for (int32_t m = 0; m < workers; m++) {
        const int64_t *members = by_group;
        deal->first[m] = next;
        for (int32_t g = 0; g < groups->count; g++) {
            before[g] += wishes[m][g];
            int64_t size = groups->size[g], end = m + 1 == workers ? size : (int64_t)llround(before[g]);
            while (taken[g] < end && taken[g] < size) deal->order[next++] = members[taken[g]++];
            members += size;
        }
    }
    deal->first[workers] = next;
}

/* The windows of group 0, of group 1, ..., each in order. */
static void sort_by_group(const uint8_t *group, int64_t count, struct groups *groups, int64_t *by_group) {
    int64_t next[GROUPS] = {0};
    for (int64_t i = 0; i < count; i++) groups->size[group[i]]++;
    for (int32_t g = 1; g < groups->count; g++) next[g] = next[g - 1] + groups->size[g - 1];
    for (int64_t i = 0; i < count; i++) by_group[next[group[i]]++] = i;
}

static enum status check_none_starves(const struct deal *deal, int32_t workers, double alpha, struct error *error) {
    for (int32_t m = 0; m < workers; m++)
        if (deal->first[m] == deal->first[m + 1])
            return error_set(error, STATUS_INPUT,
                             "data.non_iid %g leaves worker %d without a window; more text or fewer workers are needed",
                             alpha, m);
    return STATUS_OK;
}

enum status deal_out(struct deal *deal, const uint8_t *group, int32_t group_count, int64_t count, int32_t workers,
                     double alpha, uint64_t seed, struct error *error) {
    struct groups groups = {.count = group_count};
    double(*wishes)[GROUPS] = alloc_zero((size_t)workers, sizeof *wishes, "data shares", error);
    int64_t *by_group = wishes ? alloc_zero((size_t)count, sizeof *by_group, "data shares", error) : NULL;
    if (by_group) deal->order = alloc_zero((size_t)count, sizeof *deal->order, "data shares", error);
    if (deal->order) deal->first = alloc_zero((size_t)workers + 1, sizeof *deal->first, "data shares", error);
    if (deal->first) {
        sort_by_group(group, count, &groups, by_group);
        for (int32_t m = 0; m < workers; m++) wish(wishes[m], group_count, alpha, seed, m);
        for (int round = 0; round < ROUNDS; round++) {
            scale_workers(wishes, workers, &groups, (double)count / workers);
            scale_groups(wishes, workers, &groups);
        }
        hand_out(deal, wishes, workers, &groups, by_group);
    }
    alloc_free(by_group);
    alloc_free(wishes);
    return deal->first ? check_none_starves(deal, workers, alpha, error) : STATUS_MEMORY;
}

void deal_clear(struct deal *deal) {
    alloc_free(deal->order);
    alloc_free(deal->first);
    *deal = (struct deal){0};
}

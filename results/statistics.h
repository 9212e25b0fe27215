/* Means over seeds and how far to trust them. */
#ifndef RESULTS_STATISTICS_H
#define RESULTS_STATISTICS_H

#include <stdint.h>

struct estimate {
    int32_t count;     /* finite values */
    double mean;       /* NAN without any */
    double half_width; /* of the 95 % confidence interval of the mean (Student's t); NAN for fewer than two values */
};

/* Of the finite ones among values[count]. */
struct estimate estimate_mean(const double *values, int64_t count);

#endif

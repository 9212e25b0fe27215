#include "statistics.h"

#include <math.h>

/* Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom. */
static const double student[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                 2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                 2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
enum { STUDENT_ROWS = sizeof student / sizeof student[0] };

/* Beyond the table the normal quantile with its first correction, 1.96 + 2.37 / n, is within 0.003. */
static double quantile(int32_t freedom) {
    return freedom <= STUDENT_ROWS ? student[freedom - 1] : 1.96 + 2.37 / freedom;
}

struct estimate estimate_mean(const double *values, int64_t count) {
    struct estimate estimate = {.mean = NAN, .half_width = NAN};
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i])) sum += values[i], estimate.count++;
    if (estimate.count == 0) return estimate;
    estimate.mean = sum / estimate.count;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i])) squares += (values[i] - estimate.mean) * (values[i] - estimate.mean);
    if (estimate.count > 1)
        estimate.half_width = quantile(estimate.count - 1) * sqrt(squares / (estimate.count - 1) / estimate.count);
    return estimate;
}

/* The forward pass as one would first write it with GMP: an mpq_t a number, three nested loops. It
 * is the yardstick of what exactness costs without any care, and a second opinion on the pieces. */
#ifndef CLARKE_BENCH_NAIVE_H
#define CLARKE_BENCH_NAIVE_H

#include "network/replay/replay.h"

/* Runs samples 0..samples-1 one by one. *differing counts the entries whose piece is another than
 * the replay's, of *compared. Fully connected networks of ReLU-like steps only: CLARKE_EINPUT for
 * others. */
clarke_status bench_naive(size_t *differing, size_t *compared, const clarke_replay *replay,
                          size_t samples, clarke_error *err);

#endif

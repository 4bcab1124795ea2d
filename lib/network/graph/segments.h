/* Segments of a value's rows: those that a Concat took from one value each. Their errors may differ much in size
 * (docs/filter.md, "Segments"). */
#ifndef CLARKE_NETWORK_GRAPH_SEGMENTS_H
#define CLARKE_NETWORK_GRAPH_SEGMENTS_H

#include "network/graph/graph.h"

/* Segment k holds the rows from end[k - 1], or 0, to end[k]. */
typedef struct {
  size_t n, *end; /* 0, NULL: there are none */
} clarke_segments;

/* of[v], n_values, all none before: of the needed values behind Concats, as far as steps work at each segment by itself. */
clarke_status clarke_segments_find(clarke_segments *of, const clarke_graph *g, const bool *needed, clarke_error *err);
void clarke_segments_free(clarke_segments *of, const clarke_graph *g);

/* The segment of row r. */
size_t clarke_segment_of(const clarke_segments *s, size_t r);

/* Does the SUM move rows of several activations, of which each of its segments is from one? */
bool clarke_segments_join(const clarke_graph *g, const clarke_step *s);
/* The operand that segment k of such a SUM's output is from, and which of that value's segments, if it has some. */
size_t clarke_segment_source(const clarke_segments *of, const clarke_step *s, size_t k, size_t *segment);

#endif

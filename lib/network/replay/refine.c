/* Between filter and exact pass: open places in rounded enclosures, group by group of samples. */
#include "network/replay/replay_inside.h"

#include "base/stop.h"

#include <stdlib.h>

/* Bits of the enclosures between filter and exact pass: a word an entry, then three. */
#define REFINE_FIRST 63
#define REFINE_LAST 191
/* Samples at a time: first a few. */
#define REFINE_BEGIN 16
#define REFINE_GROUP 32

/* Open places of a group in enclosures of that many bits. *worth: half of them are decided. */
static clarke_status
refine_group(bool *worth, clarke_replay *r, const size_t *sample, size_t n, size_t bits,
             clarke_error *err)
{
  clarke_open_group group;
  clarke_matrix input;
  clarke_status status = clarke_open_group_take(&group, r, sample, n, err);

  clarke_matrix_init(&input);
  if (status == CLARKE_OK)
    status = clarke_samples_matrix(&input, r->x, sample, n, err);
  if (status == CLARKE_OK)
    status = clarke_forward_refine(group.piece, group.ties, group.margin, &r->constants, &input, &group.x, bits, err);
  if (status == CLARKE_OK)
    *worth = clarke_open_group_give(&group, r) <= group.open / 2;
  clarke_open_group_clear(&group, r);
  clarke_matrix_clear(&input);
  return status;
}

clarke_status
clarke_replay_refine(clarke_replay *r, size_t *left, clarke_error *err)
{
  static const size_t bits[] = {REFINE_FIRST, REFINE_LAST};
  size_t *sample = NULL, n;
  bool worth = true;
  clarke_status status = clarke_samples_open(&sample, &n, r, err);

  clarke_work_begin("replay in enclosures", 0);
  for (size_t k = 0; k < sizeof bits / sizeof *bits && n > 0 && worth && status == CLARKE_OK; k++) {
    for (size_t first = 0, size; first < n && worth && status == CLARKE_OK; first += size) {
      size = clarke_graph_couples(r->g) ? n : first == 0 ? REFINE_BEGIN : REFINE_GROUP;
      if (size > n - first)
        size = n - first;
      status = refine_group(&worth, r, sample + first, size, bits[k], err);
    }
    free(sample);
    sample = NULL;
    if (status == CLARKE_OK)
      status = clarke_samples_open(&sample, &n, r, err);
  }
  free(sample);
  *left = n;
  return status;
}

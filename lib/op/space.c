/* DepthToSpace: channels become squares of space; SpaceToDepth: squares become channels. */
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* The place of entry f of the output, of `out`, in the input, of `in`: both have samples, channels, rows and columns. */
static size_t
place_of(size_t f, const size_t *out, const size_t *in, size_t block, bool deep, bool by_column)
{
  const size_t w = f % out[3], h = f / out[3] % out[2], c = f / out[3] / out[2] % out[1], n = f / out[3] / out[2] / out[1];
  const size_t part = deep ? c / in[1] : h % block * block + w % block; /* of a square */
  const size_t channel = deep ? c % in[1] : by_column ? c * block * block + part : part * out[1] + c;
  const size_t row = deep ? h * block + part / block : h / block, column = deep ? w * block + part % block : w / block;

  return ((n * in[1] + channel) * in[2] + row) * in[3] + column;
}

static clarke_status
lower_space(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *mode = clarke_model_attr(low->node, "mode");
  const int64_t given = clarke_lower_int(low, "blocksize", 0);
  const bool deep = low->node->op_type[0] == 'S', by_column = mode != NULL && strcmp(mode->s, "CRD") == 0;
  size_t in[CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE], *map, rank, count, block = (size_t)given;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  status = clarke_axes_rows(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  if (mode != NULL && !by_column && strcmp(mode->s, "DCR") != 0)
    return clarke_lower_fail(low, err, "mode is '%s'; expected DCR or CRD", mode->s);
  if (clarke_axes_whole(low, 0, in) != 4)
    return clarke_lower_fail(low, err, "expected an input of four axes");
  if (given < 1 || (deep ? in[2] % block != 0 || in[3] % block != 0 : block > in[1] || in[1] % (block * block) != 0))
    return clarke_lower_fail(low, err, "blocks of %lld do not divide a shape of %zu channels, %zu rows and %zu columns",
                             (long long)given, in[1], in[2], in[3]);
  rank = clarke_lower_value(low, 0)->rank;
  count = clarke_lower_value(low, 0)->count;
  out[0] = in[0];
  out[1] = deep ? in[1] * block * block : in[1] / (block * block);
  out[2] = deep ? in[2] / block : in[2] * block;
  out[3] = deep ? in[3] / block : in[3] * block;
  map = malloc((count + 1) * sizeof *map);
  if (map == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t f = 0; f < count; f++)
    map[f] = place_of(f, out, in, block, deep, by_column);
  return clarke_lower_rearranged(low, rank, out + 4 - rank, map, err);
}

const clarke_op clarke_ops_space[] = {
  {.name = "DepthToSpace", .forms = {{7, 1, 1, 1, "blocksize:i"}, {11, 1, 1, 1, "blocksize:i mode:s"}}, .lower = lower_space, .batch = CLARKE_BATCH_KEPT},
  {.name = "SpaceToDepth", .forms = {{7, 1, 1, 1, "blocksize:i"}}, .lower = lower_space, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};

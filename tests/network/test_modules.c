/* The room's modules, each by itself. */
#include "../suites.h"

MODULE(batches);
MODULE(gradient_pass);
MODULE(filter_single);
MODULE(filter_steps);
MODULE(gradient_products);
MODULE(pairs);
MODULE(passes);
MODULE(replay_parts);
MODULE(rows);
MODULE(seed);
MODULE(slice_digits);
MODULE(slice_moments);
MODULE(slice_products);
MODULE(slice_steps);
MODULE(unroll_parts);
MODULE(values);

int
main(void)
{
  RUN(batches_suite, gradient_pass_suite, filter_single_suite, filter_steps_suite, gradient_products_suite, pairs_suite, passes_suite,
      replay_parts_suite, rows_suite, seed_suite, slice_digits_suite, slice_moments_suite, slice_products_suite, slice_steps_suite,
      unroll_parts_suite, values_suite);
}

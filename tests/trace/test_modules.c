/* What certification is made of, module by module. */
#include "../suites.h"

MODULE(bounds);
MODULE(branches);
MODULE(constants);
MODULE(folders);
MODULE(follow);
MODULE(operands);
MODULE(rounding_parts);
MODULE(sieve_parts);
MODULE(sieve_wide);
MODULE(stages);
MODULE(statistics);

int
main(void)
{
  RUN(bounds_suite, branches_suite, constants_suite, folders_suite, follow_suite, operands_suite, rounding_parts_suite, sieve_parts_suite, sieve_wide_suite, stages_suite, statistics_suite);
}

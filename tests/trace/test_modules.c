/* What certification is made of, module by module. */
#include "../suites.h"

MODULE(folders);
MODULE(rounding_parts);
MODULE(sieve_parts);
MODULE(stages);

int
main(void)
{
  RUN(folders_suite, rounding_parts_suite, sieve_parts_suite, stages_suite);
}

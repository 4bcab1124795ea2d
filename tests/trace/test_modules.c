/* What certification is made of, module by module. */
#include "../suites.h"

MODULE(folders);
MODULE(sieve_parts);
MODULE(stages);

int
main(void)
{
  RUN(folders_suite, sieve_parts_suite, stages_suite);
}

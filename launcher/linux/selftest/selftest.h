/* `sbx-launch --selftest`: tries to get out, on the user's own host. */
#pragma once

struct lau_options;

/* Every probe first bare, which must succeed (the positive control), then under ourselves with the
 * options of this command line, which must refuse it and leave the outside as it was. Prints a
 * table or JSON. 0: all held; 1: one got through; 125: something could not be tested.
 * With words (`outside DIR`, `PROBE DIR`) it is one of the processes of such a test. */
int lau_selftest(int argc, char **argv, const struct lau_options *);

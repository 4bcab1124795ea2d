"""Do both checkers agree about every stored proof?

    python3 tests/verified/stored.py CLARKE-CHECK CLARKE-CHECK-VERIFIED

What clarke-check verifies, the proved kernel verifies as well, or it says why the proof is outside of its reach; and
nothing else. The reasons are counted. At least LEAST proofs are in its reach; of LIPSCHITZ of them it proves as well that F is
Lipschitz near the point.
"""

import argparse
import collections
import sys

import proofs

LEAST = 285
LIPSCHITZ = 240


def main():
    """Asks both; a disagreement fails."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("check")
    arguments.add_argument("verified")
    asked = arguments.parse_args()
    counts, failed, verified, lipschitz = collections.Counter(), [], 0, 0
    for proof, folder in proofs.stored():
        text = proof.read_bytes()
        if proofs.about(text) != "program":
            counts[f"a proof about a {proofs.about(text)}"] += 1
            continue
        word, line, last = proofs.says(asked.verified, proof, folder)
        theirs, _, _ = proofs.says(asked.check, proof, folder)
        if word == "OUTSIDE":
            counts[line.removeprefix("OUTSIDE: ")] += 1
        elif (word == "VERIFIED") != (theirs == "VERIFIED"):
            failed.append(f"{proof.relative_to(proofs.ROOT)}: clarke-check says {theirs}, the proved kernel '{line}'")
        elif word == "VERIFIED":
            verified += 1
            lipschitz += last == "F is Lipschitz near w."
        else:
            counts["refused by both"] += 1
    for reason, n in sorted(counts.items()):
        print(f"{n:5}  {reason}")
    print(f"{verified:5}  verified by both\n{lipschitz:5}  of them with the proof that F is Lipschitz")
    if verified < LEAST or lipschitz < LIPSCHITZ:
        failed.append(f"at least {LEAST} proofs are in reach, {LIPSCHITZ} with the proof that F is Lipschitz")
    print("\n".join(failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

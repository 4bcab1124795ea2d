"""What people read first has no word of geometry."""
import re

OF_THE_FIELD = re.compile(r"\b(clarke|bouligand|subdifferential|convex|hull|cell|limit|rank|system|theorem|lemma|lambda|polyhedr\w*|cone|gordan|N-1|P_l|vector|pattern|"
                          r"simplex|separator|separates?|hyperplane|half-?space|facet|vertex|vertices|conservative|lipschitz|jacobian|adjoint|affine|realized?|stratum|strata|omega)s?\b", re.I)
COMMANDS = re.compile(r"\(.*?\)|clarke (audit|certify|derive|explain|merge|step list)\b|clarke\.record\b|clarke-check|reports? of\b|the limit of (regions|work|nodes)\b")


def word_of_the_field(line):
    """The first one outside of brackets and names of commands; None: there is none."""
    found = OF_THE_FIELD.search(COMMANDS.sub("", line))
    return found and found[0]

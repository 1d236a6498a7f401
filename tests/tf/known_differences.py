"""Where generated cases differ from TensorFlow on purpose, and why: (op, kind of difference, words in it) -> reason.

Kinds: "values", "code" (both refuse, with other codes), "ours refuses", "ours accepts". "*" is any op or kind. The first row
that fits is told. What a seed's own test says (OpCase::unlike_tensorflow) does not count here.
"""

ROWS = []


def reason(op, kind, text):
    for ops, kinds, words, why in ROWS:
        if (ops == "*" or op in ops.split()) and (kinds == "*" or kind in kinds.split(",")) and words in text:
            return why
    return None

"""Files and corpora: many records in, as many out, in order, none lost and none twice.

One idea carries the package: **a block's result depends on the block alone.** A block is a run of
consecutive records cut from the input at places that only the input decides; what is decoded once,
what is sorted by length and what is compressed together never crosses its borders. So it does not
matter which process works on a block, in what order blocks finish, whether one is worked on twice,
or where a run was killed: the output is the same, byte for byte.
"""

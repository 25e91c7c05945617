"""Files and corpora: many records in, as many out, in order, none lost and none twice.

One idea carries the package: **a block's result depends on the block alone.** A block is a run of
consecutive records, cut from the input at places that only the input decides. Finding duplicates,
sorting by length and compressing never cross the borders of a block. So it does not matter which
process works on a block, in what order blocks finish, whether a block is done twice, or where a
run was killed: the output is the same, byte for byte.
"""

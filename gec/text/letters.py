"""What spaCy's tokenizer holds letters and signs for, as far as they are not ASCII.

The classes are those of spaCy 3.8 (lang/char_classes.py; its licence is in gec/text/stop_words.py).
They are not Unicode's: a letter of a script without capitals counts as small and as a capital, and
letters of scripts that spaCy does not list count as nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

# Runs of code points: the first in hexadecimal, and the class of all until the next run. Small
# letters are l, capitals u, letters that are both n, that are neither t, signs i, signs that are
# both letters j, others -. Of x the even ones are capitals and the odd ones small, of y vice versa.
_RUNS = """
    85- a6i a7- a9i aa- aei af- b0i b1- c0u d7- d8u dfl f7- f8l 100x 138y 149x 179y 17fl 181u
    183x 187y 18au 18cl 18eu 192l 193u 195l 196u 199l 19cu 19el 19fu 1a1x 1a7y 1abx 1afy 1b2u
    1b4y 1b8u 1b9l 1bbt 1bcu 1bdl 1c0- 1c4u 1c5t 1c6l 1c7u 1c8t 1c9l 1cau 1cbt 1ccy 1ddx 1f0l
    1f1u 1f2t 1f3x 1f7u 1f9x 234l 23au 23cl 23du 23fl 241y 244u 247x 250l 2b0- 386u 387- 388u
    38b- 38cu 38d- 38eu 390- 391u 3aa- 3acl 3b0- 3b1l 3ca- 3ccl 3cf- 400u 402- 403u 40b- 40cu
    40e- 410u 430l 452- 453l 45b- 45cl 45e- 482i 483- 490u 491l 492- 496u 497l 498- 4a2u 4a3l
    4a4- 4aeu 4afl 4b0- 4bau 4bbl 4bc- 4d8u 4d9l 4da- 4e8u 4e9l 4ea- 58di 58f- 591n 5f5- 60ei
    610- 620n 64b- 66en 6d6- 6dei 6df- 6e5n 6e9j 6ean 6fdj 6ffn 700- 750n 780- 7f6i 7f7- 8a0n
    8be- 900n 9faj 9fbn a00- b70i b71- b80n bf3j bf9n bfaj bfbn c7fj c80n d00- d4fi d50- d79i
    d7a- d80n e00- f01i f04- f13i f14- f15i f18- f1ai f20- f34i f35- f36i f37- f38i f39- fbei
    fc6- fc7i fcd- fcei fd0- fd5i fd9- 109ei 10a0- 1100n 1380- 1390i 139a- 1940i 1941- 19dei
    1a00- 1b61i 1b6b- 1b74i 1b7d- 1d00l 1d26- 1d6bl 1d78- 1d79l 1d9b- 1e00x 1e96l 1e9ex 1f00-
    2100i 2102- 2103i 2107- 2108i 210a- 2114i 2115- 2116i 2118- 211ei 2124- 2125i 2126- 2127i
    2128- 2129i 212a- 212ei 212f- 213ai 213c- 214ai 214b- 214ci 214e- 214fi 2150- 218ai 218c-
    2195i 219a- 219ci 21a0- 21a1i 21a3- 21a4i 21a6- 21a7i 21ae- 21afi 21ce- 21d0i 21d2- 21d3i
    21d4- 21d5i 21f4- 2300i 2308- 230ci 2320- 2322i 2329- 232bi 237c- 237di 239b- 23b4i 23dc-
    23e2i 2427- 2440i 244b- 249ci 24ea- 2500i 25b7- 25b8i 25c1- 25c2i 25f8- 2600i 266f- 2670i
    2768- 2794i 27c0- 2800i 2900- 2b00i 2b30- 2b45i 2b47- 2b4di 2b74- 2b76i 2b96- 2b98i 2bc9-
    2bcai 2bff- 2c60x 2c63u 2c65l 2c67y 2c6eu 2c71x 2c74y 2c77l 2c7c- 2c7eu 2c80- 2ce5i 2ceb-
    2e80j 2e9an 2e9bj 2ef4n 2f00j 2fd6n 2fe0- 2ff0j 2ffcn 3004j 3005n 3012j 3014n 3020j 3021n
    3036j 3038n 303ej 3040n 3100- 3190i 3192- 3196i 31a0- 31c0j 31e4n 31f0- 3200j 321fn 322aj
    3248n 3250j 3251n 3260j 3280n 328aj 32b1n 32c0j 32ffn 3300j 3400n 4dc0i 4e00n a000- a490i
    a4c7- a722x a730l a732x a770- a771l a779y a77ex a788- a78by a78f- a790x a794l a796x a7abu
    a7afl a7b0u a7b5x a7ba- a7fal a7fb- a828i a82c- a836i a838- a839i a83a- aa77i aa7a- ab30l
    ab5b- ab60l ab65- ac00n d7b0- f900n fb00- fb1dn fbb2- fbd3n fd3e- fd50n fdc8- fdf0n fdfc-
    fdfdi fdfe- fe30n fe50- fe70n fefd- ff21u ff3b- ff41l ff5b- ffe4i ffe5- ffe8i ffe9- ffedi
    ffef- fffci fffe- 10137i 10140- 10179i 1018a- 1018ci 1018f- 10190i 1019c- 101a0i 101a1-
    101d0i 101fd- 10877i 10879- 10ac8i 10ac9- 1173fi 11740- 16b3ci 16b40- 16b45i 16b46- 1bc9ci
    1bc9d- 1d000i 1d0f6- 1d100i 1d127- 1d129i 1d165- 1d16ai 1d16d- 1d183i 1d185- 1d18ci 1d1aa-
    1d1aei 1d1e9- 1d200i 1d242- 1d245i 1d246- 1d300i 1d357- 1d800i 1da00- 1da37i 1da3b- 1da6di
    1da75- 1da76i 1da84- 1da85i 1da87- 1ecaci 1ecad- 1ee00n 1eebc- 1f000i 1f02c- 1f030i 1f094-
    1f0a0i 1f0af- 1f0b1i 1f0c0- 1f0c1i 1f0d0- 1f0d1i 1f0f6- 1f110i 1f16c- 1f170i 1f1ad- 1f1e6i
    1f200j 1f203n 1f210j 1f23cn 1f240j 1f249n 1f250j 1f252n 1f260j 1f266n 1f300i 1f3fb- 1f400i
    1f6d5- 1f6e0i 1f6ed- 1f6f0i 1f6fa- 1f700i 1f774- 1f780i 1f7d9- 1f800i 1f80c- 1f810i 1f848-
    1f850i 1f85a- 1f860i 1f888- 1f890i 1f8ae- 1f900i 1f90c- 1f910i 1f93f- 1f940i 1f971- 1f973i
    1f977- 1f97ai 1f97b- 1f97ci 1f9a3- 1f9b0i 1f9ba- 1f9c0i 1f9c3- 1f9d0i 1fa00- 1fa60i 1fa6e-
    20000n 2a6e0- 2a700n 2ebf0- 2f800n 2fa20-
"""


@cache
def _table() -> tuple[list[int], str]:
    runs = _RUNS.split()
    return [int(run[:-1], 16) for run in runs], "".join(run[-1] for run in runs)


def letter_class(code: int) -> str:
    """Return the class of a code point above 127: l, u, n, t, i, j or -.

    >>> "".join(letter_class(ord(c)) for c in "\u00e9\u00c9\u0429\u5b57\u266b\u0e01")
    'luuni-'
    """
    starts, kinds = _table()
    place = bisect_right(starts, code) - 1
    kind = kinds[place] if place >= 0 else "-"
    return "lu"[(code % 2 == 0) == (kind == "x")] if kind in "xy" else kind


@cache
def small_letters() -> str:
    """Return the small letters above 127 as the inside of a regular expression's brackets."""
    starts, kinds = _table()
    found = []
    for start, end, kind in zip(starts, [*starts[1:], 0x110000], kinds, strict=True):
        if kind in "lnj":
            found.append(f"{chr(start)}-{chr(end - 1)}")
        elif kind in "xy":
            found += [chr(c) for c in range(start, end) if letter_class(c) == "l"]
    return "".join(found)

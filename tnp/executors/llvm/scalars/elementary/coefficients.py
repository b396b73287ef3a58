"""Polynomials, constant term first, as ``tools/minimax.py`` derives and prints them; do not edit."""

from __future__ import annotations

__all__ = [
    "CBRT",
    "COS",
    "COSH",
    "ERF",
    "EXP",
    "EXP2",
    "EXPM1",
    "LOG",
    "LOG2",
    "LOG10",
    "LOG_ERFC",
    "POWF_EXP2",
    "POWF_LOG2",
    "POW_LOG2",
    "SIN",
    "SINH",
    "TANH",
]


#: (exp(r) - 1 - r) / r**2
EXP: dict[int, tuple[float, ...]] = {
    # error 1.1e-16
    64: (
        float.fromhex("0x1.0000000000001p-1"),
        float.fromhex("0x1.5555555555557p-3"),
        float.fromhex("0x1.5555555553cb8p-5"),
        float.fromhex("0x1.1111111110045p-7"),
        float.fromhex("0x1.6c16c178bac5fp-10"),
        float.fromhex("0x1.a01a01ac27468p-13"),
        float.fromhex("0x1.a019b877dababp-16"),
        float.fromhex("0x1.71de018a4e9fap-19"),
        float.fromhex("0x1.28922114a433dp-22"),
        float.fromhex("0x1.af4f1961a60ebp-26"),
    ),
    # error 6.4e-08
    32: (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5554dc0000000p-3"),
        float.fromhex("0x1.5555000000000p-5"),
        float.fromhex("0x1.120c380000000p-7"),
        float.fromhex("0x1.6d308e0000000p-10"),
    ),
}

#: (exp(r) - 1 - r) / r**2
EXPM1: dict[int, tuple[float, ...]] = {
    # error 1.5e-18
    64: (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5555555555557p-3"),
        float.fromhex("0x1.5555555555556p-5"),
        float.fromhex("0x1.1111111110045p-7"),
        float.fromhex("0x1.6c16c16c15fefp-10"),
        float.fromhex("0x1.a01a01ac27468p-13"),
        float.fromhex("0x1.a01a01a8200b9p-16"),
        float.fromhex("0x1.71de018a4e9fap-19"),
        float.fromhex("0x1.27e4d7fe8f42bp-22"),
        float.fromhex("0x1.af4f1961a60ebp-26"),
        float.fromhex("0x1.1f7917ec6a8a0p-29"),
    ),
    # error 6.4e-08
    32: (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5554dc0000000p-3"),
        float.fromhex("0x1.5555000000000p-5"),
        float.fromhex("0x1.120c380000000p-7"),
        float.fromhex("0x1.6d308e0000000p-10"),
    ),
}

#: (2**r - 1 - r log(2)) / r**2
EXP2: dict[int, tuple[float, ...]] = {
    # error 5.1e-17
    64: (
        float.fromhex("0x1.ebfbdff82c590p-3"),
        float.fromhex("0x1.c6b08d704a0c2p-5"),
        float.fromhex("0x1.3b2ab6fba39cap-7"),
        float.fromhex("0x1.5d87fe78a509fp-10"),
        float.fromhex("0x1.4309130326ad4p-13"),
        float.fromhex("0x1.ffcbfc67be6d0p-17"),
        float.fromhex("0x1.62bfe53a99606p-20"),
        float.fromhex("0x1.b524f9436abf8p-24"),
        float.fromhex("0x1.e5e872b7a14a3p-28"),
        float.fromhex("0x1.e9d6ab8549050p-32"),
    ),
    # error 3.1e-08
    32: (
        float.fromhex("0x1.ebfbe00000000p-3"),
        float.fromhex("0x1.c6afee0000000p-5"),
        float.fromhex("0x1.3b2a620000000p-7"),
        float.fromhex("0x1.5ec7e80000000p-10"),
        float.fromhex("0x1.4407580000000p-13"),
    ),
}

#: (sinh(r) / r - 1) / r**2, of r**2
SINH: dict[int, tuple[float, ...]] = {
    # error 9.3e-18
    64: (
        float.fromhex("0x1.5555555555555p-3"),
        float.fromhex("0x1.1111111111488p-7"),
        float.fromhex("0x1.a01a019d94c26p-13"),
        float.fromhex("0x1.71de464fc00efp-19"),
        float.fromhex("0x1.ae327e93850f3p-26"),
        float.fromhex("0x1.accd8c90fafc6p-33"),
    ),
    # error 5.0e-09
    32: (
        float.fromhex("0x1.5555560000000p-3"),
        float.fromhex("0x1.110f880000000p-7"),
        float.fromhex("0x1.a363100000000p-13"),
    ),
}

#: (cosh(r) - 1) / r**2, of r**2
COSH: dict[int, tuple[float, ...]] = {
    # error 2.2e-20
    64: (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5555555555556p-5"),
        float.fromhex("0x1.6c16c16c15fefp-10"),
        float.fromhex("0x1.a01a01a82049dp-16"),
        float.fromhex("0x1.27e4d7fddc246p-22"),
        float.fromhex("0x1.1f7919372ca91p-29"),
    ),
    # error 1.7e-09
    32: (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5555000000000p-5"),
        float.fromhex("0x1.6d308e0000000p-10"),
    ),
}

#: (tanh(x) / x - 1) / x**2, of x**2
TANH: dict[int, tuple[float, ...]] = {
    # error 1.9e-17
    64: (
        float.fromhex("-0x1.5555555555555p-2"),
        float.fromhex("0x1.1111111110fd7p-3"),
        float.fromhex("-0x1.ba1ba1b9f898ep-5"),
        float.fromhex("0x1.664f48758810bp-6"),
        float.fromhex("-0x1.226e32b9aec18p-7"),
        float.fromhex("0x1.d6d3302f3a110p-9"),
        float.fromhex("-0x1.7d97579e3c723p-10"),
        float.fromhex("0x1.34c1b2f872459p-11"),
        float.fromhex("-0x1.ebe78e78568bep-13"),
        float.fromhex("0x1.648684d69742cp-14"),
        float.fromhex("-0x1.587fd18d974c3p-16"),
    ),
    # error 2.0e-08
    32: (
        float.fromhex("-0x1.5555540000000p-2"),
        float.fromhex("0x1.110fc60000000p-3"),
        float.fromhex("-0x1.b999de0000000p-5"),
        float.fromhex("0x1.5cebe00000000p-6"),
        float.fromhex("-0x1.b000a60000000p-8"),
    ),
}

#: (log(1 + f) - f) / f**2
LOG: dict[int, tuple[float, ...]] = {
    # error 5.6e-17
    64: (
        float.fromhex("-0x1.0000000000000p-1"),
        float.fromhex("0x1.555555555554fp-2"),
        float.fromhex("-0x1.ffffffffff8bap-3"),
        float.fromhex("0x1.999999999ae0ep-3"),
        float.fromhex("-0x1.55555555eabe2p-3"),
        float.fromhex("0x1.249249245b5cfp-3"),
        float.fromhex("-0x1.ffffff7bc50f8p-4"),
        float.fromhex("0x1.c71c715dcb322p-4"),
        float.fromhex("-0x1.9999b5dcfca55p-4"),
        float.fromhex("0x1.745d457d5daddp-4"),
        float.fromhex("-0x1.55520b6e02b50p-4"),
        float.fromhex("0x1.3b0bdee7980cfp-4"),
        float.fromhex("-0x1.24c8b648202a5p-4"),
        float.fromhex("0x1.11bf9a6ea38e8p-4"),
        float.fromhex("-0x1.fc75aba47567cp-5"),
        float.fromhex("0x1.d184b345e3dfcp-5"),
        float.fromhex("-0x1.ce44c849134cep-5"),
        float.fromhex("0x1.07c6c5bea350ap-4"),
        float.fromhex("-0x1.ecc572adf3982p-5"),
        float.fromhex("0x1.b946b64ed7512p-6"),
    ),
    # error 3.0e-08
    32: (
        float.fromhex("-0x1.fffffe0000000p-2"),
        float.fromhex("0x1.55554e0000000p-2"),
        float.fromhex("-0x1.00022c0000000p-2"),
        float.fromhex("0x1.99a3b60000000p-3"),
        float.fromhex("-0x1.5481960000000p-3"),
        float.fromhex("0x1.2298820000000p-3"),
        float.fromhex("-0x1.0c8b260000000p-3"),
        float.fromhex("0x1.069f0e0000000p-3"),
        float.fromhex("-0x1.4136dc0000000p-4"),
    ),
}

#: (log(1 + f) - f) / f**2 / log(2)
LOG2: dict[int, tuple[float, ...]] = {
    # error 1.0e-16
    64: (
        float.fromhex("-0x1.71547652b82ffp-1"),
        float.fromhex("0x1.ec709dc3a03f5p-2"),
        float.fromhex("-0x1.71547652b7a39p-2"),
        float.fromhex("0x1.2776c50efa74bp-2"),
        float.fromhex("-0x1.ec709dc4b7ac6p-3"),
        float.fromhex("0x1.a61762a7c07e7p-3"),
        float.fromhex("-0x1.715475e31db74p-3"),
        float.fromhex("0x1.484b136a445bdp-3"),
        float.fromhex("-0x1.2776db9b360f3p-3"),
        float.fromhex("0x1.0c9aab9be1c25p-3"),
        float.fromhex("-0x1.ec6b8e5a68482p-4"),
        float.fromhex("0x1.c68302aed497ep-4"),
        float.fromhex("-0x1.a668f2ec3ae09p-4"),
        float.fromhex("0x1.8afd0df7ad3cep-4"),
        float.fromhex("-0x1.6ebcce5092363p-4"),
        float.fromhex("0x1.4f72a59f4857ap-4"),
        float.fromhex("-0x1.4d41ab97c2779p-4"),
        float.fromhex("0x1.7d6e0c0e8baccp-4"),
        float.fromhex("-0x1.64d44e7fdab45p-4"),
        float.fromhex("0x1.3f5e1dc2f21e6p-5"),
    ),
    # error 4.3e-08
    32: (
        float.fromhex("-0x1.7154760000000p-1"),
        float.fromhex("0x1.ec70920000000p-2"),
        float.fromhex("-0x1.7156d60000000p-2"),
        float.fromhex("0x1.277e1a0000000p-2"),
        float.fromhex("-0x1.eb61de0000000p-3"),
        float.fromhex("0x1.a349840000000p-3"),
        float.fromhex("-0x1.8262820000000p-3"),
        float.fromhex("0x1.7a50840000000p-3"),
        float.fromhex("-0x1.d31f460000000p-4"),
    ),
}

#: (log(1 + f) - f) / f**2 / log(10)
LOG10: dict[int, tuple[float, ...]] = {
    # error 2.3e-17
    64: (
        float.fromhex("-0x1.bcb7b1526e50fp-3"),
        float.fromhex("0x1.287a7636f4359p-3"),
        float.fromhex("-0x1.bcb7b1526dba1p-4"),
        float.fromhex("0x1.63c6277526115p-4"),
        float.fromhex("-0x1.287a763792328p-4"),
        float.fromhex("0x1.fc3fa614f1d95p-5"),
        float.fromhex("-0x1.bcb7b0d132d74p-5"),
        float.fromhex("0x1.8b4df27f7b6c2p-5"),
        float.fromhex("-0x1.63c641ef9ad0cp-5"),
        float.fromhex("0x1.436e7f0476609p-5"),
        float.fromhex("-0x1.2877765284521p-5"),
        float.fromhex("0x1.11a4e6ecc962ep-5"),
        float.fromhex("-0x1.fca10e4e4ebcfp-6"),
        float.fromhex("0x1.db97f73a0b1e1p-6"),
        float.fromhex("-0x1.b9998b872f6aap-6"),
        float.fromhex("0x1.940bc5a2e8edfp-6"),
        float.fromhex("-0x1.9166fac20adadp-6"),
        float.fromhex("0x1.cb009c33e5ae0p-6"),
        float.fromhex("-0x1.ad11d363bc3b5p-6"),
        float.fromhex("0x1.7ff324fcb0e49p-7"),
    ),
    # error 1.2e-08
    32: (
        float.fromhex("-0x1.bcb7b00000000p-3"),
        float.fromhex("0x1.287a700000000p-3"),
        float.fromhex("-0x1.bcbb300000000p-4"),
        float.fromhex("0x1.63cec40000000p-4"),
        float.fromhex("-0x1.27c8ba0000000p-4"),
        float.fromhex("0x1.f8dc240000000p-5"),
        float.fromhex("-0x1.d22a480000000p-5"),
        float.fromhex("0x1.c7dcc40000000p-5"),
        float.fromhex("-0x1.1768420000000p-5"),
    ),
}

#: the terms of log2((1 + s) / (1 - s)) / s from s**4 on, over s**4, of s**2
POW_LOG2: dict[int, tuple[float, ...]] = {
    # error 5.3e-17
    64: (
        float.fromhex("0x1.2776c50ef9bfep-1"),
        float.fromhex("0x1.a61762a7ae41cp-2"),
        float.fromhex("0x1.484b13d7361c2p-2"),
        float.fromhex("0x1.0c9a84ffd7042p-2"),
        float.fromhex("0x1.c68f0526ba0d5p-3"),
        float.fromhex("0x1.8a06179322988p-3"),
        float.fromhex("0x1.593beb0288cfdp-3"),
        float.fromhex("0x1.603398e107102p-3"),
    ),
}

#: log2(1 + f) / f
POWF_LOG2: dict[int, tuple[float, ...]] = {
    # error 7.1e-13
    64: (
        float.fromhex("0x1.71547652b89f3p+0"),
        float.fromhex("-0x1.715476528dad7p-1"),
        float.fromhex("0x1.ec709dbd14ce1p-2"),
        float.fromhex("-0x1.715476b368e1cp-2"),
        float.fromhex("0x1.2776c9481e378p-2"),
        float.fromhex("-0x1.ec70626bf8189p-3"),
        float.fromhex("0x1.a61543f81ef9fp-3"),
        float.fromhex("-0x1.715b796664b28p-3"),
        float.fromhex("0x1.488d3098ea384p-3"),
        float.fromhex("-0x1.272d128af3986p-3"),
        float.fromhex("0x1.087be6ca964bcp-3"),
        float.fromhex("-0x1.e9e25a93de952p-4"),
        float.fromhex("0x1.0246b258af353p-3"),
        float.fromhex("-0x1.fa4d5ccccb8acp-4"),
        float.fromhex("0x1.0339c67115390p-4"),
    ),
}

#: 2**r
POWF_EXP2: dict[int, tuple[float, ...]] = {
    # error 4.1e-11
    64: (
        float.fromhex("0x1.ffffffffa70bbp-1"),
        float.fromhex("0x1.62e42fef84cd5p-1"),
        float.fromhex("0x1.ebfbe0aa0c6b7p-3"),
        float.fromhex("0x1.c6b08dd700792p-5"),
        float.fromhex("0x1.3b29d8b558b88p-7"),
        float.fromhex("0x1.5d8745a3d1de6p-10"),
        float.fromhex("0x1.446c7dbc66a87p-13"),
        float.fromhex("0x1.00dc4c3b9706cp-16"),
    ),
}

#: erf(x) / x - 1, of x**2
ERF: dict[int, tuple[float, ...]] = {
    # error 1.2e-17
    64: (
        float.fromhex("0x1.06eba8214db69p-3"),
        float.fromhex("-0x1.812746b0379fdp-2"),
        float.fromhex("0x1.ce2f21a04362dp-4"),
        float.fromhex("-0x1.b82ce312abefep-6"),
        float.fromhex("0x1.565bcd1298e84p-8"),
        float.fromhex("-0x1.c02db49afb8e5p-11"),
        float.fromhex("0x1.f9a335368caddp-14"),
        float.fromhex("-0x1.f4d3335adb823p-17"),
        float.fromhex("0x1.b9ee92f449edap-20"),
        float.fromhex("-0x1.5f98110143ea9p-23"),
        float.fromhex("0x1.fc77ba5006c1dp-27"),
        float.fromhex("-0x1.4675d5632c45ap-30"),
        float.fromhex("0x1.296e631907c1dp-34"),
    ),
    # error 1.4e-09
    32: (
        float.fromhex("0x1.06eba80000000p-3"),
        float.fromhex("-0x1.8127400000000p-2"),
        float.fromhex("0x1.ce2d500000000p-4"),
        float.fromhex("-0x1.b7fe8e0000000p-6"),
        float.fromhex("0x1.542dee0000000p-8"),
        float.fromhex("-0x1.a509940000000p-11"),
        float.fromhex("0x1.4c2f1c0000000p-14"),
    ),
}

#: log(erfc(x)); the error is erfc's
LOG_ERFC: dict[int, tuple[float, ...]] = {
    # error 3.3e-17
    64: (
        float.fromhex("-0x1.29f66dbd170e7p-20"),
        float.fromhex("-0x1.20dcbe9818d90p+0"),
        float.fromhex("-0x1.45f98578af332p-1"),
        float.fromhex("-0x1.a462b3fdeca58p-4"),
        float.fromhex("0x1.34f659817f30dp-6"),
        float.fromhex("0x1.3774c2a4c8735p-11"),
        float.fromhex("-0x1.145991be1fb2ap-9"),
        float.fromhex("0x1.e608a21865c3dp-11"),
        float.fromhex("-0x1.ec38ed3966322p-13"),
        float.fromhex("0x1.f41980def0c49p-16"),
        float.fromhex("0x1.90b7c0d1428adp-19"),
        float.fromhex("-0x1.50866e965397bp-19"),
        float.fromhex("0x1.5f84a1f2b88e6p-21"),
        float.fromhex("-0x1.bc49c6934ca21p-24"),
        float.fromhex("0x1.66592126d1923p-27"),
        float.fromhex("-0x1.568021732f3b2p-31"),
        float.fromhex("0x1.293e6fafe3624p-36"),
    ),
    # error 1.2e-09
    32: (
        float.fromhex("-0x1.5603700000000p-12"),
        float.fromhex("-0x1.208d3c0000000p+0"),
        float.fromhex("-0x1.46abc00000000p-1"),
        float.fromhex("-0x1.a6c2e20000000p-4"),
        float.fromhex("0x1.66adee0000000p-6"),
        float.fromhex("-0x1.843af80000000p-9"),
        float.fromhex("0x1.8a1b000000000p-13"),
    ),
}

#: (1 + f)**(-1/3)
CBRT: dict[int, tuple[float, ...]] = {
    # error 6.8e-10
    64: (
        float.fromhex("0x1.000000026f976p+0"),
        float.fromhex("-0x1.5555552747f71p-2"),
        float.fromhex("0x1.c71c4b8a12ceep-3"),
        float.fromhex("-0x1.61f9c8503f9b8p-3"),
        float.fromhex("0x1.2706d6f6195b8p-3"),
        float.fromhex("-0x1.ff59f98de0456p-4"),
        float.fromhex("0x1.c3cead4f2e24bp-4"),
        float.fromhex("-0x1.976e330bcd2f7p-4"),
        float.fromhex("0x1.969d3ac15dccap-4"),
        float.fromhex("-0x1.9d034c1e5fde9p-4"),
        float.fromhex("0x1.e2ed1d68a6b6fp-5"),
    ),
    # error 6.7e-06
    32: (
        float.fromhex("0x1.00003e0000000p+0"),
        float.fromhex("-0x1.5541d40000000p-2"),
        float.fromhex("0x1.c5e1b80000000p-3"),
        float.fromhex("-0x1.683be20000000p-3"),
        float.fromhex("0x1.4820fe0000000p-3"),
        float.fromhex("-0x1.b7f7460000000p-4"),
    ),
}

#: (sin(r) / r - 1) / r**2, of r**2
SIN: dict[int, tuple[float, ...]] = {
    # error 2.2e-17
    64: (
        float.fromhex("-0x1.5555555555555p-3"),
        float.fromhex("0x1.1111111110c70p-7"),
        float.fromhex("-0x1.a01a019e9bddcp-13"),
        float.fromhex("0x1.71de37aa742c3p-19"),
        float.fromhex("-0x1.ae6019217ba84p-26"),
        float.fromhex("0x1.5e0eab5cd8d38p-33"),
    ),
    # error 2.5e-08
    32: (
        float.fromhex("-0x1.5555520000000p-3"),
        float.fromhex("0x1.110be00000000p-7"),
        float.fromhex("-0x1.9ab0220000000p-13"),
    ),
}

#: (cos(r) - 1 + r**2 / 2) / r**4, of r**2
COS: dict[int, tuple[float, ...]] = {
    # error 2.3e-18
    64: (
        float.fromhex("0x1.5555555555555p-5"),
        float.fromhex("-0x1.6c16c16c168c4p-10"),
        float.fromhex("0x1.a01a019f36680p-16"),
        float.fromhex("-0x1.27e4fa0041630p-22"),
        float.fromhex("0x1.1eeb54e387ddcp-29"),
        float.fromhex("-0x1.90714ea34f3dep-37"),
    ),
    # error 2.5e-09
    32: (
        float.fromhex("0x1.5555540000000p-5"),
        float.fromhex("-0x1.6c12980000000p-10"),
        float.fromhex("0x1.9bc3be0000000p-16"),
    ),
}

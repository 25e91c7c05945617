/* Which tables of kernels.h there are, and which of them this processor can use. */

#include "kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

enum { AVX2 = 1, AVX2_VNNI = 2, AVX512 = 4, AVX512_VNNI = 8, AMX = 16 };

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>

/* Linux saves tile registers for those processes only that ask for it. */
static int may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#else
static int may_use_tiles(void) { return 0; }
#endif

/* What the processor can and the system saves; the compiler's own test is missing in some. */
static int abilities(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid_count(1, 0, &a, &b, &c, &d))
        return 0;
    const int fma = c >> 12 & 1, saves = c >> 27 & 1;
    if (!fma || !saves)
        return 0;
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b >> 5 & 1))
        return 0;
    int found = AVX2;
    const unsigned levels = a, wanted = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F DQ BW VL */
    if ((low & 0xe6) == 0xe6 && (b & wanted) == wanted)
        found |= AVX512 | (c >> 11 & 1 ? AVX512_VNNI : 0);
    const unsigned tiles = 1u << 24 | 1u << 25; /* and their products of int8 */
    if ((low & 0x60000) == 0x60000 && (d & tiles) == tiles && may_use_tiles())
        found |= AMX;
    if (levels >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1)
        found |= AVX2_VNNI;
    return found;
}

#elif defined(__aarch64__)
enum { DOT = 1 };

#if defined(__linux__)
#include <sys/auxv.h>
static int abilities(void) { return getauxval(AT_HWCAP) >> 20 & 1 ? DOT : 0; } /* ASIMDDP */
#elif defined(__APPLE__)
#include <sys/sysctl.h>
static int abilities(void)
{
    int has = 0;
    size_t size = sizeof has;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, NULL, 0) == 0 && has ? DOT : 0;
}
#elif defined(_WIN32)
#include <windows.h>
static int abilities(void) { return IsProcessorFeaturePresent(43) ? DOT : 0; }
#else
static int abilities(void) { return 0; }
#endif

#else
static int abilities(void) { return 0; }
#endif

/* GEC_TABLES is set by what builds the library: T(table, abilities) for each, best first. */
#define T(table, needed) extern const GecKernels table;
GEC_TABLES
#undef T

static const struct {
    const GecKernels *table;
    int needed;
} tables[] = {
#define T(table, needed) {&table, needed},
    GEC_TABLES
#undef T
};

enum { COUNT = sizeof tables / sizeof *tables };

static int usable(int i) { return (abilities() & tables[i].needed) == tables[i].needed; }

const GecKernels *gec_kernels(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if ((!*name || strcmp(name, tables[i].table->name) == 0) && usable(i))
            return tables[i].table;
    return NULL;
}

const char *gec_kernel_names(void)
{
    static const char *const separator = " ";
    static _Thread_local char names[256];
    names[0] = 0;
    for (int i = 0; i < COUNT; i++)
        if (usable(i)) {
            strcat(names, *names ? separator : "");
            strcat(names, tables[i].table->name);
        }
    return names;
}

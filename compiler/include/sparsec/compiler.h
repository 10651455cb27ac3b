/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * compiler.h: from the text of a kernel to an image, memory to memory. C ABI.
 *
 * The program `sparsec` is a thin client of this. Calls are independent of each
 * other and may run in several threads at once. No exception crosses this
 * interface and no call installs a signal handler. The only temporary files are
 * those that ptxas reads and writes, which are removed unless ptxas fails, and a
 * copy of the source where the compiler itself is at fault.
 */
#ifndef SPARSEC_COMPILER_H
#define SPARSEC_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SPARSEC_COMPILER_API __attribute__((visibility("default")))
#else
#define SPARSEC_COMPILER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The exit codes of the program `sparsec`. */
typedef enum sparsec_compile_code_e {
  SPARSEC_COMPILE_OK = 0,
  SPARSEC_COMPILE_INVALID_INPUT = 1,   /* the kernel is wrong; the diagnostics say where */
  SPARSEC_COMPILE_INVALID_OPTIONS = 2, /* an option is wrong or two do not go together */
  SPARSEC_COMPILE_FAILURE = 3,         /* a tool or the compiler itself failed; the message says how to reproduce it */
} sparsec_compile_code_t;

/* The form of the output. */
typedef enum sparsec_emit_e {
  SPARSEC_EMIT_IMAGE = 0,      /* what the runtime loads: a cubin, a host object, or a bundle of several */
  SPARSEC_EMIT_MLIR = 1,       /* text: the input, verified */
  SPARSEC_EMIT_SCHEDULE = 2,   /* text: kernels with their schedules */
  SPARSEC_EMIT_TILE = 3,       /* text: tile ops */
  SPARSEC_EMIT_NVVM = 4,       /* text: NVVM ops */
  SPARSEC_EMIT_LLVM = 5,       /* text: LLVM IR, optimised */
  SPARSEC_EMIT_PTX = 6,        /* text: PTX */
  SPARSEC_EMIT_CUBIN = 7,      /* as SPARSEC_EMIT_IMAGE, for GPU targets only */
  SPARSEC_EMIT_HOST = 8,       /* as SPARSEC_EMIT_IMAGE, for the target "host" only, which it implies */
  SPARSEC_EMIT_CANDIDATES = 9, /* text: a line of JSON for each schedule that a kernel may have, for sparsec-tune */
} sparsec_emit_t;

typedef enum sparsec_severity_e {
  SPARSEC_SEVERITY_REMARK = 1,
  SPARSEC_SEVERITY_WARNING = 2,
  SPARSEC_SEVERITY_ERROR = 3,
} sparsec_severity_t;

typedef struct sparsec_compile_options_s {
  const char *source_name;    /* in diagnostics; "<memory>" */
  const char *const *targets; /* "sm_90a", "sm_89", "host"; NULL: {"sm_90a"} */
  size_t target_count;
  sparsec_emit_t emit;
  int embed_ptx;              /* also put PTX for newer chips into the bundle */
  int allow_spills;           /* try no other schedule where ptxas reports spills or serialised instructions */
  int remarks;                /* report the schedules that were considered, a table for each kernel */
  const char *ptxas;          /* NULL: searched for, see docs/pipeline.md */
  const char *dump_directory; /* NULL: none; else one numbered file per pass and stage in a folder per target */
  double expect_density;      /* fraction of blocks that are there, above 0 up to 1; 0.25 */
  int64_t expect_n;           /* columns of X; 0: many */
  const char *schedule_table; /* file with schedules that were measured (docs/pipeline.md); NULL: none */
  /* Called for every diagnostic with its whole text: "file:line:column: error: ..." and the source line. */
  void (*diagnostic)(void *user_data, sparsec_severity_t severity, const char *text);
  /* Called as every phase begins, with its target and name: "sm_90a: ptxas". NULL: not. */
  void (*progress)(void *user_data, const char *phase);
  void *user_data; /* of both */
} sparsec_compile_options_t;

/* Sets every field to its default, named in the comments above. */
SPARSEC_COMPILER_API void sparsec_compile_options_init(sparsec_compile_options_t *options);

typedef enum sparsec_result_format_e {
  SPARSEC_RESULT_TEXT = 1,
  SPARSEC_RESULT_CUBIN = 2,
  SPARSEC_RESULT_HOST_OBJECT = 3,
  SPARSEC_RESULT_BUNDLE = 4,
} sparsec_result_format_t;

typedef struct sparsec_compile_result_s *sparsec_compile_result_t;

/* Compiles `size` bytes of MLIR text. options NULL: the defaults. On failure *out_result is NULL. */
SPARSEC_COMPILER_API sparsec_compile_code_t sparsec_compile(const char *source, size_t size,
                                                            const sparsec_compile_options_t *options,
                                                            sparsec_compile_result_t *out_result);

/* These belong to the result and end with it. */
SPARSEC_COMPILER_API const void *sparsec_compile_result_data(sparsec_compile_result_t result);
SPARSEC_COMPILER_API size_t sparsec_compile_result_size(sparsec_compile_result_t result);
SPARSEC_COMPILER_API sparsec_result_format_t sparsec_compile_result_format(sparsec_compile_result_t result);
/* Schedules, registers, spills, shared memory, occupancy and times, to read. */
SPARSEC_COMPILER_API const char *sparsec_compile_result_report(sparsec_compile_result_t result);
SPARSEC_COMPILER_API void sparsec_compile_result_free(sparsec_compile_result_t result);

/* "0.1.0" */
SPARSEC_COMPILER_API const char *sparsec_compiler_version(void);
/* The names of all targets: "sm_80, sm_86, sm_89, sm_90a, sm_120, host" */
SPARSEC_COMPILER_API const char *sparsec_compiler_targets(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SPARSEC_COMPILER_H */

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * native.h: the objects of the extension module sparsec._native. Each wraps one handle or view of runtime.h and keeps
 * what it refers to alive. The package's Python files check and convert what users pass; this module is private to
 * them.
 */
#ifndef SPARSEC_PYTHON_NATIVE_H
#define SPARSEC_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "sparsec/runtime.h"

typedef struct ExchangeInterface ExchangeInterface; /* exchange.h */
enum { MOST_EXCHANGE_TYPES = 4 };                   /* torch has two: tensors and parameters */

/* State of one module object, so that every interpreter has types and exceptions of its own. */
typedef struct {
  PyObject *errorOfStatus; /* sparsec.errors.error_of_status(code, message) */
  /* Names of attributes of tensors: requires_grad, _version. */
  PyObject *requiresGradient, *versionName;
  PyTypeObject *dense, *blocks;
  PyTypeObject *device, *memory, *image, *kernel, *plan, *launcher, *caller, *callers, *patternBuffer;
  /* The first types of arrays that were found to have the exchange interface; the rest is NULL. */
  PyTypeObject *exchangeTypes[MOST_EXCHANGE_TYPES];
  const ExchangeInterface *exchanges[MOST_EXCHANGE_TYPES];
} ModuleState;

/* No type can be subclassed, so that the type of an object is always one of this module. */
static inline ModuleState *stateOf(PyObject *self) { return PyType_GetModuleState(Py_TYPE(self)); }

/* Raises the exception that belongs to the status, frees the status and returns NULL. */
PyObject *raiseStatus(ModuleState *state, sparsec_status_t status);
/* Raises sparsec.InvalidArgument and returns NULL. */
PyObject *raiseInvalidArgument(ModuleState *state, const char *format, ...);

/* Makes an object of a type that has no constructor. */
PyObject *allocateObject(PyTypeObject *type);
/* Frees the memory of an object and releases its type. */
void freeObject(PyObject *self);

/* ---- views.c: the memory of arrays as views ------------------------------ */

typedef struct {
  PyObject ob_base;
  sparsec_dense_t view;
  PyObject *owner; /* a DLPack capsule, an array, or NULL: the caller of from_pointer keeps the memory alive */
  Py_buffer buffer;
  int hasBuffer;
} DenseObject;

typedef struct {
  PyObject ob_base;
  sparsec_blocks_t view;
  PyObject *arrays; /* tuple of the dense objects whose memory the view has */
} BlocksObject;

/* The arguments of a call. */
typedef struct {
  sparsec_argument_t *list;
  size_t count;
  PyObject *objects; /* tuple of what the list refers to */
} Arguments;

/* Converts a tuple of dense objects, blocks objects, numbers, arrays and None (an open argument of a plan). The stream
 * is the one on which arrays of other libraries must be ready. Returns -1 with an exception if one does not convert. */
int collectArguments(ModuleState *state, PyObject *tuple, uint64_t stream, Arguments *out);
void releaseArguments(Arguments *arguments);

extern PyType_Spec denseSpec, blocksSpec;

/* ---- handles.c: devices, memory, images, kernels ------------------------- */

typedef struct {
  PyObject ob_base;
  sparsec_device_t handle;
} DeviceObject;

typedef struct {
  PyObject ob_base;
  DeviceObject *device;
  void *data;
  size_t bytes;
} MemoryObject;

typedef struct {
  PyObject ob_base;
  DeviceObject *device;
  sparsec_module_t handle;
} ImageObject;

typedef struct {
  PyObject ob_base;
  ImageObject *image;
  sparsec_kernel_t handle; /* the image owns it */
} KernelObject;

extern PyType_Spec deviceSpec, memorySpec, imageSpec;

/* ---- launch.c: kernels, plans and launchers ------------------------------ */

typedef struct {
  PyObject ob_base;
  KernelObject *kernel;
  sparsec_plan_t handle;
  sparsec_packed_t packed; /* launches with the plan get it; NULL: nothing is packed */
} PlanObject;

typedef struct {
  PyObject ob_base;
  PyObject *kernel, *plan, *workspace; /* plan and workspace may be None */
  PyObject *objects;                   /* what the arguments of the last binding refer to; NULL: of a caller */
  PyThread_type_lock lock;             /* runs and bindings take turns */
  uint64_t *bound;                     /* addresses and scalars of the last binding, if repeatLaunch made it */
  sparsec_launcher_t handle;
} LauncherObject;

extern PyType_Spec kernelSpec, planSpec, launcherSpec;

/* Prepares a launch. plan and workspace may be None; `objects` is what the arguments refer to, or NULL. */
LauncherObject *makeLauncher(ModuleState *state, PyObject *kernel, PyObject *plan, PyObject *workspace,
                             const sparsec_argument_t *arguments, size_t count, PyObject *objects);

/* Launches with other memory and scalars than before. The arguments have the form of the launcher's. */
sparsec_status_t repeatLaunch(LauncherObject *launcher, const sparsec_argument_t *arguments, size_t count,
                              void *stream);

/* ---- patterns.c: lists that are written again and again ------------------ */

/* kernel.pattern_buffer(rows, columns, block, batches, heads) -> PatternBuffer */
PyObject *makePatternBuffer(PyObject *kernel, PyObject *arguments);

extern PyType_Spec patternBufferSpec;

/* ---- caller.c: calls that are repeated ----------------------------------- */

enum { MOST_REPEATED_ARGUMENTS = 24 }; /* a call with more is never repeated */

/* caller.call(*inputs): repeats a call. Gives None if the caller has none of this form. */
PyObject *repeatCall(PyObject *caller, PyObject *const *inputs, Py_ssize_t count);

extern PyType_Spec callerSpec;

/* ---- callers.c: the callers of a kernel ---------------------------------- */

extern PyType_Spec callersSpec;

/* ---- info.c: launch infos as dictionaries -------------------------------- */

/* launch_info(data, image_index) -> dict */
PyObject *readLaunchInfo(PyObject *module, PyObject *arguments);

/* ---- xla.c: calls from JAX ------------------------------------------------ */

/* xla_handlers(resolve) -> dict */
PyObject *xlaHandlers(PyObject *module, PyObject *resolve);
/* xla_close() */
PyObject *xlaClose(PyObject *module, PyObject *unused);

#endif /* SPARSEC_PYTHON_NATIVE_H */

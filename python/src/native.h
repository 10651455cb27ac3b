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

/* State of one module object, so that every interpreter has types and exceptions of its own. */
typedef struct {
  PyObject *error_of_status; /* sparsec.errors.error_of_status(code, message) */
  PyTypeObject *dense, *blocks;
  PyTypeObject *device, *memory, *image, *kernel, *plan, *launcher;
} module_state_t;

/* No type can be subclassed, so that the type of an object is always one of this module. */
static inline module_state_t *state_of(PyObject *self) { return PyType_GetModuleState(Py_TYPE(self)); }

/* Raises the exception that belongs to the status, frees the status and returns NULL. */
PyObject *raise_status(module_state_t *state, sparsec_status_t status);
/* Raises sparsec.InvalidArgument and returns NULL. */
PyObject *raise_invalid_argument(module_state_t *state, const char *format, ...);

/* Makes an object of a type that has no constructor. */
PyObject *allocate_object(PyTypeObject *type);
/* Frees the memory of an object and releases its type. */
void free_object(PyObject *self);

/* ---- views.c: the memory of arrays as views ------------------------------ */

typedef struct {
  PyObject_HEAD sparsec_dense_t view;
  PyObject *owner; /* a DLPack capsule, or NULL: the caller of from_pointer keeps the memory alive */
  Py_buffer buffer;
  int has_buffer;
} dense_object_t;

typedef struct {
  PyObject_HEAD sparsec_blocks_t view;
  PyObject *arrays; /* tuple of the dense objects whose memory the view has */
} blocks_object_t;

/* The arguments of a call. */
typedef struct {
  sparsec_argument_t *list;
  size_t count;
  PyObject *objects; /* tuple of what the list refers to */
} arguments_t;

/* Converts a tuple of dense objects, blocks objects, numbers, arrays and None (an open argument of a plan). The stream
 * is the one on which arrays of other libraries must be ready. Returns -1 with an exception if one does not convert. */
int collect_arguments(module_state_t *state, PyObject *tuple, uint64_t stream, arguments_t *out);
void release_arguments(arguments_t *arguments);

extern PyType_Spec dense_spec, blocks_spec;

/* ---- handles.c: devices, memory, images, kernels ------------------------- */

typedef struct {
  PyObject_HEAD sparsec_device_t handle;
} device_object_t;

typedef struct {
  PyObject_HEAD device_object_t *device;
  void *data;
  size_t bytes;
} memory_object_t;

typedef struct {
  PyObject_HEAD device_object_t *device;
  sparsec_module_t handle;
} image_object_t;

typedef struct {
  PyObject_HEAD image_object_t *image;
  sparsec_kernel_t handle; /* the image owns it */
} kernel_object_t;

extern PyType_Spec device_spec, memory_spec, image_spec;

/* ---- launch.c: kernels, plans and launchers ------------------------------ */

typedef struct {
  PyObject_HEAD kernel_object_t *kernel;
  sparsec_plan_t handle;
} plan_object_t;

typedef struct {
  PyObject_HEAD PyObject *kernel, *plan, *workspace; /* plan and workspace may be None */
  PyObject *objects;                                 /* what the arguments of the last binding refer to */
  PyThread_type_lock lock;                           /* runs and bindings take turns */
  sparsec_launcher_t handle;
} launcher_object_t;

extern PyType_Spec kernel_spec, plan_spec, launcher_spec;

/* ---- info.c: launch infos as dictionaries -------------------------------- */

/* launch_info(data, image_index) -> dict */
PyObject *read_launch_info(PyObject *module, PyObject *arguments);

#endif /* SPARSEC_PYTHON_NATIVE_H */

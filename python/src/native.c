/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The module: its state, its types and the functions that need no object. */

#include "native.h"

#include <stdarg.h>

PyObject *raiseStatus(ModuleState *state, sparsec_status_t status) {
  PyObject *error = PyObject_CallFunction(state->errorOfStatus, "is", (int)sparsec_status_code(status),
                                          sparsec_status_message(status));
  sparsec_status_free(status);
  if (error) {
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
  }
  return NULL;
}

PyObject *raiseInvalidArgument(ModuleState *state, const char *format, ...) {
  va_list values;
  va_start(values, format);
  PyObject *text = PyUnicode_FromFormatV(format, values);
  va_end(values);
  if (!text)
    return NULL;
  PyObject *error = PyObject_CallFunction(state->errorOfStatus, "iO", (int)SPARSEC_STATUS_INVALID_ARGUMENT, text);
  Py_DECREF(text);
  if (error) {
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
  }
  return NULL;
}

PyObject *allocateObject(PyTypeObject *type) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return allocate(type, 0);
}

void freeObject(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *version(PyObject *module, PyObject *unused) { return PyUnicode_FromString(sparsec_version()); }

static PyObject *cudaDeviceCount(PyObject *module, PyObject *unused) {
  int32_t count = 0;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_cuda_device_count(&count);
  Py_END_ALLOW_THREADS;
  return status ? raiseStatus(PyModule_GetState(module), status) : PyLong_FromLong(count);
}

static PyObject *dtypeName(PyObject *module, PyObject *argument) {
  long dtype = PyLong_AsLong(argument);
  if (dtype == -1 && PyErr_Occurred())
    return NULL;
  return PyUnicode_FromString(sparsec_dtype_name((sparsec_dtype_t)dtype));
}

static PyObject *imageCount(PyObject *module, PyObject *argument) {
  char *data;
  Py_ssize_t bytes;
  size_t count = 0;
  if (PyBytes_AsStringAndSize(argument, &data, &bytes))
    return NULL;
  sparsec_status_t status = sparsec_image_count(data, (size_t)bytes, &count);
  return status ? raiseStatus(PyModule_GetState(module), status) : PyLong_FromSize_t(count);
}

static PyObject *checkBlocks(PyObject *module, PyObject *argument) {
  ModuleState *state = PyModule_GetState(module);
  if (Py_TYPE(argument) != state->blocks)
    return raiseInvalidArgument(state, "expects Blocks");
  const sparsec_blocks_t *view = &((BlocksObject *)argument)->view;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_blocks_check(view);
  Py_END_ALLOW_THREADS;
  if (status)
    return raiseStatus(state, status);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version() -> str: the version of the runtime library"},
    {"cuda_device_count", cudaDeviceCount, METH_NOARGS,
     "cuda_device_count() -> int: the number of CUDA devices, 0 without a driver"},
    {"dtype_name", dtypeName, METH_O, "dtype_name(number) -> str: the name of an element type"},
    {"image_count", imageCount, METH_O, "image_count(data) -> int: the number of images in a compiled file"},
    {"launch_info", readLaunchInfo, METH_VARARGS,
     "launch_info(data, image_index) -> dict: the launch info of an image, as launch_info.h defines it"},
    {"check_blocks", checkBlocks, METH_O, "check_blocks(blocks): checks lists in host memory"},
    {"xla_handlers", xlaHandlers, METH_O,
     "xla_handlers(resolve) -> dict: by platform the type of a call's state and the handlers; `type` describes it"},
    {"xla_close", xlaClose, METH_NOARGS, "xla_close(): states that are deleted from now on keep what they have"},
    {NULL, NULL, 0, NULL},
};

/* Makes a type and adds it to the module, whose state keeps a reference. */
static int addType(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
  *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
  return *out ? PyModule_AddType(module, *out) : -1;
}

static int execute(PyObject *module) {
  ModuleState *state = PyModule_GetState(module);
  PyObject *errors = PyImport_ImportModule("sparsec.errors");
  if (!errors)
    return -1;
  state->errorOfStatus = PyObject_GetAttrString(errors, "error_of_status");
  Py_DECREF(errors);
  state->requiresGradient = PyUnicode_InternFromString("requires_grad");
  state->versionName = PyUnicode_InternFromString("_version");
  if (!state->errorOfStatus || !state->requiresGradient || !state->versionName)
    return -1;
  if (addType(module, &denseSpec, &state->dense) || addType(module, &blocksSpec, &state->blocks) ||
      addType(module, &deviceSpec, &state->device) || addType(module, &memorySpec, &state->memory) ||
      addType(module, &imageSpec, &state->image) || addType(module, &kernelSpec, &state->kernel) ||
      addType(module, &planSpec, &state->plan) || addType(module, &launcherSpec, &state->launcher) ||
      addType(module, &callerSpec, &state->caller) || addType(module, &callersSpec, &state->callers) ||
      addType(module, &patternBufferSpec, &state->patternBuffer))
    return -1;
  return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
  ModuleState *state = PyModule_GetState(module);
  Py_VISIT(state->errorOfStatus);
  Py_VISIT(state->requiresGradient);
  Py_VISIT(state->versionName);
  PyTypeObject *types[] = {state->dense,  state->blocks,  state->device,       state->memory,
                           state->image,  state->kernel,  state->plan,         state->launcher,
                           state->caller, state->callers, state->patternBuffer};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
    Py_VISIT(types[i]);
  for (size_t i = 0; i < MOST_EXCHANGE_TYPES; ++i)
    Py_VISIT(state->exchangeTypes[i]);
  return 0;
}

static int clear(PyObject *module) {
  ModuleState *state = PyModule_GetState(module);
  Py_CLEAR(state->errorOfStatus);
  Py_CLEAR(state->requiresGradient);
  Py_CLEAR(state->versionName);
  PyTypeObject **types[] = {&state->dense,  &state->blocks,  &state->device,       &state->memory,
                            &state->image,  &state->kernel,  &state->plan,         &state->launcher,
                            &state->caller, &state->callers, &state->patternBuffer};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
    Py_CLEAR(*types[i]);
  for (size_t i = 0; i < MOST_EXCHANGE_TYPES; ++i)
    Py_CLEAR(state->exchangeTypes[i]);
  return 0;
}

static void freeModule(void *module) { clear(module); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "sparsec._native",
    .m_doc = "The C interface of the runtime; private to the package.",
    .m_size = sizeof(ModuleState),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = freeModule,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }

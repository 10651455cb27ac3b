/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels: plans, launches, launchers and the reference. */

#include "native.h"

#include <string.h>

/* The handle of an optional plan: None gives NULL. Returns -1 with an exception for another object. */
static int plan_handle(module_state_t *state, PyObject *plan, sparsec_plan_t *out) {
  *out = NULL;
  if (!plan || plan == Py_None)
    return 0;
  if (Py_TYPE(plan) != state->plan) {
    raise_invalid_argument(state, "expects a plan, but got %R", (PyObject *)Py_TYPE(plan));
    return -1;
  }
  *out = ((plan_object_t *)plan)->handle;
  return 0;
}

/* The options of a launch. The workspace may be None. */
static int launch_options(module_state_t *state, uint64_t stream, PyObject *workspace, sparsec_launch_options_t *out) {
  memset(out, 0, sizeof *out);
  out->size = sizeof *out;
  out->stream = (void *)(uintptr_t)stream;
  if (!workspace || workspace == Py_None)
    return 0;
  if (Py_TYPE(workspace) != state->memory) {
    raise_invalid_argument(state, "expects a workspace, but got %R", (PyObject *)Py_TYPE(workspace));
    return -1;
  }
  out->workspace = ((memory_object_t *)workspace)->data;
  out->workspace_bytes = ((memory_object_t *)workspace)->bytes;
  return 0;
}

/* ---- Plan ---------------------------------------------------------------- */

static void plan_dealloc(PyObject *object) {
  plan_object_t *self = (plan_object_t *)object;
  sparsec_plan_destroy(self->handle);
  Py_CLEAR(self->kernel);
  free_object(object);
}

static PyObject *plan_info(PyObject *self, PyObject *arguments) {
  Py_ssize_t variant = 0;
  if (!PyArg_ParseTuple(arguments, "n:info", &variant))
    return NULL;
  sparsec_plan_info_t info = {.size = sizeof info};
  sparsec_status_t status = sparsec_plan_info(((plan_object_t *)self)->handle, (size_t)variant, &info);
  if (status)
    return raise_status(state_of(self), status);
  return Py_BuildValue("{s:i,s:L,s:L,s:L,s:L,s:d,s:d,s:L,s:L}", "order", (int)info.order, "workers",
                       (long long)info.workers, "tiles", (long long)info.tiles, "bytes", (long long)info.bytes,
                       "workspace_bytes", (long long)info.workspace_bytes, "balance", info.balance, "milliseconds",
                       info.milliseconds, "windows", (long long)info.windows, "columns", (long long)info.columns);
}

static PyObject *plan_workspace_bytes(PyObject *self, PyObject *tuple) {
  module_state_t *state = state_of(self);
  arguments_t arguments;
  if (collect_arguments(state, tuple, 0, &arguments))
    return NULL;
  size_t bytes = 0;
  sparsec_status_t status =
      sparsec_plan_workspace_bytes(((plan_object_t *)self)->handle, arguments.list, arguments.count, &bytes);
  release_arguments(&arguments);
  return status ? raise_status(state, status) : PyLong_FromSize_t(bytes);
}

static PyMethodDef plan_methods[] = {
    {"info", plan_info, METH_VARARGS, "info(variant) -> dict: what the plan holds for a variant of its kernel"},
    {"workspace_bytes", plan_workspace_bytes, METH_O,
     "workspace_bytes(arguments) -> int: bytes that are enough for a launch; () takes all sizes from the plan"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_methods, plan_methods},
    {Py_tp_doc, "A plan, made by Kernel.plan."},
    {0, NULL},
};

PyType_Spec plan_spec = {"sparsec._native.Plan", sizeof(plan_object_t), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, plan_slots};

/* ---- Kernel -------------------------------------------------------------- */

static void kernel_dealloc(PyObject *self) {
  Py_CLEAR(((kernel_object_t *)self)->image);
  free_object(self);
}

static PyObject *kernel_plan(PyObject *self, PyObject *values) {
  module_state_t *state = state_of(self);
  PyObject *tuple;
  unsigned int flags = 0;
  unsigned long long stream = 0;
  arguments_t arguments;
  if (!PyArg_ParseTuple(values, "O|IK:plan", &tuple, &flags, &stream) ||
      collect_arguments(state, tuple, stream, &arguments))
    return NULL;
  plan_object_t *plan = (plan_object_t *)allocate_object(state->plan);
  if (plan) {
    plan->kernel = (kernel_object_t *)Py_NewRef(self);
    const sparsec_plan_options_t options = {
        sizeof options, arguments.list, arguments.count, (void *)(uintptr_t)stream, NULL, flags, 0};
    sparsec_status_t status;
    Py_BEGIN_ALLOW_THREADS;
    status = sparsec_plan_create(plan->kernel->handle, &options, &plan->handle);
    Py_END_ALLOW_THREADS;
    if (status) {
      Py_CLEAR(plan);
      raise_status(state, status);
    }
  }
  release_arguments(&arguments);
  return (PyObject *)plan;
}

static PyObject *kernel_launch(PyObject *self, PyObject *values) {
  module_state_t *state = state_of(self);
  PyObject *tuple, *plan_object = NULL, *workspace = NULL;
  unsigned long long stream = 0;
  sparsec_plan_t plan;
  sparsec_launch_options_t options;
  arguments_t arguments;
  if (!PyArg_ParseTuple(values, "O|OKO:launch", &tuple, &plan_object, &stream, &workspace) ||
      plan_handle(state, plan_object, &plan) || launch_options(state, stream, workspace, &options) ||
      collect_arguments(state, tuple, stream, &arguments))
    return NULL;
  sparsec_kernel_t kernel = ((kernel_object_t *)self)->handle;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_launch_with_options(kernel, plan, arguments.list, arguments.count, &options);
  Py_END_ALLOW_THREADS;
  release_arguments(&arguments);
  if (status)
    return raise_status(state, status);
  Py_RETURN_NONE;
}

static PyObject *kernel_variant(PyObject *self, PyObject *values) {
  module_state_t *state = state_of(self);
  PyObject *tuple, *plan_object = NULL;
  sparsec_plan_t plan;
  arguments_t arguments;
  if (!PyArg_ParseTuple(values, "O|O:variant", &tuple, &plan_object) || plan_handle(state, plan_object, &plan) ||
      collect_arguments(state, tuple, 0, &arguments))
    return NULL;
  size_t variant = 0;
  sparsec_status_t status =
      sparsec_launch_variant(((kernel_object_t *)self)->handle, plan, arguments.list, arguments.count, &variant);
  release_arguments(&arguments);
  return status ? raise_status(state, status) : PyLong_FromSize_t(variant);
}

/* Runs the reference into two new byte arrays of (row_end - row_begin) * width doubles. */
static PyObject *run_reference(module_state_t *state, sparsec_kernel_t kernel, const arguments_t *arguments,
                               long long row_begin, long long row_end, long long width, int is_lse) {
  const long long rows = row_end - row_begin;
  if (rows < 0 || width < 0 || (width && rows > PY_SSIZE_T_MAX / (long long)sizeof(double) / width))
    return raise_invalid_argument(state, "expects rows in ascending order, and results that fit in memory");
  PyObject *y = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * width * (long long)sizeof(double)));
  PyObject *magnitude = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * width * (long long)sizeof(double)));
  PyObject *result = NULL;
  if (y && magnitude) {
    double *out = (double *)PyByteArray_AsString(y), *out_magnitude = (double *)PyByteArray_AsString(magnitude);
    sparsec_status_t status;
    Py_BEGIN_ALLOW_THREADS;
    status =
        is_lse
            ? sparsec_reference_lse(kernel, arguments->list, arguments->count, row_begin, row_end, out, out_magnitude)
            : sparsec_reference_run(kernel, arguments->list, arguments->count, row_begin, row_end, out, out_magnitude);
    Py_END_ALLOW_THREADS;
    result = status ? raise_status(state, status) : PyTuple_Pack(2, y, magnitude);
  }
  Py_XDECREF(y);
  Py_XDECREF(magnitude);
  return result;
}

static PyObject *kernel_reference(PyObject *self, PyObject *values) {
  module_state_t *state = state_of(self);
  PyObject *tuple;
  long long row_begin, row_end, width;
  int is_lse = 0;
  arguments_t arguments;
  if (!PyArg_ParseTuple(values, "OLLL|p:reference", &tuple, &row_begin, &row_end, &width, &is_lse) ||
      collect_arguments(state, tuple, 0, &arguments))
    return NULL;
  PyObject *result =
      run_reference(state, ((kernel_object_t *)self)->handle, &arguments, row_begin, row_end, width, is_lse);
  release_arguments(&arguments);
  return result;
}

static PyObject *kernel_launcher(PyObject *self, PyObject *values) {
  module_state_t *state = state_of(self);
  PyObject *tuple, *plan_object = Py_None, *workspace = Py_None;
  sparsec_plan_t plan;
  sparsec_launch_options_t options;
  arguments_t arguments;
  if (!PyArg_ParseTuple(values, "O|OO:launcher", &tuple, &plan_object, &workspace) ||
      plan_handle(state, plan_object, &plan) || launch_options(state, 0, workspace, &options) ||
      collect_arguments(state, tuple, 0, &arguments))
    return NULL;
  launcher_object_t *launcher = (launcher_object_t *)allocate_object(state->launcher);
  if (launcher) {
    launcher->kernel = Py_NewRef(self);
    launcher->plan = Py_NewRef(plan_object);
    launcher->workspace = Py_NewRef(workspace);
    launcher->objects = Py_NewRef(arguments.objects);
    launcher->lock = PyThread_allocate_lock();
    sparsec_status_t status = NULL;
    if (launcher->lock)
      status = sparsec_launcher_create(((kernel_object_t *)self)->handle, plan, arguments.list, arguments.count,
                                       &options, &launcher->handle);
    if (status)
      raise_status(state, status);
    else if (!launcher->lock)
      PyErr_NoMemory();
    if (!launcher->handle)
      Py_CLEAR(launcher);
  }
  release_arguments(&arguments);
  return (PyObject *)launcher;
}

static PyMethodDef kernel_methods[] = {
    {"plan", kernel_plan, METH_VARARGS, "plan(arguments, flags=0, stream=0) -> Plan; None leaves an argument open"},
    {"launch", kernel_launch, METH_VARARGS, "launch(arguments, plan=None, stream=0, workspace=None)"},
    {"variant", kernel_variant, METH_VARARGS, "variant(arguments, plan=None) -> int: the variant that a launch takes"},
    {"reference", kernel_reference, METH_VARARGS,
     "reference(arguments, row_begin, row_end, width, lse=False) -> (bytearray, bytearray): results and magnitudes"},
    {"launcher", kernel_launcher, METH_VARARGS, "launcher(arguments, plan=None, workspace=None) -> Launcher"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_methods, kernel_methods},
    {Py_tp_doc, "A kernel of an image, made by Image.kernel."},
    {0, NULL},
};

PyType_Spec kernel_spec = {"sparsec._native.Kernel", sizeof(kernel_object_t), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kernel_slots};

/* ---- Launcher ------------------------------------------------------------ */

static void launcher_dealloc(PyObject *object) {
  launcher_object_t *self = (launcher_object_t *)object;
  sparsec_launcher_destroy(self->handle);
  if (self->lock)
    PyThread_free_lock(self->lock);
  Py_CLEAR(self->objects);
  Py_CLEAR(self->workspace);
  Py_CLEAR(self->plan);
  Py_CLEAR(self->kernel);
  free_object(object);
}

static PyObject *launcher_run(PyObject *object, PyObject *arguments) {
  launcher_object_t *self = (launcher_object_t *)object;
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(arguments, "|K:run", &stream))
    return NULL;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  PyThread_acquire_lock(self->lock, WAIT_LOCK);
  status = sparsec_launcher_run(self->handle, (void *)(uintptr_t)stream);
  PyThread_release_lock(self->lock);
  Py_END_ALLOW_THREADS;
  if (status)
    return raise_status(state_of(object), status);
  Py_RETURN_NONE;
}

static PyObject *launcher_rebind(PyObject *object, PyObject *tuple) {
  launcher_object_t *self = (launcher_object_t *)object;
  module_state_t *state = state_of(object);
  arguments_t arguments;
  if (collect_arguments(state, tuple, 0, &arguments))
    return NULL;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  PyThread_acquire_lock(self->lock, WAIT_LOCK);
  status = sparsec_launcher_rebind(self->handle, arguments.list, arguments.count);
  if (!status) {
    /* Under the lock, so that the objects are those of the last binding. The old ones are released below, with the
     * interpreter's lock. */
    PyObject *old = self->objects;
    self->objects = arguments.objects;
    arguments.objects = old;
  }
  PyThread_release_lock(self->lock);
  Py_END_ALLOW_THREADS;
  release_arguments(&arguments);
  if (status)
    return raise_status(state, status);
  Py_RETURN_NONE;
}

static PyMethodDef launcher_methods[] = {
    {"run", launcher_run, METH_VARARGS, "run(stream=0): launches with the arguments of the last binding"},
    {"rebind", launcher_rebind, METH_O, "rebind(arguments): other memory and scalars for the next runs"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot launcher_slots[] = {
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_methods, launcher_methods},
    {Py_tp_doc, "A launch that is prepared once and run many times, made by Kernel.launcher."},
    {0, NULL},
};

PyType_Spec launcher_spec = {"sparsec._native.Launcher", sizeof(launcher_object_t), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, launcher_slots};

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels: plans, launches, launchers and the reference. */

#include "native.h"

#include <stdlib.h>
#include <string.h>

/* The handle of an optional plan: None gives NULL. Returns -1 with an exception for another object. */
static int planHandle(ModuleState *state, PyObject *plan, sparsec_plan_t *out) {
  *out = NULL;
  if (!plan || plan == Py_None)
    return 0;
  if (Py_TYPE(plan) != state->plan) {
    raiseInvalidArgument(state, "expects a plan, but got %R", (PyObject *)Py_TYPE(plan));
    return -1;
  }
  *out = ((PlanObject *)plan)->handle;
  return 0;
}

/* The packed values of an optional plan, which planHandle() has checked. */
static sparsec_packed_t packedOf(PyObject *plan) {
  return plan && plan != Py_None ? ((PlanObject *)plan)->packed : NULL;
}

/* The options of a launch. The workspace may be None. */
static int launchOptions(ModuleState *state, uint64_t stream, PyObject *plan, PyObject *workspace,
                         sparsec_launch_options_t *out) {
  memset(out, 0, sizeof *out);
  out->size = sizeof *out;
  out->stream = (void *)(uintptr_t)stream;
  out->packed = packedOf(plan);
  if (!workspace || workspace == Py_None)
    return 0;
  if (Py_TYPE(workspace) != state->memory) {
    raiseInvalidArgument(state, "expects a workspace, but got %R", (PyObject *)Py_TYPE(workspace));
    return -1;
  }
  out->workspace = ((MemoryObject *)workspace)->data;
  out->workspace_bytes = ((MemoryObject *)workspace)->bytes;
  return 0;
}

/* ---- Plan ---------------------------------------------------------------- */

static void planDealloc(PyObject *object) {
  PlanObject *self = (PlanObject *)object;
  sparsec_packed_destroy(self->packed);
  sparsec_plan_destroy(self->handle);
  Py_CLEAR(self->kernel);
  freeObject(object);
}

static PyObject *planInfo(PyObject *self, PyObject *arguments) {
  Py_ssize_t variant = 0;
  if (!PyArg_ParseTuple(arguments, "n:info", &variant))
    return NULL;
  sparsec_plan_info_t info = {.size = sizeof info};
  sparsec_status_t status = sparsec_plan_info(((PlanObject *)self)->handle, (size_t)variant, &info);
  if (status)
    return raiseStatus(stateOf(self), status);
  return Py_BuildValue("{s:i,s:L,s:L,s:L,s:L,s:d,s:d,s:L,s:L,s:s,s:L}", "order", (int)info.order, "workers",
                       (long long)info.workers, "tiles", (long long)info.tiles, "bytes", (long long)info.bytes,
                       "workspace_bytes", (long long)info.workspace_bytes, "balance", info.balance, "milliseconds",
                       info.milliseconds, "windows", (long long)info.windows, "columns", (long long)info.columns,
                       "reason", info.reason, "packed_bytes", (long long)info.packed_bytes);
}

static PyObject *planWorkspaceBytes(PyObject *self, PyObject *tuple) {
  ModuleState *state = stateOf(self);
  Arguments arguments;
  if (collectArguments(state, tuple, 0, &arguments))
    return NULL;
  size_t bytes = 0;
  sparsec_status_t status =
      sparsec_plan_workspace_bytes(((PlanObject *)self)->handle, arguments.list, arguments.count, &bytes);
  releaseArguments(&arguments);
  return status ? raiseStatus(state, status) : PyLong_FromSize_t(bytes);
}

static PyObject *planSave(PyObject *self, PyObject *unused) {
  sparsec_plan_t plan = ((PlanObject *)self)->handle;
  size_t bytes = 0;
  sparsec_status_t status = sparsec_plan_save(plan, NULL, 0, &bytes);
  PyObject *saved = status ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
  if (saved) {
    char *buffer = PyBytes_AsString(saved);
    Py_BEGIN_ALLOW_THREADS;
    status = sparsec_plan_save(plan, buffer, bytes, &bytes);
    Py_END_ALLOW_THREADS;
  }
  if (!status)
    return saved;
  Py_XDECREF(saved);
  return raiseStatus(stateOf(self), status);
}

/* Packs the values of the matrix, in the memory of the last call where there was one. */
static PyObject *planPack(PyObject *object, PyObject *values) {
  PlanObject *self = (PlanObject *)object;
  ModuleState *state = stateOf(object);
  PyObject *matrix;
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(values, "O!|K:pack", state->blocks, &matrix, &stream))
    return NULL;
  const sparsec_blocks_t *view = &((BlocksObject *)matrix)->view;
  const sparsec_pack_options_t options = {.size = sizeof options, .stream = (void *)(uintptr_t)stream};
  sparsec_status_t status = self->packed ? sparsec_packed_refill(self->packed, view, options.stream)
                                         : sparsec_plan_pack(self->handle, view, &options, &self->packed);
  return status ? raiseStatus(state, status) : PyBool_FromLong(self->packed != NULL);
}

/* Makes the sections of the plan again from the index arrays of the matrices. */
static PyObject *planRefill(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  PyObject *tuple;
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(values, "O!|K:refill", &PyTuple_Type, &tuple, &stream))
    return NULL;
  Arguments arguments;
  if (collectArguments(state, tuple, stream, &arguments))
    return NULL;
  sparsec_plan_t plan = ((PlanObject *)self)->handle;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_plan_refill(plan, arguments.list, arguments.count, (void *)(uintptr_t)stream);
  Py_END_ALLOW_THREADS;
  releaseArguments(&arguments);
  if (status)
    return raiseStatus(state, status);
  Py_RETURN_NONE;
}

static PyMethodDef planMethods[] = {
    {"info", planInfo, METH_VARARGS, "info(variant) -> dict: what the plan holds for a variant of its kernel"},
    {"pack", planPack, METH_VARARGS,
     "pack(blocks, stream=0) -> bool: packs the values for launches with the plan; False: the plan packs none"},
    {"refill", planRefill, METH_VARARGS,
     "refill(arguments, stream=0): makes the sections again from the index arrays of the matrices"},
    {"save", planSave, METH_NOARGS, "save() -> bytes: the plan, for Kernel.load_plan"},
    {"workspace_bytes", planWorkspaceBytes, METH_O,
     "workspace_bytes(arguments) -> int: bytes that are enough for a launch; () takes all sizes from the plan"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot planSlots[] = {
    {Py_tp_dealloc, planDealloc},
    {Py_tp_methods, planMethods},
    {Py_tp_doc, "A plan, made by Kernel.plan."},
    {0, NULL},
};

PyType_Spec planSpec = {"sparsec._native.Plan", sizeof(PlanObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, planSlots};

/* ---- Kernel -------------------------------------------------------------- */

static void kernelDealloc(PyObject *self) {
  Py_CLEAR(((KernelObject *)self)->image);
  freeObject(self);
}

/* The callable that hears how far a plan is, for the time in which the interpreter's lock is released. */
typedef struct {
  PyObject *callable;
  PyThreadState *thread; /* of the caller, whose thread calls back */
} ProgressCall;

/* Any value that is true cancels. So does an exception, which stays set. */
static int32_t callProgress(void *data, int64_t done, int64_t total) {
  ProgressCall *call = data;
  PyEval_RestoreThread(call->thread);
  PyObject *result = PyObject_CallFunction(call->callable, "LL", (long long)done, (long long)total);
  const int isCancelled = result ? PyObject_IsTrue(result) : 1; /* -1 with an exception */
  Py_XDECREF(result);
  const int hasSignal = !isCancelled && PyErr_CheckSignals();
  call->thread = PyEval_SaveThread();
  return isCancelled || hasSignal;
}

/* The status as an exception, unless a callable has raised one. Takes the status over. */
static void raiseUnlessRaised(ModuleState *state, sparsec_status_t status) {
  if (PyErr_Occurred())
    sparsec_status_free(status);
  else
    raiseStatus(state, status);
}

/* A plan object without a plan. */
static PlanObject *allocatePlan(ModuleState *state, PyObject *kernel) {
  PlanObject *plan = (PlanObject *)allocateObject(state->plan);
  if (plan)
    plan->kernel = (KernelObject *)Py_NewRef(kernel);
  return plan;
}

static PyObject *kernelPlan(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  PyObject *tuple, *progress = Py_None;
  unsigned int flags = 0;
  unsigned long long stream = 0;
  Arguments arguments;
  if (!PyArg_ParseTuple(values, "O|IKO:plan", &tuple, &flags, &stream, &progress) ||
      collectArguments(state, tuple, stream, &arguments))
    return NULL;
  PlanObject *plan = allocatePlan(state, self);
  if (plan) {
    ProgressCall call = {.callable = progress};
    const sparsec_plan_options_t options = {.size = sizeof options,
                                            .arguments = arguments.list,
                                            .argument_count = arguments.count,
                                            .stream = (void *)(uintptr_t)stream,
                                            .flags = flags,
                                            .progress = progress == Py_None ? NULL : callProgress,
                                            .progress_data = &call};
    call.thread = PyEval_SaveThread();
    sparsec_status_t status = sparsec_plan_create(plan->kernel->handle, &options, &plan->handle);
    PyEval_RestoreThread(call.thread);
    if (status) {
      Py_CLEAR(plan);
      raiseUnlessRaised(state, status);
    }
  }
  releaseArguments(&arguments);
  return (PyObject *)plan;
}

static PyObject *kernelLoadPlan(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  PyObject *data, *tuple;
  unsigned long long stream = 0;
  char *bytes;
  Py_ssize_t length;
  Arguments arguments;
  if (!PyArg_ParseTuple(values, "OO|K:load_plan", &data, &tuple, &stream) ||
      PyBytes_AsStringAndSize(data, &bytes, &length) || collectArguments(state, tuple, stream, &arguments))
    return NULL;
  PlanObject *plan = allocatePlan(state, self);
  if (plan) {
    const sparsec_plan_options_t options = {.size = sizeof options,
                                            .arguments = arguments.list,
                                            .argument_count = arguments.count,
                                            .stream = (void *)(uintptr_t)stream};
    sparsec_status_t status;
    Py_BEGIN_ALLOW_THREADS;
    status = sparsec_plan_load(plan->kernel->handle, bytes, (size_t)length, &options, &plan->handle);
    Py_END_ALLOW_THREADS;
    if (status) {
      Py_CLEAR(plan);
      raiseStatus(state, status);
    }
  }
  releaseArguments(&arguments);
  return (PyObject *)plan;
}

static PyObject *kernelLaunch(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  PyObject *tuple, *planObject = NULL, *workspace = NULL;
  unsigned long long stream = 0;
  sparsec_plan_t plan;
  sparsec_launch_options_t options;
  Arguments arguments;
  if (!PyArg_ParseTuple(values, "O|OKO:launch", &tuple, &planObject, &stream, &workspace) ||
      planHandle(state, planObject, &plan) || launchOptions(state, stream, planObject, workspace, &options) ||
      collectArguments(state, tuple, stream, &arguments))
    return NULL;
  sparsec_kernel_t kernel = ((KernelObject *)self)->handle;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_launch_with_options(kernel, plan, arguments.list, arguments.count, &options);
  Py_END_ALLOW_THREADS;
  releaseArguments(&arguments);
  if (status)
    return raiseStatus(state, status);
  Py_RETURN_NONE;
}

static PyObject *kernelVariant(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  PyObject *tuple, *planObject = NULL;
  sparsec_plan_t plan;
  Arguments arguments;
  if (!PyArg_ParseTuple(values, "O|O:variant", &tuple, &planObject) || planHandle(state, planObject, &plan) ||
      collectArguments(state, tuple, 0, &arguments))
    return NULL;
  size_t variant = 0;
  sparsec_status_t status =
      sparsec_launch_variant(((KernelObject *)self)->handle, plan, arguments.list, arguments.count, &variant);
  releaseArguments(&arguments);
  return status ? raiseStatus(state, status) : PyLong_FromSize_t(variant);
}

/* Runs the reference into two new byte arrays of (rowEnd - rowBegin) * width doubles. */
static PyObject *runReference(ModuleState *state, sparsec_kernel_t kernel, const Arguments *arguments,
                              long long rowBegin, long long rowEnd, long long width, int isLse) {
  const long long rows = rowEnd - rowBegin;
  if (rows < 0 || width < 0 || (width && rows > PY_SSIZE_T_MAX / (long long)sizeof(double) / width))
    return raiseInvalidArgument(state, "expects rows in ascending order, and results that fit in memory");
  PyObject *y = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * width * (long long)sizeof(double)));
  PyObject *magnitude = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * width * (long long)sizeof(double)));
  PyObject *result = NULL;
  if (y && magnitude) {
    double *out = (double *)PyByteArray_AsString(y), *outMagnitude = (double *)PyByteArray_AsString(magnitude);
    sparsec_status_t status;
    Py_BEGIN_ALLOW_THREADS;
    status =
        isLse ? sparsec_reference_lse(kernel, arguments->list, arguments->count, rowBegin, rowEnd, out, outMagnitude)
              : sparsec_reference_run(kernel, arguments->list, arguments->count, rowBegin, rowEnd, out, outMagnitude);
    Py_END_ALLOW_THREADS;
    result = status ? raiseStatus(state, status) : PyTuple_Pack(2, y, magnitude);
  }
  Py_XDECREF(y);
  Py_XDECREF(magnitude);
  return result;
}

static PyObject *kernelReference(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  PyObject *tuple;
  long long rowBegin, rowEnd, width;
  int isLse = 0;
  Arguments arguments;
  if (!PyArg_ParseTuple(values, "OLLL|p:reference", &tuple, &rowBegin, &rowEnd, &width, &isLse) ||
      collectArguments(state, tuple, 0, &arguments))
    return NULL;
  PyObject *result = runReference(state, ((KernelObject *)self)->handle, &arguments, rowBegin, rowEnd, width, isLse);
  releaseArguments(&arguments);
  return result;
}

LauncherObject *makeLauncher(ModuleState *state, PyObject *kernel, PyObject *plan, PyObject *workspace,
                             const sparsec_argument_t *arguments, size_t count, PyObject *objects) {
  sparsec_plan_t handle;
  sparsec_launch_options_t options;
  if (planHandle(state, plan, &handle) || launchOptions(state, 0, plan, workspace, &options))
    return NULL;
  LauncherObject *launcher = (LauncherObject *)allocateObject(state->launcher);
  if (!launcher)
    return NULL;
  launcher->kernel = Py_NewRef(kernel);
  launcher->plan = Py_NewRef(plan);
  launcher->workspace = Py_NewRef(workspace);
  launcher->objects = Py_XNewRef(objects);
  launcher->lock = PyThread_allocate_lock();
  sparsec_status_t status = NULL;
  if (launcher->lock)
    status = sparsec_launcher_create(((KernelObject *)kernel)->handle, handle, arguments, count, &options,
                                     &launcher->handle);
  if (status)
    raiseStatus(state, status);
  else if (!launcher->lock)
    PyErr_NoMemory();
  if (!launcher->handle)
    Py_CLEAR(launcher);
  return launcher;
}

static PyObject *kernelLauncher(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  PyObject *tuple, *planObject = Py_None, *workspace = Py_None;
  Arguments arguments;
  if (!PyArg_ParseTuple(values, "O|OO:launcher", &tuple, &planObject, &workspace) ||
      collectArguments(state, tuple, 0, &arguments))
    return NULL;
  LauncherObject *launcher =
      makeLauncher(state, self, planObject, workspace, arguments.list, arguments.count, arguments.objects);
  releaseArguments(&arguments);
  return (PyObject *)launcher;
}

/* Writes the fp8 values of an argument, and their scales. */
static PyObject *kernelQuantize(PyObject *self, PyObject *values) {
  ModuleState *state = stateOf(self);
  unsigned int argument, group;
  PyObject *source, *target, *scales;
  unsigned long long stream = 0;
  if (!PyArg_ParseTuple(values, "IIOOO!|K:quantize", &argument, &group, &source, &target, state->dense, &scales,
                        &stream))
    return NULL;
  PyObject *pair = PyTuple_Pack(2, source, target);
  Arguments arguments;
  if (!pair || collectArguments(state, pair, stream, &arguments)) {
    Py_XDECREF(pair);
    return NULL;
  }
  Py_DECREF(pair);
  sparsec_kernel_t kernel = ((KernelObject *)self)->handle;
  const sparsec_dense_t *scalesView = &((DenseObject *)scales)->view;
  sparsec_status_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = sparsec_quantize(kernel, argument, &arguments.list[0], &arguments.list[1], (sparsec_scale_group_t)group,
                            scalesView, (void *)(uintptr_t)stream);
  Py_END_ALLOW_THREADS;
  releaseArguments(&arguments);
  if (status)
    return raiseStatus(state, status);
  Py_RETURN_NONE;
}

static PyMethodDef kernelMethods[] = {
    {"plan", kernelPlan, METH_VARARGS,
     "plan(arguments, flags=0, stream=0, progress=None) -> Plan; None leaves an argument open"},
    {"load_plan", kernelLoadPlan, METH_VARARGS, "load_plan(data, arguments, stream=0) -> Plan from Plan.save"},
    {"launch", kernelLaunch, METH_VARARGS, "launch(arguments, plan=None, stream=0, workspace=None)"},
    {"variant", kernelVariant, METH_VARARGS, "variant(arguments, plan=None) -> int: the variant that a launch takes"},
    {"reference", kernelReference, METH_VARARGS,
     "reference(arguments, row_begin, row_end, width, lse=False) -> (bytearray, bytearray): results and magnitudes"},
    {"quantize", kernelQuantize, METH_VARARGS,
     "quantize(argument, group, source, target, scales, stream=0): writes the fp8 target and the scales"},
    {"pattern_buffer", makePatternBuffer, METH_VARARGS,
     "pattern_buffer(rows, columns, block, batches, heads) -> PatternBuffer on the kernel's device"},
    {"launcher", kernelLauncher, METH_VARARGS, "launcher(arguments, plan=None, workspace=None) -> Launcher"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kernelSlots[] = {
    {Py_tp_dealloc, kernelDealloc},
    {Py_tp_methods, kernelMethods},
    {Py_tp_doc, "A kernel of an image, made by Image.kernel."},
    {0, NULL},
};

PyType_Spec kernelSpec = {"sparsec._native.Kernel", sizeof(KernelObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kernelSlots};

/* ---- Launcher ------------------------------------------------------------ */

static void launcherDealloc(PyObject *object) {
  LauncherObject *self = (LauncherObject *)object;
  sparsec_launcher_destroy(self->handle);
  if (self->lock)
    PyThread_free_lock(self->lock);
  free(self->bound);
  Py_CLEAR(self->objects);
  Py_CLEAR(self->workspace);
  Py_CLEAR(self->plan);
  Py_CLEAR(self->kernel);
  freeObject(object);
}

static PyObject *launcherRun(PyObject *object, PyObject *arguments) {
  LauncherObject *self = (LauncherObject *)object;
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
    return raiseStatus(stateOf(object), status);
  Py_RETURN_NONE;
}

static PyObject *launcherRebind(PyObject *object, PyObject *tuple) {
  LauncherObject *self = (LauncherObject *)object;
  ModuleState *state = stateOf(object);
  Arguments arguments;
  if (collectArguments(state, tuple, 0, &arguments))
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
  releaseArguments(&arguments);
  if (status)
    return raiseStatus(state, status);
  Py_RETURN_NONE;
}

/* A binding may change these in an argument: an address or a scalar. */
static uint64_t bindingOf(const sparsec_argument_t *argument) {
  uint64_t bits = 0;
  if (argument->kind == SPARSEC_ARGUMENT_SCALAR)
    memcpy(&bits, &argument->scalar, sizeof bits);
  else if (argument->kind == SPARSEC_ARGUMENT_DENSE)
    bits = (uintptr_t)((const sparsec_dense_t *)argument->view)->data;
  else
    bits = (uintptr_t)((const sparsec_blocks_t *)argument->view)->values;
  return bits;
}

/* Binds the arguments, unless the last binding had the same memory. The caller has the launcher's lock. */
static sparsec_status_t bind(LauncherObject *self, const sparsec_argument_t *arguments, size_t count) {
  int isBound = self->bound != NULL;
  for (size_t i = 0; i < count && isBound; ++i)
    isBound = self->bound[i] == bindingOf(&arguments[i]);
  if (isBound)
    return NULL;
  sparsec_status_t status = sparsec_launcher_rebind(self->handle, arguments, count);
  if (status)
    return status;
  if (!self->bound)
    self->bound = malloc(count * sizeof *self->bound);
  for (size_t i = 0; i < count && self->bound; ++i)
    self->bound[i] = bindingOf(&arguments[i]);
  return NULL;
}

sparsec_status_t repeatLaunch(LauncherObject *self, const sparsec_argument_t *arguments, size_t count, void *stream) {
  if (PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) {
    sparsec_status_t status = bind(self, arguments, count);
    if (!status)
      status = sparsec_launcher_run(self->handle, stream);
    PyThread_release_lock(self->lock);
    return status;
  }
  /* Another thread runs the launcher. This one does not wait for it. */
  const MemoryObject *workspace = self->workspace == Py_None ? NULL : (const MemoryObject *)self->workspace;
  const sparsec_launch_options_t options = {
      sizeof options,      stream, workspace ? workspace->data : NULL, workspace ? workspace->bytes : 0, 0, 0,
      packedOf(self->plan)};
  sparsec_plan_t plan = self->plan == Py_None ? NULL : ((PlanObject *)self->plan)->handle;
  return sparsec_launch_with_options(((KernelObject *)self->kernel)->handle, plan, arguments, count, &options);
}

static PyMethodDef launcherMethods[] = {
    {"run", launcherRun, METH_VARARGS, "run(stream=0): launches with the arguments of the last binding"},
    {"rebind", launcherRebind, METH_O, "rebind(arguments): other memory and scalars for the next runs"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot launcherSlots[] = {
    {Py_tp_dealloc, launcherDealloc},
    {Py_tp_methods, launcherMethods},
    {Py_tp_doc, "A launch that is prepared once and run many times, made by Kernel.launcher."},
    {0, NULL},
};

PyType_Spec launcherSpec = {"sparsec._native.Launcher", sizeof(LauncherObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, launcherSlots};

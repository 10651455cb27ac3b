/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Callers: calls that repeat earlier ones with other memory. A caller keeps a launcher for every form of arguments, and
 * reads tensors by the exchange interface, so that a call takes about a microsecond beside the launch. */

#include "exchange.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_FORMS = 16,         /* that a caller keeps; the oldest one goes first */
  WIDEST_REQUIREMENT = 16, /* bytes: the largest alignment by which variants differ */
  NO_PLACE = -1,           /* the kernel has no argument with blocks */
};

/* All that a launcher fixes of an argument. Unused parts are zero, so that forms are compared as bytes. */
typedef struct {
  uint32_t kind;
  int32_t device, dtype, rank;
  int64_t sizes[SPARSEC_MAX_RANK], strides[SPARSEC_MAX_RANK];
  int64_t alignment;
} Form;

typedef struct {
  LauncherObject *launcher;
  PyObject *makers; /* by result the ways to make it, each a function with its arguments, (function, tuple) */
  void *stream;
  Form *forms; /* of the inputs */
} Prepared;

typedef struct {
  PyObject ob_base;
  BlocksObject *blocks; /* NULL: the kernel has no argument with blocks */
  PyObject *isGuarded;  /* tells whether tensors that require a gradient are refused; NULL: they never are */
  PyObject *isPausing;  /* tells whether calls with a workspace or packed values are not repeated; NULL: all are */
  /* An operator's lists: weak references to their tensors, which come first in a call around it; and the versions of
   * these, a tuple of numbers, or NULL where their contents do not matter. */
  PyObject *lists, *versions;
  PyObject *observers; /* of an operator: functions that give a true value if something would see its calls, or NULL */
  PyObject *types;     /* of an operator: those of tensors whose calls no library but torch sees, or NULL */
  int isFolding;
  int takesValues; /* the input for the blocks is a tensor of their values */
  int isPacked;    /* launches read a copy of the values at this address, which had this version then */
  const void *packedValues;
  long long packedVersion;
  Py_ssize_t blocksPlace, inputCount, argumentCount;
  int32_t ranks[MOST_REPEATED_ARGUMENTS]; /* of tensors; -1: a scalar */
  Prepared prepared[MOST_FORMS];
  size_t oldest;
} CallerObject;

/* The arguments of one call. */
typedef struct {
  sparsec_argument_t list[MOST_REPEATED_ARGUMENTS];
  union {
    sparsec_dense_t dense;
    sparsec_blocks_t blocks;
  } views[MOST_REPEATED_ARGUMENTS];
  Form forms[MOST_REPEATED_ARGUMENTS];
  void *stream; /* the library's current one on the device of the tensors; NULL for host memory */
  int hasStream;
  int isGuarded; /* tensors that require a gradient are refused */
} Call;

/* ---- Reading ------------------------------------------------------------- */

static int64_t alignmentOf(const void *data) {
  const uintptr_t bits = (uintptr_t)data | WIDEST_REQUIREMENT;
  return (int64_t)(bits & -bits);
}

static void describe(const sparsec_dense_t *view, Form *out) {
  out->device = view->device;
  out->dtype = (int32_t)view->dtype;
  out->rank = view->rank;
  memcpy(out->sizes, view->sizes, sizeof out->sizes);
  memcpy(out->strides, view->strides, sizeof out->strides);
  out->alignment = alignmentOf(view->data);
}

/* Makes a view of `rank` dimensions by making one of the leading dimensions. Returns 0 if their strides do not allow
 * it. */
static int fold(sparsec_dense_t *view, int32_t rank) {
  const int32_t folded = view->rank - rank;
  if (folded == 0)
    return 1;
  if (rank == 0 || folded < -1 || (folded < 0 && rank == 1))
    return 0;
  sparsec_dense_t old = *view;
  int64_t size = 1, stride = 1, elements = 1;
  for (int32_t d = folded; d >= 0; --d) {
    elements *= old.sizes[d];
    if (old.sizes[d] == 1)
      continue;
    if (size != 1 && old.sizes[d] != 0 && old.strides[d] != size * stride)
      return 0;
    if (size == 1)
      stride = old.strides[d];
    size *= old.sizes[d];
  }
  memset(view->sizes, 0, sizeof view->sizes);
  memset(view->strides, 0, sizeof view->strides);
  view->rank = rank;
  view->sizes[0] = elements;
  view->strides[0] = stride;
  for (int32_t d = 1; d < rank; ++d) {
    view->sizes[d] = old.sizes[folded + d];
    view->strides[d] = old.strides[folded + d];
  }
  return 1;
}

/* Whether a function without arguments gives a true value, or raises. */
static int isTrue(PyObject *function) {
  PyObject *given = PyObject_CallNoArgs(function);
  const int answer = given ? PyObject_IsTrue(given) != 0 : 1;
  Py_XDECREF(given);
  PyErr_Clear();
  return answer;
}

/* Whether the object is a tensor whose gradient the call would lose. */
static int losesGradient(ModuleState *state, const Call *call, PyObject *object) {
  if (!call->isGuarded)
    return 0;
  PyObject *requires = PyObject_GetAttr(object, state->requiresGradient);
  PyErr_Clear();
  Py_XDECREF(requires);
  return requires == Py_True;
}

/* Reads a tensor. Returns 0 if it is none, or one that this file cannot take. */
static int readTensor(ModuleState *state, PyObject *object, Call *call, sparsec_dense_t *out) {
  const ExchangeInterface *exchange = exchangeOf(state, object);
  if (!exchange || losesGradient(state, call, object))
    return 0;
  if (readExchange(state, exchange, object, out)) {
    PyErr_Clear(); /* who repeats the call refuses it by name */
    return 0;
  }
  if (out->device < 0 || call->hasStream)
    return 1;
  call->hasStream = exchange->currentStream(EXCHANGE_CUDA, out->device, &call->stream) == 0;
  PyErr_Clear();
  return call->hasStream;
}

/* The number of changes of a tensor, -1: it counts none. */
static long long versionOf(ModuleState *state, PyObject *tensor) {
  PyObject *number = PyObject_GetAttr(tensor, state->versionName);
  const long long version = number ? PyLong_AsLongLong(number) : -1;
  Py_XDECREF(number);
  PyErr_Clear();
  return version;
}

/* Takes the caller's blocks, with the values of a tensor if the caller takes these. */
static int readBlocks(ModuleState *state, CallerObject *self, PyObject *object, Call *call, Py_ssize_t place) {
  sparsec_blocks_t *view = &call->views[place].blocks;
  *view = self->blocks->view;
  call->list[place] = sparsec_argument_blocks(view);
  if (self->takesValues) {
    sparsec_dense_t values;
    const int64_t sizes[] = {view->capacity, view->block_rows, view->block_columns};
    if (!readTensor(state, object, call, &values) || values.rank != 3 || values.dtype != view->dtype ||
        values.device != view->device || memcmp(values.sizes, sizes, sizeof sizes) ||
        (values.sizes[0] > 1 && values.strides[0] != sizes[1] * sizes[2]) ||
        (sizes[1] > 1 && values.strides[1] != sizes[2]))
      return 0;
    if (self->isPacked && (values.data != self->packedValues || versionOf(state, object) != self->packedVersion))
      return 0;
    view->values = values.data;
  }
  call->forms[place].kind = call->list[place].kind;
  call->forms[place].alignment = alignmentOf(view->values);
  return 1;
}

static int readDense(ModuleState *state, CallerObject *self, PyObject *object, Call *call, Py_ssize_t place) {
  sparsec_dense_t *view = &call->views[place].dense;
  if (!readTensor(state, object, call, view))
    return 0;
  describe(view, &call->forms[place]);
  if (view->rank != self->ranks[place] && !(self->isFolding && fold(view, self->ranks[place])))
    return 0;
  call->list[place] = sparsec_argument_dense(view);
  call->forms[place].kind = call->list[place].kind;
  return 1;
}

/* Reads the inputs. Returns 0 without an exception if the call cannot be repeated. */
static int readInputs(ModuleState *state, CallerObject *self, PyObject *const *inputs, Py_ssize_t count, int isGuarded,
                      Call *call) {
  if (count != self->inputCount)
    return 0;
  call->stream = NULL;
  call->hasStream = 0;
  call->isGuarded = isGuarded && self->isGuarded && isTrue(self->isGuarded);
  memset(call->forms, 0, (size_t)count * sizeof *call->forms);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i == self->blocksPlace) {
      if (!readBlocks(state, self, inputs[i], call, i))
        return 0;
    } else if (self->ranks[i] < 0) {
      call->list[i] = sparsec_argument_scalar(PyFloat_AsDouble(inputs[i]));
      call->forms[i].kind = call->list[i].kind;
      if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
      }
    } else if (!readDense(state, self, inputs[i], call, i)) {
      return 0;
    }
  }
  return 1;
}

/* ---- Calls --------------------------------------------------------------- */

static Prepared *findPrepared(CallerObject *self, const Call *call) {
  const size_t bytes = (size_t)self->inputCount * sizeof(Form);
  for (size_t i = 0; i < MOST_FORMS; ++i) {
    Prepared *each = &self->prepared[i];
    if (each->launcher && each->stream == call->stream && memcmp(each->forms, call->forms, bytes) == 0)
      return each;
  }
  return NULL;
}

static void clearPrepared(Prepared *prepared) {
  Prepared old = *prepared;
  memset(prepared, 0, sizeof *prepared);
  PyMem_Free(old.forms);
  Py_XDECREF((PyObject *)old.launcher);
  Py_XDECREF(old.makers);
}

/* The device of the first input that says where it is. */
static int32_t deviceOf(const CallerObject *self, const Call *call) {
  int32_t device = SPARSEC_PLACE_UNKNOWN;
  for (Py_ssize_t i = 0; i < self->inputCount && device == SPARSEC_PLACE_UNKNOWN; ++i) {
    if (i == self->blocksPlace)
      device = call->views[i].blocks.device;
    else if (self->ranks[i] >= 0)
      device = call->views[i].dense.device;
  }
  return device;
}

/* Makes a result and reads it. The first way may make it on the current device, whichever that is; it is not taken
 * then. Returns NULL with an exception if no way makes one. */
static PyObject *makeResult(ModuleState *state, CallerObject *self, PyObject *ways, Call *call, Py_ssize_t place) {
  const int32_t device = deviceOf(self, call);
  for (Py_ssize_t i = 0; i < PyTuple_Size(ways); ++i) {
    PyObject *way = PyTuple_GetItem(ways, i);
    PyObject *result = PyObject_Call(PyTuple_GetItem(way, 0), PyTuple_GetItem(way, 1), NULL);
    if (!result)
      return NULL;
    if (readDense(state, self, result, call, place) &&
        (device == SPARSEC_PLACE_UNKNOWN || call->views[place].dense.device == device))
      return result;
    Py_DECREF(result);
  }
  return raiseInvalidArgument(state, "expects makers of results to make tensors of their ranks beside the inputs");
}

/* Makes the results. Returns the one result, or a tuple of several. */
static PyObject *makeResults(ModuleState *state, CallerObject *self, PyObject *makers, Call *call) {
  const Py_ssize_t count = self->argumentCount - self->inputCount;
  call->isGuarded = 0;
  if (count == 1)
    return makeResult(state, self, PyTuple_GetItem(makers, 0), call, self->inputCount);
  PyObject *results = PyTuple_New(count);
  for (Py_ssize_t i = 0; results && i < count; ++i) {
    PyObject *result = makeResult(state, self, PyTuple_GetItem(makers, i), call, self->inputCount + i);
    if (!result || PyTuple_SetItem(results, i, result))
      Py_CLEAR(results);
  }
  return results;
}

/* SPARSEC_LOG asks for lines about every call, which Python writes. */
static int isLogOn(void) {
  const char *value = getenv("SPARSEC_LOG");
  return value && *value && strcmp(value, "0") != 0;
}

/* Whether a launch needs a workspace that it may not have now, or packed values that must be made again. */
static int isPaused(const CallerObject *self, const Prepared *prepared) {
  const int mayPause = prepared->launcher->workspace != Py_None || self->isPacked;
  return mayPause && self->isPausing && isTrue(self->isPausing);
}

/* Repeats a call. Gives None if there was none of this form. */
static PyObject *repeat(CallerObject *self, PyObject *const *inputs, Py_ssize_t count, int isGuarded) {
  ModuleState *state = stateOf((PyObject *)self);
  Call call;
  Prepared *prepared = NULL;
  if (!isLogOn() && readInputs(state, self, inputs, count, isGuarded, &call))
    prepared = findPrepared(self, &call);
  if (!prepared || isPaused(self, prepared))
    Py_RETURN_NONE;
  /* Other threads may drop what is prepared while the results are made and while the launcher runs. */
  LauncherObject *launcher = (LauncherObject *)Py_NewRef((PyObject *)prepared->launcher);
  PyObject *makers = Py_NewRef(prepared->makers);
  PyObject *results = makeResults(state, self, makers, &call);
  if (results) {
    sparsec_status_t status;
    Py_BEGIN_ALLOW_THREADS;
    status = repeatLaunch(launcher, call.list, (size_t)self->argumentCount, call.stream);
    Py_END_ALLOW_THREADS;
    if (status) {
      Py_CLEAR(results);
      raiseStatus(state, status);
    }
  }
  Py_DECREF(makers);
  Py_DECREF((PyObject *)launcher);
  return results;
}

PyObject *repeatCall(PyObject *object, PyObject *const *inputs, Py_ssize_t count) {
  CallerObject *self = (CallerObject *)object;
  return repeat(self, inputs, count, !self->observers);
}

/* Whether the object has one of the types. */
static int hasType(PyObject *object, PyObject *types) {
  const PyObject *type = (PyObject *)Py_TYPE(object);
  for (Py_ssize_t i = 0; i < PyTuple_Size(types); ++i)
    if (PyTuple_GetItem(types, i) == type)
      return 1;
  return 0;
}

/* Whether the first inputs are the lists of the operator, with the contents that they had. */
static int hasLists(CallerObject *self, PyObject *const *inputs) {
  ModuleState *state = stateOf((PyObject *)self);
  for (Py_ssize_t i = 0; i < PyTuple_Size(self->lists); ++i) {
    if (PyWeakref_GetObject(PyTuple_GetItem(self->lists, i)) != inputs[i])
      return 0;
    if (self->versions && PyLong_AsLongLong(PyTuple_GetItem(self->versions, i)) != versionOf(state, inputs[i]))
      return 0;
  }
  return 1;
}

/* A call around the operator, if nothing would see it there. Inputs that are None are left out. */
static PyObject *callerCallAround(PyObject *object, PyObject *const *inputs, Py_ssize_t count) {
  CallerObject *self = (CallerObject *)object;
  PyObject *given[MOST_REPEATED_ARGUMENTS];
  const Py_ssize_t listCount = self->lists ? PyTuple_Size(self->lists) : 0;
  Py_ssize_t givenCount = 0;
  int isSeen = !self->lists || count < listCount || count - listCount > MOST_REPEATED_ARGUMENTS;
  isSeen = isSeen || !hasLists(self, inputs);
  for (Py_ssize_t i = listCount; i < count && !isSeen; ++i) {
    if (inputs[i] == Py_None)
      continue;
    isSeen = !hasType(inputs[i], self->types);
    given[givenCount++] = inputs[i];
  }
  for (Py_ssize_t i = 0; !isSeen && i < PyTuple_Size(self->observers); ++i)
    isSeen = isTrue(PyTuple_GetItem(self->observers, i));
  if (isSeen)
    Py_RETURN_NONE;
  return repeat(self, given, givenCount, 1);
}

/* Whether the tuple has ways to make each of `count` results. */
static int areMakers(PyObject *makers, Py_ssize_t count) {
  if (PyTuple_Size(makers) != count)
    return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *ways = PyTuple_GetItem(makers, i);
    const Py_ssize_t wayCount = PyTuple_Check(ways) ? PyTuple_Size(ways) : 0;
    for (Py_ssize_t k = 0; k < wayCount; ++k) {
      PyObject *way = PyTuple_GetItem(ways, k);
      if (!PyTuple_Check(way) || PyTuple_Size(way) != 2 || !PyTuple_Check(PyTuple_GetItem(way, 1)))
        return 0;
    }
    if (wayCount == 0)
      return 0;
  }
  return 1;
}

static PyObject *callerAdd(PyObject *object, PyObject *values) {
  CallerObject *self = (CallerObject *)object;
  ModuleState *state = stateOf(object);
  PyObject *kernel, *plan, *workspace, *makers, *inputs;
  if (!PyArg_ParseTuple(values, "O!OOO!O!:add", state->kernel, &kernel, &plan, &workspace, &PyTuple_Type, &makers,
                        &PyTuple_Type, &inputs))
    return NULL;
  if (!areMakers(makers, self->argumentCount - self->inputCount))
    return raiseInvalidArgument(state, "expects makers of results to be functions with their arguments");
  PyObject *objects[MOST_REPEATED_ARGUMENTS];
  const Py_ssize_t count = PyTuple_Size(inputs);
  Call call;
  for (Py_ssize_t i = 0; i < count && i < MOST_REPEATED_ARGUMENTS; ++i)
    objects[i] = PyTuple_GetItem(inputs, i);
  if (count != self->inputCount || !readInputs(state, self, objects, count, !self->observers, &call))
    Py_RETURN_FALSE;
  PyObject *results = makeResults(state, self, makers, &call);
  if (!results)
    return NULL;
  LauncherObject *launcher = makeLauncher(state, kernel, plan, workspace, call.list, (size_t)self->argumentCount, NULL);
  Py_DECREF(results);
  const size_t bytes = (size_t)self->inputCount * sizeof(Form);
  Form *forms = launcher ? PyMem_Malloc(bytes + 1) : NULL;
  if (!forms) {
    Py_XDECREF((PyObject *)launcher);
    return launcher ? PyErr_NoMemory() : NULL;
  }
  memcpy(forms, call.forms, bytes);
  Prepared *place = &self->prepared[self->oldest];
  self->oldest = (self->oldest + 1) % MOST_FORMS;
  clearPrepared(place);
  *place = (Prepared){launcher, Py_NewRef(makers), call.stream, forms};
  Py_RETURN_TRUE;
}

/* ---- The type ------------------------------------------------------------ */

/* Takes the parts of an operator that only a call around it needs. */
static int takeOperator(CallerObject *self, ModuleState *state, PyObject *lists, PyObject *versions,
                        PyObject *observers, PyObject *types) {
  int isRight = !observers == !types && (observers || !lists) && (lists || !versions);
  for (Py_ssize_t i = 0; isRight && lists && i < PyTuple_Size(lists); ++i)
    isRight = PyWeakref_Check(PyTuple_GetItem(lists, i));
  if (!isRight || (versions && PyTuple_Size(versions) != PyTuple_Size(lists))) {
    raiseInvalidArgument(state, "expects observers and types together, and weak references to lists with versions");
    return -1;
  }
  self->lists = Py_XNewRef(lists);
  self->versions = Py_XNewRef(versions);
  self->observers = Py_XNewRef(observers);
  self->types = Py_XNewRef(types);
  return 0;
}

/* The address and version of the values that are packed. */
static int takePacked(CallerObject *self, PyObject *packed) {
  unsigned long long address;
  if (!packed)
    return 0;
  if (!PyArg_ParseTuple(packed, "KL:Caller", &address, &self->packedVersion))
    return -1;
  self->packedValues = (const void *)(uintptr_t)address;
  self->isPacked = 1;
  return 0;
}

static PyObject *callerNew(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"ranks", "results", "place",    "blocks",    "takes_values", "folds",  "guard",
                          "pause", "lists",   "versions", "observers", "types",        "packed", NULL};
  ModuleState *state = PyType_GetModuleState(type);
  PyObject *ranks, *blocks, *guard = Py_None, *pause = Py_None;
  PyObject *lists = NULL, *versions = NULL, *observers = NULL, *types = NULL, *packed = NULL;
  Py_ssize_t results, place;
  int takesValues = 0, folds = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!nnO|ppOOO!O!O!O!O!:Caller", names, &PyTuple_Type, &ranks,
                                   &results, &place, &blocks, &takesValues, &folds, &guard, &pause, &PyTuple_Type,
                                   &lists, &PyTuple_Type, &versions, &PyTuple_Type, &observers, &PyTuple_Type, &types,
                                   &PyTuple_Type, &packed))
    return NULL;
  const Py_ssize_t count = PyTuple_Size(ranks);
  const int hasBlocks = Py_TYPE(blocks) == state->blocks;
  if (count > MOST_REPEATED_ARGUMENTS || results < 0 || results > count || place >= count - results ||
      hasBlocks != (place >= 0))
    return raiseInvalidArgument(state, "expects at most %d arguments, and blocks among the inputs",
                                MOST_REPEATED_ARGUMENTS);
  CallerObject *self = (CallerObject *)allocateObject(type);
  if (!self)
    return NULL;
  self->blocks = hasBlocks ? (BlocksObject *)Py_NewRef(blocks) : NULL;
  self->isGuarded = guard == Py_None ? NULL : Py_NewRef(guard);
  self->isPausing = pause == Py_None ? NULL : Py_NewRef(pause);
  self->isFolding = folds;
  self->takesValues = takesValues;
  self->blocksPlace = hasBlocks ? place : NO_PLACE;
  self->argumentCount = count;
  self->inputCount = count - results;
  for (Py_ssize_t i = 0; i < count; ++i)
    self->ranks[i] = (int32_t)PyLong_AsLong(PyTuple_GetItem(ranks, i));
  if (PyErr_Occurred() || takeOperator(self, state, lists, versions, observers, types) || takePacked(self, packed))
    Py_CLEAR(self);
  return (PyObject *)self;
}

static void callerDealloc(PyObject *object) {
  CallerObject *self = (CallerObject *)object;
  for (size_t i = 0; i < MOST_FORMS; ++i)
    clearPrepared(&self->prepared[i]);
  Py_CLEAR(self->blocks);
  Py_CLEAR(self->isGuarded);
  Py_CLEAR(self->isPausing);
  Py_CLEAR(self->lists);
  Py_CLEAR(self->versions);
  Py_CLEAR(self->observers);
  Py_CLEAR(self->types);
  freeObject(object);
}

static PyMethodDef callerMethods[] = {
    {"call", (PyCFunction)(void (*)(void))repeatCall, METH_FASTCALL,
     "call(*inputs) -> results: launches if such a call was added, else gives None"},
    {"call_around", (PyCFunction)(void (*)(void))callerCallAround, METH_FASTCALL,
     "call_around(*lists, *inputs) -> results: as call, without inputs that are None; gives None if the lists are "
     "others or something would see a call of the operator"},
    {"add", callerAdd, METH_VARARGS,
     "add(kernel, plan, workspace, makers, inputs) -> bool: prepares calls of this form; False: they cannot be"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot callerSlots[] = {
    {Py_tp_new, callerNew},
    {Py_tp_dealloc, callerDealloc},
    {Py_tp_methods, callerMethods},
    {Py_tp_doc,
     "Caller(ranks, results, place, blocks, takes_values=False, folds=False, guard=None, pause=None, lists, versions, "
     "observers, types, packed): calls that repeat earlier ones"},
    {0, NULL},
};

PyType_Spec callerSpec = {"sparsec._native.Caller", sizeof(CallerObject), 0, Py_TPFLAGS_DEFAULT, callerSlots};

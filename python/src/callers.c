/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The callers of a kernel, and the choice of the one that repeats a call: that of its matrix or pattern. */

#include "native.h"

typedef struct {
  PyObject ob_base;
  PyObject *callers;  /* dict: address of a matrix or pattern, or 0 -> (weak reference to it, Caller) */
  PyObject *captures; /* tuple, by input of the kernel: what its program captured; None: calls pass it */
  Py_ssize_t place;   /* of the matrix or pattern among all inputs; -1: there is none, and the address is 0 */
} CallersObject;

/* All inputs of the kernel, for those of a call. Returns 0 if these are too few or too many. */
static int completeInputs(const CallersObject *self, PyObject *const *inputs, Py_ssize_t count, PyObject **out) {
  const Py_ssize_t all = PyTuple_Size(self->captures);
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 0; i < all; ++i) {
    out[i] = PyTuple_GetItem(self->captures, i);
    if (out[i] != Py_None)
      continue;
    if (next == count)
      return 0;
    out[i] = inputs[next++];
  }
  return next == count;
}

/* The caller of a matrix or pattern, as a new reference; NULL without an exception if there is none. */
static PyObject *callerOf(const CallersObject *self, PyObject *owner) {
  PyObject *key = PyLong_FromVoidPtr(owner);
  PyObject *entry = key ? PyDict_GetItemWithError(self->callers, key) : NULL;
  Py_XDECREF(key);
  PyErr_Clear();
  if (!entry)
    return NULL;
  /* Another object may have had this address. */
  if (owner && PyWeakref_GetObject(PyTuple_GetItem(entry, 0)) != owner)
    return NULL;
  return Py_NewRef(PyTuple_GetItem(entry, 1));
}

static PyObject *callersCall(PyObject *object, PyObject *const *inputs, Py_ssize_t count) {
  CallersObject *self = (CallersObject *)object;
  PyObject *given[MOST_REPEATED_ARGUMENTS];
  if (PyTuple_Size(self->captures) > MOST_REPEATED_ARGUMENTS || !completeInputs(self, inputs, count, given))
    Py_RETURN_NONE;
  PyObject *caller = callerOf(self, self->place < 0 ? NULL : given[self->place]);
  if (!caller)
    Py_RETURN_NONE;
  PyObject *value = repeatCall(caller, given, PyTuple_Size(self->captures));
  Py_DECREF(caller);
  return value;
}

static PyObject *callersKeep(PyObject *object, PyObject *values) {
  CallersObject *self = (CallersObject *)object;
  ModuleState *state = stateOf(object);
  PyObject *key, *reference, *caller;
  if (!PyArg_ParseTuple(values, "O!OO!:keep", &PyLong_Type, &key, &reference, state->caller, &caller))
    return NULL;
  if (self->place >= 0 && !PyWeakref_Check(reference))
    return raiseInvalidArgument(state, "expects a weak reference");
  PyObject *entry = PyTuple_Pack(2, reference, caller);
  const int failed = !entry || PyDict_SetItem(self->callers, key, entry);
  Py_XDECREF(entry);
  if (failed)
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *callersForget(PyObject *object, PyObject *key) {
  if (PyDict_DelItem(((CallersObject *)object)->callers, key))
    PyErr_Clear(); /* it is forgotten already */
  Py_RETURN_NONE;
}

static PyObject *callersNew(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"captures", "place", NULL};
  ModuleState *state = PyType_GetModuleState(type);
  PyObject *captures;
  Py_ssize_t place;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!n:Callers", names, &PyTuple_Type, &captures, &place))
    return NULL;
  const Py_ssize_t count = PyTuple_Size(captures);
  if (place >= count)
    return raiseInvalidArgument(state, "expects the place of one of %zd inputs, but got %zd", count, place);
  CallersObject *self = (CallersObject *)allocateObject(type);
  if (!self)
    return NULL;
  self->callers = PyDict_New();
  self->captures = Py_NewRef(captures);
  self->place = place;
  if (!self->callers)
    Py_CLEAR(self);
  return (PyObject *)self;
}

static void callersDealloc(PyObject *object) {
  CallersObject *self = (CallersObject *)object;
  Py_CLEAR(self->callers);
  Py_CLEAR(self->captures);
  freeObject(object);
}

static PyMethodDef callersMethods[] = {
    {"call", (PyCFunction)(void (*)(void))callersCall, METH_FASTCALL,
     "call(*inputs) -> results: repeats a call of the kernel; None if there was none of this form"},
    {"keep", callersKeep, METH_VARARGS,
     "keep(address, reference, caller): the caller of a matrix or pattern; the reference is weak"},
    {"forget", callersForget, METH_O, "forget(address): drops the caller of a matrix or pattern"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot callersSlots[] = {
    {Py_tp_new, callersNew},
    {Py_tp_dealloc, callersDealloc},
    {Py_tp_methods, callersMethods},
    {Py_tp_doc, "Callers(captures, place): the callers of a kernel, by matrix or pattern"},
    {0, NULL},
};

PyType_Spec callersSpec = {"sparsec._native.Callers", sizeof(CallersObject), 0, Py_TPFLAGS_DEFAULT, callersSlots};

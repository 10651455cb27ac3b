/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tensors of libraries with DLPack's C exchange interface. */

#include "exchange.h"

static const char attribute[] = "__dlpack_c_exchange_api__", capsuleName[] = "dlpack_exchange_api";
enum { EXCHANGE_MAJOR_VERSION = 1 };

/* Asks the type for its interface of a version that this file knows. */
static const ExchangeInterface *askType(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)type, attribute);
  const ExchangeInterface *exchange = NULL;
  if (capsule && PyCapsule_IsValid(capsule, capsuleName))
    exchange = PyCapsule_GetPointer(capsule, capsuleName);
  Py_XDECREF(capsule);
  PyErr_Clear();
  while (exchange && exchange->majorVersion > EXCHANGE_MAJOR_VERSION)
    exchange = exchange->older;
  return exchange && exchange->majorVersion == EXCHANGE_MAJOR_VERSION && exchange->readTensor ? exchange : NULL;
}

const ExchangeInterface *exchangeOf(ModuleState *state, PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  for (size_t i = 0; i < MOST_EXCHANGE_TYPES && state->exchangeTypes[i]; ++i)
    if (state->exchangeTypes[i] == type)
      return state->exchanges[i];
  const ExchangeInterface *exchange = askType(type);
  for (size_t i = 0; exchange && i < MOST_EXCHANGE_TYPES; ++i) {
    if (state->exchangeTypes[i])
      continue;
    state->exchangeTypes[i] = (PyTypeObject *)Py_NewRef((PyObject *)type);
    state->exchanges[i] = exchange;
    break;
  }
  return exchange;
}

int readExchange(ModuleState *state, const ExchangeInterface *exchange, PyObject *object, sparsec_dense_t *out) {
  /* The structure that sparsec_dense_from_dlpack takes begins with the tensor. */
  struct {
    ExchangeTensor tensor;
    void *managerContext;
    void (*deleter)(void *self);
  } managed = {0};
  if (exchange->readTensor(object, &managed.tensor))
    return -1;
  out->size = sizeof *out;
  sparsec_status_t status = sparsec_dense_from_dlpack(&managed, out);
  if (!status)
    return 0;
  raiseStatus(state, status);
  return -1;
}

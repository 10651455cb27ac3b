/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launch infos as dictionaries. Numbers of enumerations stay numbers; launch_info.py gives them names. */

#include "native.h"

#include <string.h>

/* A record of a table. The library has checked that it is there. */
static const void *record(const sparsec_launch_info_t *info, uint32_t id, uint32_t index) {
  const char *base = (const char *)info;
  for (uint32_t i = 0; i < info->directory_count; ++i) {
    const sparsec_table_info_t *table =
        (const sparsec_table_info_t *)(base + info->directory_offset + (size_t)i * info->directory_size);
    if (table->id == id)
      return base + table->offset + (size_t)index * table->record_size;
  }
  return NULL;
}

typedef PyObject *(*Convert)(const sparsec_launch_info_t *info, const void *record);

/* Converts the records [first, first + count) of a table to a tuple. */
static PyObject *convertRecords(const sparsec_launch_info_t *info, uint32_t id, uint32_t first, uint32_t count,
                                Convert convert) {
  PyObject *tuple = PyTuple_New(count);
  for (uint32_t i = 0; tuple && i < count; ++i) {
    PyObject *value = convert(info, record(info, id, first + i));
    if (!value || PyTuple_SetItem(tuple, i, value))
      Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject *convertArgument(const sparsec_launch_info_t *info, const void *data) {
  const sparsec_argument_info_t *argument = data;
  PyObject *sizes = PyTuple_New(argument->rank);
  for (uint32_t d = 0; sizes && d < argument->rank; ++d) {
    PyObject *size = PyLong_FromLongLong(argument->sizes[d]);
    if (!size || PyTuple_SetItem(sizes, d, size))
      Py_CLEAR(sizes);
  }
  if (!sizes)
    return NULL;
  return Py_BuildValue("{s:s,s:I,s:I,s:N,s:(II)}", "name", argument->name, "kind", argument->kind, "dtype",
                       argument->dtype, "sizes", sizes, "block", argument->block_rows, argument->block_columns);
}

static PyObject *convertOperand(const sparsec_launch_info_t *info, const void *data) {
  const sparsec_operand_info_t *operand = data;
  return Py_BuildValue("{s:I,s:I,s:I,s:I}", "slot", operand->slot, "argument", operand->argument, "layout",
                       operand->layout, "broadcast", operand->broadcast);
}

static PyObject *convertRequirement(const sparsec_launch_info_t *info, const void *data) {
  const sparsec_requirement_info_t *requirement = data;
  return Py_BuildValue("{s:I,s:I,s:I}", "argument", requirement->argument, "alignment", requirement->alignment,
                       "width_alignment", requirement->width_alignment);
}

static PyObject *convertStage(const sparsec_launch_info_t *info, const void *data) {
  const sparsec_stage_info_t *stage = data;
  return Py_BuildValue("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:(III)}", "symbol", stage->symbol, "threads", stage->threads,
                       "cluster", stage->cluster, "registers", stage->registers, "spill_bytes", stage->spill_bytes,
                       "static_shared_memory", stage->static_shared_memory, "dynamic_shared_memory",
                       stage->dynamic_shared_memory, "tile", stage->tile_m, stage->tile_n, stage->tile_k);
}

static PyObject *convertVariant(const sparsec_launch_info_t *info, const void *data) {
  const sparsec_variant_info_t *variant = data;
  PyObject *requirements = convertRecords(info, SPARSEC_TABLE_REQUIREMENTS, variant->requirement_first,
                                          variant->requirement_count, convertRequirement);
  PyObject *stages =
      convertRecords(info, SPARSEC_TABLE_STAGES, variant->stage_first, variant->stage_count, convertStage);
  if (!requirements || !stages) {
    Py_XDECREF(requirements);
    Py_XDECREF(stages);
    return NULL;
  }
  return Py_BuildValue("{s:s,s:I,s:I,s:I,s:I,s:N,s:N}", "schedule", variant->schedule, "required_sections",
                       variant->required_sections, "most_panels", variant->most_panels, "most_tiles_per_sm",
                       variant->most_tiles_per_sm, "part_keys", variant->part_keys, "requirements", requirements,
                       "stages", stages);
}

static PyObject *convertKernel(const sparsec_launch_info_t *info, const void *data) {
  const sparsec_kernel_info_t *kernel = data;
  const sparsec_operation_info_t *operation = record(info, SPARSEC_TABLE_OPERATIONS, kernel->operation);
  PyObject *parts[] = {
      convertRecords(info, SPARSEC_TABLE_ARGUMENTS, kernel->argument_first, kernel->argument_count, convertArgument),
      convertRecords(info, SPARSEC_TABLE_OPERANDS, operation->operand_first, operation->operand_count, convertOperand),
      convertRecords(info, SPARSEC_TABLE_VARIANTS, kernel->variant_first, kernel->variant_count, convertVariant),
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
    if (!parts[i]) {
      for (size_t other = 0; other < sizeof parts / sizeof *parts; ++other)
        Py_XDECREF(parts[other]);
      return NULL;
    }
  return Py_BuildValue("{s:s,s:I,s:I,s:N,s:N,s:N}", "name", kernel->name, "operation", operation->kind, "result_count",
                       kernel->result_count, "arguments", parts[0], "operands", parts[1], "variants", parts[2]);
}

static PyObject *convertInfo(const sparsec_launch_info_t *info, sparsec_image_format_t format) {
  uint32_t kernelCount = 0;
  for (uint32_t i = 0; i < info->directory_count; ++i) {
    const sparsec_table_info_t *table =
        (const sparsec_table_info_t *)((const char *)info + info->directory_offset + (size_t)i * info->directory_size);
    if (table->id == SPARSEC_TABLE_KERNELS)
      kernelCount = table->count;
  }
  PyObject *kernels = convertRecords(info, SPARSEC_TABLE_KERNELS, 0, kernelCount, convertKernel);
  if (!kernels)
    return NULL;
  return Py_BuildValue("{s:s,s:s,s:(HH),s:O,s:N}", "target", info->target, "compiler", info->compiler, "version",
                       info->major, info->minor, "is_ptx", format == SPARSEC_IMAGE_PTX ? Py_True : Py_False, "kernels",
                       kernels);
}

PyObject *readLaunchInfo(PyObject *module, PyObject *arguments) {
  PyObject *data;
  Py_ssize_t imageIndex, length;
  char *bytes;
  if (!PyArg_ParseTuple(arguments, "On:launch_info", &data, &imageIndex) ||
      PyBytes_AsStringAndSize(data, &bytes, &length))
    return NULL;
  sparsec_image_format_t format;
  sparsec_launch_info_t *info;
  sparsec_status_t status = sparsec_image_format(bytes, (size_t)length, (size_t)imageIndex, &format);
  if (!status)
    status = sparsec_launch_info_read(bytes, (size_t)length, (size_t)imageIndex, &info);
  if (status)
    return raiseStatus(PyModule_GetState(module), status);
  PyObject *result = convertInfo(info, format);
  sparsec_launch_info_free(info);
  return result;
}

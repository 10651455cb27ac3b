// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LaunchInfoWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/CRC.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// As many as sparsec_table_id_t has.
constexpr uint32_t tableCount = SPARSEC_TABLE_PLAN_COSTS;

/// The record tables, in the order of their numbers.
struct Tables {
  std::vector<sparsec_kernel_info_t> kernels;
  std::vector<sparsec_argument_info_t> arguments;
  std::vector<sparsec_operation_info_t> operations;
  std::vector<sparsec_operand_info_t> operands;
  std::vector<sparsec_attribute_info_t> attributes;
  std::vector<sparsec_region_info_t> regions;
  std::vector<sparsec_input_info_t> inputs;
  std::vector<sparsec_step_info_t> steps;
  std::vector<sparsec_variant_info_t> variants;
  std::vector<sparsec_requirement_info_t> requirements;
  std::vector<sparsec_workspace_info_t> workspaces;
  std::vector<sparsec_stage_info_t> stages;
  std::vector<sparsec_parameter_info_t> parameters;
  std::vector<sparsec_tensor_map_info_t> tensorMaps;
  std::vector<sparsec_extent_info_t> extents;
  std::vector<sparsec_auxiliary_info_t> auxiliaries;
  std::vector<sparsec_plan_cost_info_t> planCosts;

  void add(const KernelRecord &kernel);
  std::string write() const;

private:
  uint32_t add(const OperationRecord &operation);
  void add(const RegionRecord &region);
  void add(const VariantRecord &variant);
  uint32_t add(const StageRecord &stage);
};

/// The bytes of a launch info behind its header: the directory, then the tables.
class TableWriter {
public:
  explicit TableWriter(uint32_t tableCount)
      : bytes(sizeof(sparsec_launch_info_t) + tableCount * sizeof(sparsec_table_info_t), '\0') {}

  template <typename Record> void add(const std::vector<Record> &records) {
    static_assert(sizeof(Record) % 8 == 0, "the next table begins at a multiple of 8 bytes");
    sparsec_table_info_t table = {tableOf<Record>, static_cast<uint32_t>(bytes.size()),
                                  static_cast<uint32_t>(records.size()), sizeof(Record)};
    std::memcpy(bytes.data() + sizeof(sparsec_launch_info_t) + count++ * sizeof(table), &table, sizeof(table));
    bytes.append(reinterpret_cast<const char *>(records.data()), records.size() * sizeof(Record));
  }

  std::string bytes;

private:
  uint32_t count = 0;
};
} // namespace

/// Appends records to a table and says which they are.
template <typename Record>
static void append(std::vector<Record> &table, const std::vector<Record> &records, uint32_t &first, uint32_t &count) {
  first = table.size();
  count = records.size();
  llvm::append_range(table, records);
}

void Tables::add(const KernelRecord &kernel) {
  sparsec_kernel_info_t info = kernel.info;
  append(arguments, kernel.arguments, info.argument_first, info.argument_count);
  info.operation = add(kernel.operation);
  info.variant_first = variants.size();
  info.variant_count = kernel.variants.size();
  for (const VariantRecord &variant : kernel.variants)
    add(variant);
  info.auxiliary_first = auxiliaries.size();
  info.auxiliary_count = kernel.auxiliaries.size();
  for (const AuxiliaryRecord &auxiliary : kernel.auxiliaries)
    auxiliaries.push_back({auxiliary.kind, add(auxiliary.stage)});
  kernels.push_back(info);
}

/// Returns the number of the record.
uint32_t Tables::add(const OperationRecord &operation) {
  sparsec_operation_info_t info = {};
  info.kind = operation.kind;
  append(operands, operation.operands, info.operand_first, info.operand_count);
  append(attributes, operation.attributes, info.attribute_first, info.attribute_count);
  info.region_first = regions.size();
  info.region_count = operation.regions.size();
  for (const RegionRecord &region : operation.regions)
    add(region);
  operations.push_back(info);
  return operations.size() - 1;
}

void Tables::add(const RegionRecord &region) {
  sparsec_region_info_t info = {};
  info.slot = region.slot;
  append(inputs, region.inputs, info.input_first, info.input_count);
  append(steps, region.steps, info.step_first, info.step_count);
  regions.push_back(info);
}

void Tables::add(const VariantRecord &variant) {
  sparsec_variant_info_t info = variant.info;
  append(requirements, variant.requirements, info.requirement_first, info.requirement_count);
  for (const sparsec_requirement_info_t &requirement : variant.requirements)
    info.alignment = std::max({info.alignment, requirement.alignment, requirement.width_alignment});
  info.workspace_first = workspaces.size();
  info.workspace_count = variant.workspaces.size();
  for (const WorkspaceRecord &workspace : variant.workspaces) {
    sparsec_workspace_info_t record = workspace.info;
    append(extents, workspace.extents, record.extent_first, record.extent_count);
    workspaces.push_back(record);
  }
  info.stage_first = stages.size();
  info.stage_count = variant.stages.size();
  for (const StageRecord &stage : variant.stages)
    add(stage);
  append(planCosts, variant.planCosts, info.plan_cost_first, info.plan_cost_count);
  variants.push_back(info);
}

/// Returns the number of the record.
uint32_t Tables::add(const StageRecord &stage) {
  sparsec_stage_info_t info = stage.info;
  append(extents, stage.rows, info.row_first, info.row_count);
  append(extents, stage.panels, info.panel_first, info.panel_count);
  info.parameter_first = parameters.size();
  info.parameter_count = stage.parameters.size();
  for (sparsec_parameter_info_t parameter : stage.parameters) {
    if (parameter.source == SPARSEC_SOURCE_TENSOR_MAP)
      parameter.index += tensorMaps.size();
    parameters.push_back(parameter);
  }
  llvm::append_range(tensorMaps, stage.tensorMaps);
  stages.push_back(info);
  return stages.size() - 1;
}

std::string Tables::write() const {
  auto writeAll = [](TableWriter writer, const auto &...tables) {
    (writer.add(tables), ...);
    return std::move(writer.bytes);
  };
  return writeAll(TableWriter(tableCount), kernels, arguments, operations, operands, attributes, regions, inputs, steps,
                  variants, requirements, workspaces, stages, parameters, tensorMaps, extents, auxiliaries, planCosts);
}

std::string sparsec::writeLaunchInfo(sparsec_launch_info_t header, ArrayRef<KernelRecord> kernels) {
  Tables tables;
  for (const KernelRecord &kernel : kernels)
    tables.add(kernel);
  std::string bytes = tables.write();
  header.magic = SPARSEC_LAUNCH_INFO_MAGIC;
  header.major = SPARSEC_LAUNCH_INFO_MAJOR;
  header.minor = SPARSEC_LAUNCH_INFO_MINOR;
  header.total_size = bytes.size();
  header.directory_offset = sizeof(header);
  header.directory_count = tableCount;
  header.directory_size = sizeof(sparsec_table_info_t);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Finished images
//===----------------------------------------------------------------------===//

llvm::Expected<MutableArrayRef<char>> sparsec::findLaunchInfo(MutableArrayRef<char> elf) {
  using Elf = llvm::object::ELF64LE;
  auto file = llvm::object::ELFFile<Elf>::create({elf.data(), elf.size()});
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = file->symbols(&section);
    auto names = file->getStringTableForSymtab(section);
    if (!symbols || !names)
      return joinErrors(symbols.takeError(), names.takeError());
    for (const Elf::Sym &symbol : *symbols) {
      auto name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      if (*name != SPARSEC_LAUNCH_INFO_SYMBOL)
        continue;
      auto home = file->getSection(symbol.st_shndx);
      if (!home)
        return home.takeError();
      // Section addresses are zero in cubins and relocatable objects: the value is the offset in the section.
      uint64_t offset = (*home)->sh_offset + symbol.st_value;
      if (offset > elf.size() || symbol.st_size > elf.size() - offset)
        return llvm::createStringError("the symbol " SPARSEC_LAUNCH_INFO_SYMBOL " lies outside the image");
      return elf.slice(offset, symbol.st_size);
    }
  }
  return llvm::createStringError("the image has no symbol " SPARSEC_LAUNCH_INFO_SYMBOL);
}

void sparsec::setResources(MutableArrayRef<char> launchInfo, ArrayRef<KernelResources> resources) {
  auto stages = recordsOf<sparsec_stage_info_t>(*reinterpret_cast<sparsec_launch_info_t *>(launchInfo.data()));
  for (const sparsec_stage_info_t &found : stages) {
    const auto *kernel = llvm::find_if(resources, [&](const auto &known) { return known.symbol == found.symbol; });
    if (kernel == resources.end())
      continue;
    auto &stage = const_cast<sparsec_stage_info_t &>(found);
    stage.registers = kernel->registers;
    stage.static_shared_memory = kernel->staticSharedMemory;
    stage.spill_bytes = kernel->spillStoreBytes + kernel->spillLoadBytes;
  }
}

/// CRC-32 of the launch info, whose own field counts as zero.
static void setChecksum(MutableArrayRef<char> launchInfo) {
  auto &header = *reinterpret_cast<sparsec_launch_info_t *>(launchInfo.data());
  header.checksum = 0;
  header.checksum = llvm::crc32(llvm::arrayRefFromStringRef(StringRef(launchInfo.data(), launchInfo.size())));
}

llvm::Error sparsec::sealElf(MutableArrayRef<char> elf) {
  auto launchInfo = findLaunchInfo(elf);
  if (!launchInfo)
    return launchInfo.takeError();
  auto &header = *reinterpret_cast<sparsec_launch_info_t *>(launchInfo->data());
  header.checksum = header.image_checksum = 0;
  header.image_checksum = llvm::crc32(llvm::arrayRefFromStringRef(StringRef(elf.data(), elf.size())));
  setChecksum(*launchInfo);
  return llvm::Error::success();
}

void sparsec::sealPtx(StringRef ptx, MutableArrayRef<char> launchInfo) {
  auto &header = *reinterpret_cast<sparsec_launch_info_t *>(launchInfo.data());
  constexpr uint8_t terminator[] = {0};
  header.image_checksum = llvm::crc32(llvm::crc32(llvm::arrayRefFromStringRef(ptx)), terminator);
  setChecksum(launchInfo);
}

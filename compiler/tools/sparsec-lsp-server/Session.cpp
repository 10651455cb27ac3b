// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Session.h"

#include "CheckText.h"
#include "Documentation.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace sparsec;

Session::Session() : context(mlir::MLIRContext::Threading::DISABLED) {}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// The errors of a text that MLIR's parser must not see.
json::Array Session::checkText(StringRef uri, StringRef text) {
  json::Array errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    lsp::Diagnostic error;
    if (auto location = dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation())) {
      // Lines and columns count from 0 here; a location without them has 0 already.
      lsp::Position position(std::max(location.getLine(), 1u) - 1, std::max(location.getColumn(), 1u) - 1);
      error.range = lsp::Range(position);
    }
    error.severity = lsp::DiagnosticSeverity::Error;
    error.source = "sparsec";
    error.message = diagnostic.str();
    errors.push_back(error);
  });
  SourceMgr sources;
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(text, uri), SMLoc());
  (void)sparsec::checkText(sources, context); // has said why not
  return errors;
}

/// Keeps the text of a document, and hides from the server one that it would not survive.
void Session::receiveText(const json::Object &identifier, json::Value &text) {
  StringRef uri = identifier.getString("uri").value_or("");
  Document &document = documents[uri];
  document.text = text.getAsString().value_or("").str();
  json::Array errors = checkText(uri, document.text);
  if (errors.empty())
    return;
  document.errors[identifier.getInteger("version").value_or(0)] = std::move(errors);
  text = "";
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

static constexpr StringLiteral nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

Session::Request Session::describeRequest(StringRef method, const json::Value &params) {
  Request request = {method.str(), "", ""};
  lsp::TextDocumentPositionParams place;
  json::Path::Root root;
  if (!fromJSON(params, place, root))
    return request;
  StringRef line = documents[place.textDocument.uri.uri()].text;
  for (int number = 0; number < place.position.line; ++number)
    line = line.split('\n').second;
  line = line.split('\n').first;
  StringRef before = line.take_front(place.position.character), behind = line.drop_front(before.size());
  request.before = before.take_back(before.size() - before.rtrim(nameCharacters).size()).str();
  request.behind = behind.take_front(behind.find_first_not_of(nameCharacters)).str();
  return request;
}

static json::Value toMarkdown(std::string text) {
  return json::Object{{"kind", "markdown"}, {"value", std::move(text)}};
}

/// Puts the documentation of an op before what MLIR says about it.
static void addDocumentation(json::Value &hover, StringRef op) {
  std::string text = getDocumentation(op);
  if (text.empty())
    return;
  if (!hover.getAsObject())
    hover = json::Object();
  json::Value &contents = (*hover.getAsObject())["contents"];
  if (json::Object *details = contents.getAsObject())
    text += "\n\n---\n\n" + details->getString("value").value_or("").str();
  contents = toMarkdown(std::move(text));
}

/// Gives items documentation, and those that kernels hold a place before all others. `prefix` is the dialect and a
/// point if ops of it are offered.
static void improveItems(json::Array &items, StringRef prefix) {
  for (json::Value &value : items) {
    json::Object &item = *value.getAsObject();
    std::string name = (prefix + item.getString("label").value_or("")).str();
    if (std::string text = getDocumentation(name); !text.empty())
      item["documentation"] = toMarkdown(std::move(text));
    if (std::optional<unsigned> rank = getRank(name))
      item["sortText"] = formatv("0{0,0+3}", *rank).str();
  }
  // Clients sort by sortText, and those that do not get the same order.
  auto getKey = [](const json::Value &value) {
    const json::Object &item = *value.getAsObject();
    return std::pair(item.getString("sortText").value_or(""), item.getString("label").value_or(""));
  };
  llvm::sort(items, [&](const json::Value &a, const json::Value &b) { return getKey(a) < getKey(b); });
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static std::string toKey(const json::Value &id) { return formatv("{0}", id).str(); }

void Session::receive(json::Object &message) {
  std::lock_guard lock(mutex);
  StringRef method = message.getString("method").value_or("");
  json::Object *params = message.getObject("params");
  json::Object *document = params ? params->getObject("textDocument") : nullptr;
  if (!document)
    return;
  if (method == "textDocument/didOpen") {
    receiveText(*document, (*document)["text"]);
  } else if (method == "textDocument/didChange") {
    // The server has asked for whole texts.
    if (json::Array *changes = params->getArray("contentChanges"))
      for (json::Value &change : *changes)
        if (json::Object *object = change.getAsObject())
          receiveText(*document, (*object)["text"]);
  } else if (method == "textDocument/didClose") {
    documents.erase(document->getString("uri").value_or(""));
  } else if (const json::Value *id = message.get("id")) {
    requests[toKey(*id)] = describeRequest(method, *message.get("params"));
  }
}

void Session::send(json::Object &message) {
  std::lock_guard lock(mutex);
  if (message.getString("method") == StringRef("textDocument/publishDiagnostics")) {
    json::Object &params = *message.getObject("params");
    auto document = documents.find(params.getString("uri").value_or(""));
    if (document != documents.end())
      if (auto hidden = document->second.errors.extract(params.getInteger("version").value_or(0)))
        params["diagnostics"] = std::move(hidden.mapped());
    return;
  }
  const json::Value *id = message.get("id");
  auto found = id ? requests.find(toKey(*id)) : requests.end();
  json::Value *result = message.get("result");
  if (found == requests.end() || !result)
    return;
  Request request = found->second;
  requests.erase(found);
  if (request.method == "textDocument/hover") {
    addDocumentation(*result, request.before + request.behind);
  } else if (request.method == "textDocument/completion" && result->getAsObject()) {
    size_t end = request.before.rfind('.') + 1; // 0 if there is none
    if (json::Array *items = result->getAsObject()->getArray("items"))
      improveItems(*items, StringRef(request.before).take_front(end));
  }
}

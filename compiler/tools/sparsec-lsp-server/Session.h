// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Edits the messages between a client and MLIR's language server. It adds documentation where the cursor hovers over
// the name of an op, puts the ops of kernels first among completions, and answers with an error where MLIR's parser
// would crash.

#ifndef SPARSEC_COMPILER_TOOLS_SESSION_H
#define SPARSEC_COMPILER_TOOLS_SESSION_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"

#include <map>
#include <mutex>
#include <string>

namespace sparsec {

/// The messages of both directions may come from two threads.
class Session {
public:
  Session();

  /// Edits a message of the client to the server.
  void receive(llvm::json::Object &message);
  /// Edits a message of the server to the client.
  void send(llvm::json::Object &message);

private:
  struct Document {
    std::string text;
    /// By version, until the server has published its own: why it did not see the text. It may be versions behind.
    std::map<int64_t, llvm::json::Array> errors;
  };
  /// A request that the server has not answered yet: the name of the op before and behind the cursor.
  struct Request {
    std::string method, before, behind;
  };

  void receiveText(const llvm::json::Object &identifier, llvm::json::Value &text);
  llvm::json::Array checkText(llvm::StringRef uri, llvm::StringRef text);
  Request describeRequest(llvm::StringRef method, const llvm::json::Value &params);

  std::mutex mutex; // of all that follows
  mlir::MLIRContext context;
  llvm::StringMap<Document> documents; // by URI
  llvm::StringMap<Request> requests;   // by id
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TOOLS_SESSION_H

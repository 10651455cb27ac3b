// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-lsp-server: diagnostics, documentation, completion and go-to-definition in editors that speak the language
// server protocol. MLIR's server does the work; Session.h says what is added, in messages that pass through here.

#include "../RegisterDialects.h"
#include "Session.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/LSP/Logging.h"
#include "llvm/Support/LSP/Transport.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace sparsec;

/// Passes messages on, edited, until the input or the conversation ends.
static void passMessages(std::FILE *input, lsp::JSONStreamStyle style, function_ref<void(json::Object &)> edit,
                         function_ref<void(const json::Value &)> write) {
  lsp::JSONTransportInputOverFile messages(input, style);
  std::string text;
  while (!messages.isEndOfInput() && !messages.hasError()) {
    if (failed(messages.readMessage(text)))
      continue;
    Expected<json::Value> message = json::parse(text);
    if (!message) {
      lsp::Logger::error("JSON parse error: {0}", toString(message.takeError()));
      continue;
    }
    // MLIR's server would end the conversation for anything else.
    json::Object *object = message->getAsObject();
    if (!object || object->getString("jsonrpc") != StringRef("2.0") || !(object->get("method") || object->get("id")))
      continue;
    bool isLast = object->getString("method") == StringRef("exit");
    edit(*object);
    write(*message);
    if (isLast)
      return;
  }
}

static void writeStandard(raw_ostream &stream, StringRef text) {
  stream << "Content-Length: " << text.size() << "\r\n\r\n" << text;
  stream.flush();
}

static void writeDelimited(raw_ostream &stream, StringRef text) {
  stream << text << "\n// -----\n";
  stream.flush();
}

/// Puts a pipe's end in the place of standard input or output; returns what was there.
static int replaceDescriptor(int descriptor, int end) {
  int before = dup(descriptor);
  dup2(end, descriptor);
  close(end);
  return before;
}

/// Runs MLIR's server, which reads standard input and writes standard output, on pipes to two threads that edit.
static int runServer(std::string program, std::string option, bool isTest) {
  int toServer[2], fromServer[2];
  if (pipe(toServer) || pipe(fromServer)) {
    lsp::Logger::error("no pipe can be made");
    return EXIT_FAILURE;
  }
  std::FILE *clientInput = fdopen(replaceDescriptor(STDIN_FILENO, toServer[0]), "rb");
  raw_fd_ostream clientOutput(replaceDescriptor(STDOUT_FILENO, fromServer[1]), /*shouldClose=*/true);
  std::FILE *serverOutput = fdopen(fromServer[0], "rb");

  Session session;
  auto style = isTest ? lsp::Delimited : lsp::Standard;
  std::thread receiver([&] {
    raw_fd_ostream serverInput(toServer[1], /*shouldClose=*/true);
    passMessages(
        clientInput, style, [&](json::Object &message) { session.receive(message); },
        [&](const json::Value &message) {
          (isTest ? writeDelimited : writeStandard)(serverInput, formatv("{0}", message).str());
        });
  });
  std::thread sender([&] {
    passMessages(
        serverOutput, lsp::Standard, [&](json::Object &message) { session.send(message); },
        [&](const json::Value &message) {
          writeStandard(clientOutput, formatv(isTest ? "{0:2}\n" : "{0}", message).str());
        });
  });

  mlir::DialectRegistry registry;
  registerDialects(registry);
  char *arguments[] = {program.data(), option.data(), nullptr};
  bool isGood = succeeded(mlir::MlirLspServerMain(2, arguments, registry));
  close(STDOUT_FILENO); // ends the sender
  sender.join();
  receiver.join();
  std::fclose(clientInput);
  std::fclose(serverOutput);
  return isGood ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  std::string logLevel;
  bool isTest = false;
  {
    cl::OptionCategory category("Options");
    cl::opt<std::string> log("log", cl::init("info"), cl::value_desc("level"), cl::cat(category),
                             cl::desc("What to log on standard error: error, info (the default) or verbose"));
    cl::opt<bool> litTest("lit-test", cl::cat(category),
                          cl::desc("Read messages between lines of '// -----', write and log them at length"));
    cl::HideUnrelatedOptions(category);
    cl::ParseCommandLineOptions(argc, argv, "sparsec language server: speaks LSP on standard input and output\n");
    logLevel = log;
    isTest = litTest;
  }
  cl::ResetCommandLineParser(); // MLIR's server has options of the same names
  return runServer(argv[0], isTest ? "--lit-test" : "--log=" + logLevel, isTest);
}

// What a library of operators knows of itself: registered functions and definitions, and where it lies on disk.
#pragma once
#include "registry.h"

namespace ops {
class OpDef;
}

namespace twin {

using OpDefCreator = ops::OpDef (*)(const char *name);

struct Library {
  const std::map<std::string, gert::OpImplRegisterV2::Entry> *implementations;
  const std::map<std::string, OpDefCreator> *definitions;
  const void *anchor;  // an address inside the library
};

TWIN_LOCAL inline std::map<std::string, OpDefCreator> &Definitions() {
  static std::map<std::string, OpDefCreator> table;
  return table;
}

TWIN_LOCAL inline const Library &ThisLibrary() {
  static const Library library{&gert::OpImplRegisterV2::Table(), &Definitions(), &Definitions()};
  return library;
}

}  // namespace twin

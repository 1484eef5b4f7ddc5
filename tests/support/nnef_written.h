#pragma once
// NNEF documents that were written, before they are files.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "standards/container.h"
#include "standards/nnef/model.h"
#include "standards/nnef/weights.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {

/// The document and its data as a container in memory.
inline Container container_of(const Written& w) {
  Container all = Container::of_folder("");
  const auto add = [&](const std::string& name, std::string bytes) {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    all.add(name, name, {*owner, owner});
  };
  add("graph.nnef", w.graph);
  if (!w.quant.empty()) add("graph.quant", w.quant);
  for (const auto& [label, t] : w.variables) {
    auto file = variable_file(w, label, t);
    EXPECT_TRUE(file.ok()) << file.error().text();
    if (file.ok()) add(tensor_file_name(label), file->joined());
  }
  return all;
}

}  // namespace nnex::nnef_format

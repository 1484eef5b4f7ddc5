#pragma once
// Whose requests are answered: keys, and web pages.

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "nnex/result.h"
#include "serve/http.h"

namespace nnex::serve {

/// Keys of which a request must show one; none: all are admitted.
class Keys {
 public:
  /// A key a line; blanks around it, empty lines and those that begin with '#' do not count. Errors: unreadable;
  /// invalid_argument (no key in the file). Then the keys stay as they were.
  Status read(const std::string& path);
  bool admit(const Request& request) const;
  bool any() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> hashes_;
};

class Access {
 public:
  Keys keys;
  Keys control_keys;                 ///< Of those who load and unload; none: `keys` are.
  bool model_control = true;         ///< Whether anybody may load and unload.
  std::vector<std::string> origins;  ///< Of web pages that may ask beside the server's own; "*": of all.
  std::vector<std::string> hosts;    ///< In small letters: names of which requests may be, beside addresses; none: all.

  /// Answers what no model is needed for: a request that is refused, and a browser's question whether a page may ask.
  /// Nothing: the request goes on. Its head is enough.
  std::optional<Response> answer(const Request& request) const;
  /// Lets the page that asked read the response, where its origin may.
  void allow_page(const Request& request, Response& response) const;

 private:
  bool allows(const std::string& origin) const;
  bool knows(std::string_view host) const;
  bool is_own(const std::string& origin, const std::string* host) const;
};

}  // namespace nnex::serve

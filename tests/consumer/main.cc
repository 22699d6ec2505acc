// What the first program of a user of an installed heddle needs: one include, one library.

#include <iostream>

#include "heddle/base/status.h"

int main() {
  const heddle::Status status;
  std::cout << (status.ok() ? "consumer: ok\n" : "consumer: not ok\n");
  return status.ok() ? 0 : 1;
}

// What a program costs that calls nothing: consume.cmake limits the size of its file.

#include "heddle/heddle.h"

int main() {}

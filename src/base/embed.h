// Files that an executable contains.
#pragma once

#include <cstddef>

// Use it at namespace scope of one source file. The bytes of the file `path` (a string literal) lie
// from NAME_begin to NAME_end, and a zero follows. The build must make the object depend on the
// file (OBJECT_DEPENDS).
#define LATHE_EMBED(name, path)                                  \
  asm(".pushsection .rodata\n"                                   \
      ".balign 16\n"                                             \
      ".global " #name "_begin\n.hidden " #name "_begin\n" #name \
      "_begin:\n"                                                \
      ".incbin \"" path                                          \
      "\"\n"                                                     \
      ".global " #name "_end\n.hidden " #name "_end\n" #name     \
      "_end:\n.byte 0\n"                                         \
      ".popsection\n");                                          \
  extern "C" const std::byte name##_begin[], name##_end[];

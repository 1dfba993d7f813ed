// What a subcommand's file provides: a function that adds it to the application.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace lathe::cli {

// The chosen subcommand's work, set while arguments are parsed. Returns an exit code.
using Work = std::function<Result<int>()>;

void add_tune(CLI::App& app, Work& work);
void add_best(CLI::App& app, Work& work);
void add_trials(CLI::App& app, Work& work);
void add_show(CLI::App& app, Work& work);
void add_compile(CLI::App& app, Work& work);
void add_bench(CLI::App& app, Work& work);
void add_export(CLI::App& app, Work& work);
void add_import(CLI::App& app, Work& work);

}  // namespace lathe::cli

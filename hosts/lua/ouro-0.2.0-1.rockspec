rockspec_format = "3.0"
package = "ouro"
version = "0.2.0-1"
description = {
   summary = "A call-path profiler that knows tail calls, coroutines and errors",
   detailed = [[
      Sampling and precise profiles of Lua 5.1, 5.3, 5.4 and 5.5 programs (LuaJIT: sampling), with recursion compacted while the program runs. Profiles are
      written in pprof's format.]],
   license = "MIT",
   labels = {"profiler", "debug"},
}
-- Built from an unpacked source tree: luarocks make hosts/lua/ouro-0.2.0-1.rockspec
source = {url = "."}
supported_platforms = {"linux"}
dependencies = {"lua >= 5.1, < 5.6"}
external_dependencies = {ZLIB = {header = "zlib.h", library = "z"}}
build = {
   type = "builtin",
   modules = {
      ouro = {
         sources = {
            "hosts/lua/blocks.c", "hosts/lua/coroutines.c", "hosts/lua/frames.c", "hosts/lua/hooks.c",
            "hosts/lua/jit.c", "hosts/lua/memory.c", "hosts/lua/module.c", "hosts/lua/names.c", "hosts/lua/precise.c",
            "hosts/lua/report.c", "hosts/lua/resume.c", "hosts/lua/sample.c", "hosts/lua/session.c",
            "hosts/lua/slices.c", "hosts/lua/source.c", "hosts/lua/ticker.c", "hosts/shared/gzip.c", "hosts/shared/output.c",
            "src/lib/atfork.c", "src/lib/blocks.c", "src/lib/clock.c", "src/lib/compaction.c", "src/lib/lane.c",
            "src/lib/live_again.c", "src/lib/live_file.c", "src/lib/live_image.c", "src/lib/live_lane.c",
            "src/lib/live_read.c", "src/lib/live_sites.c", "src/lib/live_slices.c", "src/lib/live_texts.c", "src/lib/live_write.c",
            "src/lib/memo.c", "src/lib/pprof_write.c", "src/lib/process.c", "src/lib/profile.c", "src/lib/prune.c",
            "src/lib/quota.c", "src/lib/reset.c", "src/lib/rows.c", "src/lib/shortcuts.c", "src/lib/sites.c",
            "src/lib/slices.c", "src/lib/slices_keep.c", "src/lib/slices_message.c", "src/lib/slices_read.c",
            "src/lib/slices_rows.c", "src/lib/snapshot.c", "src/lib/space.c", "src/lib/stack.c", "src/lib/stray.c",
            "src/lib/thread.c", "src/lib/transition.c", "src/lib/tree.c", "src/lib/unwind.c", "src/lib/valid.c",
         },
         incdirs = {"include", "src/common", "hosts/lua", "hosts/shared", "$(ZLIB_INCDIR)"},
         libdirs = {"$(ZLIB_LIBDIR)"},
         libraries = {"z", "pthread"},
         defines = {"_GNU_SOURCE", "NDEBUG", "OURO_LUA_MODULE"},
      },
   },
}

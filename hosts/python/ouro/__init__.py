# SPDX-License-Identifier: MIT
"""Ouro for Python: exact or sampled profiles by call path, with recursion compacted.

    import ouro

    with ouro.profile("work.pb.gz", precise=True):
        work()

    @ouro.profile("work.pb.gz")
    def work(): ...

    ouro.start(precise=True); work(); ouro.stop(); ouro.snapshot("work.pb.gz")

`ouro view work.pb.gz` shows the file, and so does every tool that reads pprof. docs/python.md is the manual.
"""
import os as _os
import sys as _sys
import time as _time
import _signal, _thread

from . import _ouro

__version__ = _ouro.version
__all__ = ["profile", "start", "stop", "snapshot", "running", "report", "slice", "load_ipython_extension"]

_HERE = _os.path.dirname(_os.path.abspath(__file__)) + _os.sep
_state = {"output": None, "guarded": False}
_replaced = []


# ---------------------------------------------------------------- what is replaced while a session runs

def _replace(module, name, value):
    _replaced.append((module, name, getattr(module, name), value))
    setattr(module, name, value)


def _exit(status):
    """Ends the process at once, as os._exit does, after the profile was written."""
    try:
        finish()
    finally:
        _os_exit(status)


_os_exit = _os._exit


def _is_pending(number):
    bit = 1 << number - 1
    for thread in _os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/status") as status:
                if any(line.startswith("SigPnd") and int(line.split()[1], 16) & bit for line in status):
                    return True
        except OSError:
            pass  # it has ended
    return False


def _signal_taken(number, handler):
    """signal.signal: if our ticks come by this signal, they come by another one from now on."""
    if _ouro.leave_signal(number):
        for _ in range(100):  # until the last tick has arrived, unless a thread blocks it
            if not _is_pending(number):
                break
            _time.sleep(0.001)
    return _signal_signal(number, handler)


_signal_signal = _signal.signal


def _install(precise):
    starter = _ouro.thread_starter(_thread.start_new_thread)
    threading = _sys.modules.get("threading")
    _replace(_thread, "start_new_thread", starter)
    _replace(_thread, "start_new", starter)
    if threading:
        _replace(threading, "_start_new_thread", starter)
    _replace(_os, "_exit", _exit)
    _replace(_signal, "signal", _signal_taken)
    if precise:
        setprofile, getprofile = _ouro.stand_ins(_sys.setprofile, _sys.getprofile)
        _replace(_sys, "setprofile", setprofile)
        _replace(_sys, "getprofile", getprofile)


def _remove():
    while _replaced:
        module, name, before, ours = _replaced.pop()
        if getattr(module, name, None) is ours:
            setattr(module, name, before)


# ---------------------------------------------------------------- files

def _beside(path, word):
    """work.pb.gz and 17 become work-17.pb.gz."""
    folder, name = _os.path.split(_os.fspath(path))
    stem, dot, rest = name.partition(".pb")
    if not dot:
        stem, rest = _os.path.splitext(name)
    return _os.path.join(folder, f"{stem}-{word}{dot}{rest}")


def _after_fork():
    """A child of fork records from zero, and writes a file of its own."""
    if _state["output"]:
        _state["output"] = _beside(_state["output"], _os.getpid())
    _ouro.after_fork_in_child(_state["output"])
    if _ouro.running() and _state["guarded"]:
        _ouro.guard(True)


_os.register_at_fork(before=_ouro.before_fork, after_in_parent=_ouro.after_fork_in_parent,
                     after_in_child=_after_fork)


# ---------------------------------------------------------------- for programs

def start(output=None, *, precise=False, memory=False, gil=False, clock="wall", hz=0, live=None, max_nodes=0,
          compact=None, slice=None, slice_by=None, _waits=False):
    """Begins to record every thread of this process. One recording runs at a time.

    output     where stop() writes the profile: pprof, packed if the name ends in .gz. Until then the recording is in a
               live file beside it, OUTPUT.live
    precise    record every call, instead of sampling
    memory     count allocations and bytes as well; implies precise
    gil        sampling: tell waiting for the GIL and native time apart
    clock      "wall", or "cpu" for processor time
    hz         samples per second (251)
    live       a file that has the profile while it grows, in place of OUTPUT.live; it stays
    max_nodes  the most paths that are kept (1000000)
    compact    the rule of compaction: loops, cycles, edges, edges:1 to edges:3, none
    slice      the function whose calls are slices, for `ouro report --slices`; implies precise
    slice_by   the metric that slow slices have most of; else those that took longest
    """
    if clock not in ("wall", "cpu"):
        raise ValueError('ouro: clock is "wall" or "cpu"')
    if _ouro.running():
        raise RuntimeError("ouro: a recording runs already; stop it first")
    precise = precise or memory or slice is not None
    output = _os.path.abspath(output) if output is not None else None
    more = {name: value for name, value in (("output", output), ("live", live)) if value is not None}
    _install(precise)
    _state["output"] = output
    try:
        _ouro.start(_HERE, precise=precise, memory=memory, gil=gil, cpu=clock == "cpu", hz=hz, max_nodes=max_nodes,
                    compact=compact, waits=_waits, slice=slice, slice_by=slice_by, **more)
    except BaseException:
        _remove()
        raise


def stop():
    """Ends the recording and writes the output, if start() was given one. False: nothing was recorded."""
    ran = _ouro.stop()
    _remove()
    _state["output"] = None
    if ran:
        try:
            _ouro.write_output()
        except OSError as error:
            live = _ouro.stats()["live"]
            if live:
                error.add_note(f"The recording is in {live}.")
            raise
    return ran


def snapshot(path):
    """Writes what is recorded so far, or what was recorded last; the recording goes on."""
    _ouro.write(path)


def running():
    """True while a recording runs."""
    return _ouro.running()


# slice() ends a slice of this thread, such as a frame or a request, and begins the next; slice(False) begins none.
# While the program is sampled, all threads share the slices. Nothing happens without a recording, or if start() has
# a slice.
slice = _ouro.slice


def finish():
    """Ends the recording however the process ends; errors are told on standard error. False: nothing was written."""
    try:
        return _ouro.running() and stop()
    except OSError as error:
        notes = getattr(error, "__notes__", [])
        print("\n".join([f"ouro: cannot write the profile: {error}", *notes]), file=_sys.stderr)
        return False


def guard(on):
    """While this is on, the output is written first when a signal or a crash ends the process."""
    _state["guarded"] = on
    _ouro.guard(on)


def report(path=None):
    """The summary of `ouro report`, as text. Needs the program `ouro` in PATH."""
    import subprocess, tempfile
    with tempfile.TemporaryDirectory() as folder:
        file = path or _os.path.join(folder, "profile.pb")
        if not path:
            snapshot(file)
        ouro = _os.environ.get("OURO") or "ouro"
        return subprocess.run([ouro, "report", file], capture_output=True, text=True, check=True).stdout


class profile:
    """Records a `with` block or the calls of a function; takes what start() takes."""

    def __init__(self, output=None, **options):
        self.output, self.options, self.depth = output, options, 0

    def __enter__(self):
        if self.depth == 0:
            start(self.output, **self.options)
        self.depth += 1
        return self

    def __exit__(self, *unused):
        self.depth -= 1
        if self.depth == 0:
            stop()
        return False

    def snapshot(self, path):
        snapshot(path)

    def __call__(self, function):
        import functools, inspect
        if inspect.iscoroutinefunction(function):
            async def wrapper(*arguments, **named):
                with self:
                    return await function(*arguments, **named)
        elif inspect.isgeneratorfunction(function):
            def wrapper(*arguments, **named):
                with self:
                    return (yield from function(*arguments, **named))
        else:
            def wrapper(*arguments, **named):
                with self:
                    return function(*arguments, **named)
        return functools.wraps(function)(wrapper)


def load_ipython_extension(shell):
    """%load_ext ouro"""
    from .ipython import load
    load(shell)


def run_under(settings, refuse):
    """Called by `ouro python` before the program begins."""
    from .command import begin
    begin(settings, refuse)

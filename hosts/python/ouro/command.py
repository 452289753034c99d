# SPDX-License-Identifier: MIT
"""What `ouro python` does inside the program's process: starts the recording, and at the end writes and shows it."""
import atexit, os, sys

import ouro


def show(command, file):
    """`ouro COMMAND FILE`, on standard error. Its failure is not the program's."""
    program = os.environ.get("OURO")
    if not program:
        return
    try:
        child = os.posix_spawn(program, [program, command, file], os.environ,
                               file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
        os.waitpid(child, 0)
    except OSError:
        pass


def say(text):
    try:
        sys.stderr.write("ouro python: " + text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # closed, or taken away by the program


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


def summary(file, precise):
    stats = ouro._ouro.stats()
    if stats["calls"] or stats["time"]:
        show("report", file)
    else:
        say("the program ended before the first tick; --precise sees all" if not precise else "nothing was called")
    if stats["taken"]:
        say("another profiler took the hook of a thread; what that thread did afterwards is not recorded")
    if stats["clockless"]:
        say("a thread has no times, because the program uses every signal that ticks could come by")
    if stats["left"]:
        say(f"the program uses signal {stats['left']} itself: " +
            (f"ticks came by signal {stats['sends']} from then on" if stats["sends"] else
             "no other is free, so time was not recorded from then on"))
    say("the profile is in " + ascii(file)[1:-1])


def explain_slices(name):
    """A function that nobody called is told even if nothing else is to be."""
    if not name or ouro._ouro.stats()["slices"]:
        return
    near = ", ".join(ouro._ouro.slices_near())
    say(ascii(f"no function {name} was called, so there are no slices{'; there are ' if near else ''}{near}")[1:-1])


def begin(settings, refuse):
    view, quiet = settings.pop("view", False), settings.pop("quiet", False)
    parent, shown, output = os.getpid(), settings.pop("shown"), settings.pop("output")

    def end():
        if not ouro.running():
            return
        written = ouro.finish()
        ouro.guard(False)
        if os.getpid() != parent or not written:
            return
        flush()
        explain_slices(settings.get("slice"))
        if not quiet:
            precise = any(settings.get(name) for name in ("precise", "memory", "slice"))
            summary(shown if os.path.abspath(shown) == output else output, precise)
        if view:
            show("view", output)

    atexit.register(end)  # the first one to be registered is the last one to be called
    try:
        ouro.guard(True)  # first, so that the sampler's handler of faults calls this one
        ouro.start(output, _waits=True, **settings)
    except OSError as error:
        if error.filename != output:
            refuse("cannot record: %s" % error)
        refuse("cannot write %s: %s; name another file with -o" % (ascii(shown)[1:-1], error.strerror))
    except Exception as error:
        refuse("cannot record: %s" % error)

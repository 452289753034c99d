# SPDX-License-Identifier: MIT
"""pytest --ouro: records the tests, and writes a profile of all of them."""
import pytest

import ouro


def pytest_addoption(parser):
    group = parser.getgroup("ouro", "call-path profiles with Ouro")
    group.addoption("--ouro", nargs="?", const="pytest.pb.gz", default=None, metavar="FILE",
                    help="record the tests and write a profile (pytest.pb.gz)")
    group.addoption("--ouro-precise", action="store_true", help="record every call instead of sampling")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session):
    output = session.config.getoption("--ouro")
    if output is None or session.config.option.collectonly:
        yield
        return
    ouro.start(output, precise=session.config.getoption("--ouro-precise"))
    try:
        yield
    finally:
        ouro.stop()


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--ouro") is not None and not config.option.collectonly:
        terminalreporter.write_line(f"ouro: the profile is in {config.getoption('--ouro')}")

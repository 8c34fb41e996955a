"""The repository: import contracts, links of folders into the package, links of the pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import grimp
import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("implementation", "model", "pipeline", "properties", "reports")


def _imported_by(code: str) -> set[str]:
    command = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_no_import_cycles() -> None:
    graph = grimp.build_graph("groupcheck", exclude_type_checking_imports=True)
    imports: nx.DiGraph[str] = nx.DiGraph()
    for module in graph.modules:
        imports.add_edges_from(
            (module, each) for each in graph.find_modules_directly_imported_by(module)
        )
    found = nx.strongly_connected_components(imports)
    assert [sorted(modules) for modules in found if len(modules) > 1] == []


def test_no_module_is_imported_under_two_names() -> None:
    modules = _imported_by("import groupcheck.cli, groupcheck.properties.verify")
    assert not {name for name in modules if name.split(".")[0] in FOLDERS}


@pytest.mark.parametrize("module", ["groupcheck", "groupcheck.pytest_plugin"])
def test_the_api_and_the_plugin_import_nothing_else_at_start(module: str) -> None:
    modules = _imported_by(f"import {module}")
    found = {name for name in modules if name.startswith("groupcheck")}
    plugin = {"groupcheck.pytest_plugin", "groupcheck.pytest_plugin.options"}
    assert found <= {"groupcheck", "groupcheck.numeric_options", *plugin}


@pytest.mark.parametrize("library", ["kafka", "confluent_kafka", "pyarrow", "pyspark"])
def test_libraries_of_extras_are_imported_only_when_needed(library: str) -> None:
    modules = _imported_by(
        "import groupcheck.properties.verify, groupcheck.properties.ports.source as s;"
        "s.port_source('builtin').connect()"
    )
    assert library not in modules


def test_every_folder_is_linked_into_the_package() -> None:
    for folder in FOLDERS:
        assert (ROOT / "groupcheck" / folder).resolve() == ROOT / folder


def test_every_file_that_the_documentation_links_to_is_there() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"

"""Rules as data: calls by which inline code writes files or drives tests."""

from __future__ import annotations

import re

_MODE = r"(?:[rbtU]?[wax]|r[bt]?\+)[bt+]{0,2}['\"]"
SUSPECT = re.compile(  # each branch begins with a letter of its own: the search passes over all others
    rf"'{_MODE}|\"{_MODE}|write_text|write_bytes|shutil|fileinput|os(?<!\wos)\.(?:rename|replace|system)"
    r"|import[^\n]{0,200}\b(?:rename|replace|copy|move|system)\b|pytest|unittest|nose|test(?<!\wtest)\(|doctest"
    r"|run_tests|call_command|execute_from|subprocess|popen|loadTests"
)
"""Inline Python without any of these neither writes files nor drives tests."""

HARMLESS = re.compile(
    r"\bimport (?:pytest|unittest|nose|doctest|subprocess|shutil|fileinput)(?=[ \t]*+(?:[;\n]|\Z))"
    r"|\b(?:pytest|unittest|nose|doctest|subprocess|shutil|fileinput)\.__[a-z]++__(?![\w.])"
)
"""An import that nothing is said to be used of, and what a module tells of itself (``pytest.__version__``)."""

TELLTALES = (
    "open", "write_", "shutil", "fileinput", "os.", "rename", "replace", "copy", "move", "system", "test", "Test",
    "nose", "call_command", "execute_from", "subprocess", "makeSuite", "discover",
)  # fmt: skip
"""ASCII code without any of these neither opens, writes, runs nor tests, whatever :data:`SUSPECT` finds."""

NOT_PLAIN = (
    "/tmp", "/dev/", "tempfile", "gettemp", "emporary", "tmp_path", "tmpdir", "BytesIO", "StringIO",
    "devnull", "mkdtemp", "mkstemp", "pytest", "unittest", "nose", "test(", "doctest", "run_tests", "call_command",
    "execute_from", "subprocess", "popen", "os.system", "loadTests", "eval(", "exec(",
)  # fmt: skip
"""With any of these, a ``.write_text`` may be quoted, aimed at a temporary file, or not be all the code does."""

IN_NOT_PLAIN = (
    "tmp", "emp", "dev", "IO", "test", "nose", "call_command", "exec", "subprocess", "popen", "os.system", "loadTests",
    "eval(",
)  # fmt: skip
"""Each word of :data:`NOT_PLAIN` holds one of these."""

WRITE_METHODS = frozenset({"write_text", "write_bytes"})
WRITE_CALLS = frozenset(
    {
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.move",
        "os.rename",
        "os.replace",
    }
)
MODULE_TEST_CALLS = frozenset({"test", "doctest"})
"""``package.test(…)``: the runner that numpy, sympy, astropy and others offer."""

TEMPORARY = re.compile(
    r"^(?:tempfile\b|StringIO|BytesIO|io\.(?:StringIO|BytesIO)|tmp_path|tmpdir|os\.devnull|mkdtemp|mkstemp|"
    r"NamedTemporaryFile|TemporaryDirectory|gettempdir)"
)

PYTHON_WRITE_TOKENS = re.compile(
    r"open\([^()\n]{0,300}(?:\([^()\n]{0,100}\)[^()\n]{0,100})?,"
    r"[ ]*(?:mode[ ]*=[ ]*)?\\?['\"][rbt]*[wax][bt+]*\\?['\"]"
    r"|\.write_(?:text|bytes)\(|shutil\.(?:copy|copy2|copyfile|move)\("
)
PYTHON_TEST_TOKENS = re.compile(r"pytest\.main\(|unittest\.main\(|\.run_tests\(|nose\.(?:main|run)\(")

OTHER_WRITES = {
    "node": re.compile(
        r"(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|copyFileSync|renameSync)\("
    ),
    "bun": re.compile(r"(?:writeFile|writeFileSync|appendFileSync|Bun\.write)\("),
    "deno": re.compile(r"Deno\.write(?:TextFile|File)(?:Sync)?\("),
    "ts-node": re.compile(r"(?:writeFile|writeFileSync|appendFileSync)\("),
    "tsx": re.compile(r"(?:writeFile|writeFileSync|appendFileSync)\("),
    "ruby": re.compile(
        r"(?:File|IO)\.(?:write|binwrite)\b|File\.open\([^()\n]{0,200},[ ]*['\"][wa]|FileUtils\.(?:cp|mv)\b"
    ),
    "perl": re.compile(r"open[ (][^;\n]{0,200}['\"]>{1,2}[^&]|File::Copy"),
    "php": re.compile(r"file_put_contents\(|fopen\([^()\n]{0,200},[ ]*['\"][wax]|copy\("),
    "Rscript": re.compile(r"writeLines\([^()\n]{0,200},|cat\([^()\n]{0,300}file[ ]*="),
    "julia": re.compile(r"\bwrite\([ ]*\"|open\([^()\n]{0,200},[ ]*\"[wa]"),
    "lua": re.compile(r"io\.open\([^()\n]{0,200},[ ]*['\"][wa]"),
}

FILE_TESTS = re.compile(r"(?:testthat::|tinytest::run_)test_file\(")
"""Calls of R's frameworks that name one file."""
OTHER_TESTS = {
    "julia": re.compile(r"Pkg\.test\("),
    "Rscript": re.compile(r"(?:devtools::test|testthat::test_\w+|tinytest::\w+)\("),
    "R": re.compile(r"(?:devtools::test|testthat::test_\w+|tinytest::\w+)\("),
}

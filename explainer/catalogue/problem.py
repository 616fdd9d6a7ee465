"""What is wrong with a rule file: one line that names file, line, key and what is allowed."""

from __future__ import annotations

from explainer.frozen import frozen


@frozen
class Problem:
    """One fault of one file. `line` is 1-based (0: the file as a whole); `key` the way to the value ("text.why.en")."""

    file: str
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        """`rules/shape/x.yaml:7: text.why: needs the key "en"`."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.key}: {self.text}" if self.key else f"{place}: {self.text}"


class Unreadable(Exception):
    """Raised with the problems of a file that cannot be used."""

    def __init__(self, *problems: Problem):
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

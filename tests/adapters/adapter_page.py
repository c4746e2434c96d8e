"""The snippets of docs/how-to/adapters.md, each section in the environment of its own library."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "adapters.md"


def blocks(section: str) -> str:
    """The Python of the section under this heading, in one piece."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    result = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert result, section
    return "\n".join(result)


def said(code: str) -> list[str]:
    """The lines that it says it prints."""
    return re.findall(r"^#> (.*)$", code, flags=re.MULTILINE)

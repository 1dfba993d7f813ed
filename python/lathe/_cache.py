"""The folder for what is kept between processes."""

from __future__ import annotations

import os


def own_cache() -> str | None:
    """Made where it is missing; None where somebody else may write to it, or it cannot be made."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(home, "lathe")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        found = os.stat(folder)
    except OSError:
        return None
    return folder if found.st_uid == os.geteuid() and not found.st_mode & 0o022 else None

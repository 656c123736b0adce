"""Records for a person to read: every request sent once, everything kept, nothing gated."""

from __future__ import annotations

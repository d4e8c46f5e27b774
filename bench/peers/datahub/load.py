"""Writes proposals into DataHub Lite, through its own interface for Python.

    python load.py PROPOSALS

Each line of the file is a proposal in DataHub's file format. The store is where DataHub Lite keeps it by default, in
the home directory. DataHub Lite commits each aspect; without waiting for the disk that takes a minute less.
"""

import json
import sys

from datahub.cli.lite_cli import _get_datahub_lite
from datahub.emitter.mcp import MetadataChangeProposalWrapper

lite = _get_datahub_lite()
lite.sqlite_client.execute("PRAGMA synchronous = OFF")
with open(sys.argv[1], encoding="utf-8") as proposals:
    for line in proposals:
        lite.write(MetadataChangeProposalWrapper.from_obj(json.loads(line)))
lite.close()

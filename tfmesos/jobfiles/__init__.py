"""Job files: documents to jobs and settings, and back.

Pure: what a file holds comes in as bytes, and an error names a key.
"""

WRITTEN = ("tfjob", "marathon")  # the foreign formats that a run can be written in
ENDINGS = (".yaml", ".yml", ".toml", ".json")  # of the names of job files

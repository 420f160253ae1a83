"""Where the package meets the machine: files, the terminal, processes, the folders that ship; and how what passes there
is written, as text and as YAML. Nothing here knows what a kernel, a map or a solver is."""

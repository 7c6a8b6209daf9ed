"""Options and arguments of the subcommands."""

"""Options and arguments that subcommands share."""

"""The link to the launcher: its connection, and the messages that wait to be delivered."""

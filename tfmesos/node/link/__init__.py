"""The link to the launcher, from its connection to the messages that wait to be delivered."""
